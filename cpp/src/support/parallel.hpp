// Parallel loops whose results do not depend on the number of threads, nor does what they throw.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <vector>

#include "support/poll.hpp"
#include "svmgsu/support/types.hpp"

namespace svmgsu {

// The number of threads to use: `threads`, or all that OpenMP would use (OMP_NUM_THREADS, threadpoolctl) where it is 0
// or less. 1 without OpenMP and in a forked child, where OpenMP's threads do not exist and a loop would wait for them.
int resolve_threads(int threads);

// The threads of a loop over so many numbers: few are done before a second thread has woken up.
inline int team_for(double numbers, int threads) { return numbers < 20000 ? 1 : threads; }

// The threads of a loop of `count` steps: no more than can be started.
int team_of(Index count, int threads);

// No exception may leave a parallel region. Steps of a loop run through this object, which keeps what they throw until
// the region has ended. Of several exceptions it keeps that of the smallest index: the one that a serial loop throws.
class FirstFailure {
 public:
  template <class Step>
  void run(Index index, Step step) noexcept {
    try {
      step();
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (index >= index_) return;
      index_ = index;
      exception_ = std::current_exception();
    }
  }
  // Whether a step before `index` has failed, so that this one need not be done.
  bool before(Index index) const noexcept { return index_.load(std::memory_order_relaxed) < index; }
  // After the region: throw what was kept.
  void rethrow() const {
    if (exception_) std::rethrow_exception(exception_);
  }

 private:
  std::mutex mutex_;
  std::atomic<Index> index_{std::numeric_limits<Index>::max()};
  std::exception_ptr exception_;
};

// body(i) for independent i, with a poll after each.
template <class Body>
void parallel_for(Index count, int threads, Body body) {
  const auto step = [&](Index i) {
    body(i);
    poll();
  };
  const int team = team_of(count, threads);
  if (team <= 1) {
    for (Index i = 0; i < count; ++i) step(i);
    return;
  }
  FirstFailure failure;
  std::atomic<Index> next{0};
#ifdef _OPENMP
#pragma omp parallel num_threads(team)
#endif
  for (Index i = next++; i < count && !failure.before(i); i = next++) failure.run(i, [&] { step(i); });
  failure.rethrow();
}

// body(block, local) for every block, in some thread, and then merge(local) strictly in the order of
// the blocks: sums come out the same for any number of threads. There is a poll after each block.
//
// A thread that is ahead goes on with the next block in another Local, and sleeps when there is none
// left. (OpenMP's own `ordered` spins, which on a busy machine keeps the thread it waits for off the
// core: passes took ten times as long.)
template <class Local, class Body, class Merge>
void ordered_blocks(Index blocks, int threads, Body body, Merge merge) {
  const int team = team_of(blocks, threads);
  if (team <= 1) {
    Local local;
    for (Index k = 0; k < blocks; ++k) {
      body(k, local);
      merge(local);
      poll();
    }
    return;
  }
  const auto slots = static_cast<std::size_t>(2 * team);
  std::vector<Local> locals(slots);
  std::vector<char> ready(slots, 0);
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<Index> next{0};
  Index merged = 0;
  FirstFailure failure;
  const auto step = [&](Index k) {
    const std::size_t slot = static_cast<std::size_t>(k) % slots;
    {
      std::unique_lock<std::mutex> lock(mutex);
      changed.wait(lock, [&] { return failure.before(k) || k < merged + static_cast<Index>(slots); });
      if (failure.before(k)) return;
    }
    body(k, locals[slot]);
    poll();
    const std::lock_guard<std::mutex> lock(mutex);
    ready[slot] = 1;
    for (std::size_t first = static_cast<std::size_t>(merged) % slots; ready[first]; first = (first + 1) % slots) {
      ready[first] = 0;  // nobody merges it again where this fails
      merge(locals[first]);
      ++merged;
    }
  };
#ifdef _OPENMP
#pragma omp parallel num_threads(team)
#endif
  for (Index k = next++; k < blocks && !failure.before(k); k = next++) {
    failure.run(k, [&] { step(k); });
    if (failure.before(blocks)) failure.run(k, [&] { const std::lock_guard<std::mutex> asleep_or_told(mutex); });
    changed.notify_all();
  }
  failure.rethrow();
}

}  // namespace svmgsu
