// The losses that the table in losses.cpp lists, one file each, and what they share.
#pragma once

#include "svmgsu/losses/loss.hpp"

namespace svmgsu {

std::shared_ptr<const Loss> make_hinge(double parameter);
std::shared_ptr<const Loss> make_squared_hinge(double parameter);
std::shared_ptr<const Loss> make_logistic(double parameter);
std::shared_ptr<const Loss> make_squared(double parameter);
std::shared_ptr<const Loss> make_epsilon_insensitive(double epsilon);
std::shared_ptr<const Loss> make_squared_epsilon_insensitive(double epsilon);
std::shared_ptr<const Loss> make_huber(double delta);

// The gradient of ℓ(D − ε) + ℓ(−D − ε), by that of ℓ: odd derivatives of the second have a minus.
void two_sided_gradient(const Loss& half, double epsilon, int count, const double* d, const double* s, double* L,
                        double* L1, double* L2);

// 1/s², and 0 where s is so small that a product with it would overflow: the sample has no noise.
inline double inverse_square(double s) { return s > 1e-75 ? 1 / (s * s) : 0.0; }

// A parameter that is finite and ≥ 0, or > 0; refused by name otherwise.
double at_least_zero(const char* name, double parameter);
double above_zero(const char* name, double parameter);

}  // namespace svmgsu
