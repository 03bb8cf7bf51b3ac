// Anderson's extrapolation of expectation and maximisation, whose steps are short where noise hides much of the truth:
// the next point is the combination of the last steps that would have moved least (D. G. Anderson, J. ACM 12, 1965; for
// EM: N. C. Henderson, R. Varadhan, J. Comput. Graph. Stat. 28, 2019).
#pragma once

#include <vector>

#include "svmgsu/population/deconvolution.hpp"

namespace svmgsu {

class Extrapolation {
 public:
  // From how many steps; with 0 every step is taken as it is.
  explicit Extrapolation(Index memory) : memory_(memory) {}

  // The point to try after a step from `at` to `stepped`; no variance is below `floor`.
  Mixture next(const Mixture& at, const Mixture& stepped, double floor);

  // Whether the last point was combined from several steps.
  bool combined() const { return combined_; }

  // Begins anew, since the last point was bad.
  void forget();

 private:
  Index memory_;
  bool combined_ = false;
  EigenOf<double, 1> point_, move_;
  std::vector<EigenOf<double, 1>> points_, moves_;  // differences from one step to the next, of points and of moves
};

}  // namespace svmgsu
