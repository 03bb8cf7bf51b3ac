// Parallel loops whose results do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "svmgsu/support/poll.hpp"
#include "svmgsu/support/types.hpp"

#ifdef _OPENMP
#include <omp.h>
#endif

namespace svmgsu {

// 0 or less means all that OpenMP would use (OMP_NUM_THREADS, threadpoolctl); 1 without OpenMP.
inline int resolve_threads(int threads) {
#ifdef _OPENMP
  return threads > 0 ? threads : std::max(1, omp_get_max_threads());
#else
  (void)threads;
  return 1;
#endif
}

// The threads of a loop over so many numbers: few are done before a second thread has woken up.
inline int team_for(double numbers, int threads) { return numbers < 20000 ? 1 : threads; }

// body(i) for independent i, with a poll after each.
template <class Body>
void parallel_for(Index count, int threads, Body body) {
  const int team = static_cast<int>(std::min<Index>(resolve_threads(threads), count));
  if (team <= 1) {
    for (Index i = 0; i < count; ++i) {
      body(i);
      poll();
    }
    return;
  }
#ifdef _OPENMP
  std::atomic<bool> over{false};
#pragma omp parallel for schedule(dynamic, 1) num_threads(team)
  for (Index i = 0; i < count; ++i) {
    if (over.load(std::memory_order_relaxed)) continue;
    body(i);
    if (must_stop()) over.store(true, std::memory_order_relaxed);
  }
  if (over) poll();
#endif
}

// body(block, local) for every block, in some thread, and then merge(local) strictly in the order of
// the blocks: sums come out the same for any number of threads. There is a poll after each block.
//
// A thread that is ahead goes on with the next block in another Local, and sleeps when there is none
// left. (OpenMP's own `ordered` spins, which on a busy machine keeps the thread it waits for off the
// core: passes took ten times as long.)
template <class Local, class Body, class Merge>
void ordered_blocks(Index blocks, int threads, Body body, Merge merge) {
  const int team = static_cast<int>(std::min<Index>(resolve_threads(threads), blocks));
  if (team <= 1) {
    Local local;
    for (Index k = 0; k < blocks; ++k) {
      body(k, local);
      merge(local);
      poll();
    }
    return;
  }
#ifdef _OPENMP
  const Index slots = 2 * team;
  std::vector<Local> locals(static_cast<std::size_t>(slots));
  std::vector<char> ready(static_cast<std::size_t>(slots), 0);
  std::mutex mutex;
  std::condition_variable changed;
  Index taken = 0, merged = 0;
  bool over = false;
#pragma omp parallel num_threads(team)
  while (true) {
    Index k;
    {
      std::unique_lock<std::mutex> lock(mutex);
      k = taken++;
      if (k >= blocks) break;
      changed.wait(lock, [&] { return over || k < merged + slots; });
      if (over) break;
    }
    body(k, locals[static_cast<std::size_t>(k % slots)]);
    const bool stop = must_stop();
    const std::lock_guard<std::mutex> lock(mutex);
    over |= stop;
    ready[static_cast<std::size_t>(k % slots)] = 1;
    while (ready[static_cast<std::size_t>(merged % slots)]) {
      ready[static_cast<std::size_t>(merged % slots)] = 0;
      merge(locals[static_cast<std::size_t>(merged % slots)]);
      ++merged;
    }
    changed.notify_all();
  }
  if (over) poll();
#endif
}

}  // namespace svmgsu
