// The best bound that the last two points of the dual problem prove together.
//
// A pass finds a point of the dual problem that is not balanced as long as b is a little wrong, and the bound pays for
// that at first order. But D is concave: between two points that err to different sides lies one that is balanced, and
// it proves more than either.
#pragma once

#include "engines/engine.hpp"

namespace svmgsu {

class Bundle {
 public:
  // `apart`: each side may have weights of its own, for its samples are always the same.
  Bundle(double lambda, bool intercept, bool apart) : lambda_(lambda), intercept_(intercept), apart_(apart) {}

  void add(const DualPoint& point) {
    std::swap(last_, before_);
    last_ = point;
    ++count_;
  }
  // From points between the last one and the one before it.
  Certificate best() const;

 private:
  double lambda_;
  bool intercept_, apart_;
  int count_ = 0;
  DualPoint last_, before_;
};

}  // namespace svmgsu
