// L-BFGS whose first matrix is a factored estimate of the Hessian.
#pragma once

#include <vector>

#include "solvers/preconditioner.hpp"

namespace svmgsu {

class QuasiNewton {
 public:
  // −Hg for the inverse Hessian H that L-BFGS makes of the pairs and γF⁻¹. A sketch F is too small by a factor, for its
  // few examples speak for many features: where `scaled`, γ is what suits the last pair. F⁻¹g is the only product with
  // F⁻¹; those with differences y of gradients are differences of it.
  Step direction(const Preconditioner& factor, const Step& gradient, bool scaled);
  // A difference of points and of their gradients.
  void remember(const Step& s, const Step& y);
  void forget() {
    pairs_.clear();
    gamma_ = 1;
  }

 private:
  struct Pair {
    Step s, y, solved;  // difference of points, of gradients, F⁻¹y
    double inverse;     // 1/(s·y)
  };
  std::vector<Pair> pairs_;
  Step solved_;       // F⁻¹g at the last step
  double gamma_ = 1;  // of γF⁻¹
  bool scaled_ = false;
};

}  // namespace svmgsu
