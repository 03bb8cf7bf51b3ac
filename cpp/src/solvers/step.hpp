// A direction in (w, b).
#pragma once

#include <cmath>

#include "svmgsu/support/dense.hpp"

namespace svmgsu {

struct Step {
  Vector w;
  double b = 0;
  double dot(const Step& other) const { return w.dot(other.w) + b * other.b; }
  double norm() const { return std::sqrt(dot(*this)); }
  void add(double factor, const Step& other) {
    w += factor * other.w;
    b += factor * other.b;
  }
};

}  // namespace svmgsu
