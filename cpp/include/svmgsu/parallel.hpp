// Parallel loops whose results do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <vector>

#include "svmgsu/types.hpp"

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

// body(i) for independent i.
template <class Body>
void parallel_for(Index count, int threads, Body body) {
  [[maybe_unused]] const int team = static_cast<int>(std::min<Index>(resolve_threads(threads), count));
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic, 1) num_threads(team) if (team > 1)
#endif
  for (Index i = 0; i < count; ++i) body(i);
}

// body(block, local) for every block, each in some thread with that thread's `Local`, and then
// merge(local) strictly in the order of the blocks: sums come out the same for any number of threads.
template <class Local, class Body, class Merge>
void ordered_blocks(Index blocks, int threads, std::vector<Local>& locals, Body body, Merge merge) {
  const int team = static_cast<int>(std::min<Index>(resolve_threads(threads), blocks));
  if (team <= 1) {
    for (Index k = 0; k < blocks; ++k) {
      body(k, locals[0]);
      merge(locals[0]);
    }
    return;
  }
#ifdef _OPENMP
#pragma omp parallel for ordered schedule(dynamic, 1) num_threads(team)
  for (Index k = 0; k < blocks; ++k) {
    Local& local = locals[static_cast<std::size_t>(omp_get_thread_num())];
    body(k, local);
#pragma omp ordered
    merge(local);
  }
#endif
}

}  // namespace svmgsu
