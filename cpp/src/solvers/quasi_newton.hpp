// L-BFGS whose first matrix is an estimate of the Hessian.
#pragma once

#include <vector>

#include "solvers/preconditioner.hpp"

namespace svmgsu {

class QuasiNewton {
 public:
  // A difference of points and of their gradients, or a direction and its product with the Hessian.
  struct Pair {
    Step s, y;
    double inverse;  // 1/(s·y)
  };
  // −Hg for the inverse Hessian H that L-BFGS makes of γF⁻¹, of `known`, which is no difference of points and so no
  // older than g, and of the pairs. A sketch F is too small by a factor, for its few samples speak for many features:
  // where `scaled`, γ is what suits the last pair.
  Step direction(const Preconditioner& factor, const Step& gradient, bool scaled, const std::vector<Pair>& known);
  void remember(const Step& s, const Step& y);
  void forget() {
    pairs_.clear();
    gamma_ = 1;
  }

 private:
  std::vector<Pair> pairs_;
  double gamma_ = 1;  // of γF⁻¹
};

// What is known of the Hessian at an evaluated point without a product. The curvature along w, where the margins' own
// bend makes it another than in all other directions; and that b hangs together with w as far as the mean of x is not
// the origin, which a diagonal does not know: `mean` is given beside one, and may be empty.
std::vector<QuasiNewton::Pair> known_pairs(const Engine& objective, const Evaluated& at, const Preconditioner& estimate,
                                           const Vector* mean);

}  // namespace svmgsu
