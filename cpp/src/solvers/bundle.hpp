// The best bound that the last few points of the dual problem prove together.
//
// A pass finds a point of the dual problem that is not balanced as long as b is a little wrong, and the bound pays for
// that at first order. But D is concave: between two points that err to different sides lies one that is balanced, and
// it proves more than either.
#pragma once

#include "svmgsu/engines/objective.hpp"

namespace svmgsu {

class Bundle {
 public:
  // `apart`: each side may have weights of its own, for its samples are always the same.
  Bundle(double lambda, bool intercept, bool apart) : lambda_(lambda), intercept_(intercept), apart_(apart) {}

  void add(const DualPoint& point);
  // From points between the last one and those before it.
  Certificate best();

 private:
  static constexpr int kMost = 6;  // points
  // Weights of the points on each side; or a difference of such.
  struct Mix {
    double of[kMost][2] = {};
    Mix plus(double factor_0, double factor_1, const Mix& other) const;
  };
  struct Found {
    Mix mix;
    double bound;
  };
  double value(const Mix& mix) const;
  double mass(const Mix& mix, int side) const;
  double product(const Mix& a, const Mix& b) const;
  bool between(const Mix& from, const Mix& to, Found& found) const;
  Certificate proof(Mix mix) const;
  void learn_products();

  double lambda_;
  bool intercept_, apart_;
  int count_ = 0, next_ = 0;  // points that are there, and the place of the next one
  DualPoint points_[kMost];
  bool fresh_[kMost] = {};  // whose products are not known yet
  double products_[kMost][kMost][2][2] = {};
};

}  // namespace svmgsu
