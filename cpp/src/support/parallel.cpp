#include "support/parallel.hpp"

#include <system_error>
#include <thread>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif
#ifdef _OPENMP
#include <omp.h>
#endif

namespace svmgsu {
namespace {

std::atomic<bool> forked{false};

#if defined(__unix__) || defined(__APPLE__)
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, [] { forked = true; });
#endif

#ifdef _OPENMP
// OpenMP ends the process where it cannot start a thread, and it starts some whenever a team is larger than the one
// before. So the threads of such a team are started here first, and fewer are asked for where these cannot be had.
int startable(int team) {
  static thread_local int last = 1;
  if (team <= last) return last = team;
  std::vector<std::thread> others;
  std::mutex gate;
  {
    const std::lock_guard<std::mutex> all_at_once(gate);
    try {
      others.reserve(static_cast<std::size_t>(team));
      for (int k = 1; k < team; ++k) others.emplace_back([&] { const std::lock_guard<std::mutex> wait(gate); });
    } catch (const std::system_error&) {  // as many as there are
    } catch (const std::bad_alloc&) {
    }
  }
  for (std::thread& other : others) other.join();
  return last = static_cast<int>(others.size()) + 1;
}
#endif

}  // namespace

int resolve_threads(int threads) {
#ifdef _OPENMP
  if (forked) return 1;
  return threads > 0 ? threads : std::max(1, omp_get_max_threads());
#else
  (void)threads;
  return 1;
#endif
}

int team_of(Index count, int threads) {
  const auto team = static_cast<int>(std::min<Index>(resolve_threads(threads), count));
#ifdef _OPENMP
  if (team > 1 && !omp_in_parallel()) return startable(team);
#else
  (void)team;
#endif
  return 1;
}

}  // namespace svmgsu
