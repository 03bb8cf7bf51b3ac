// e^(−h)(cosh g − 1) and e^(−h) sinh g for |g| ≤ h: with d = 1 − e^(−|g|) they are ½e^(|g| − h)d² and ½e^(|g| − h)d(2 −
// d), where nothing overflows, and nothing cancels but 1 − e^(−|g|), for which small |g| have a series.
#include "kernels/elementary.hpp"
#include "kernels/kernels.hpp"

namespace svmgsu::kernels {
namespace {

SVMGSU_CLONES void decays_of(int count, const double* SVMGSU_RESTRICT g, const double* SVMGSU_RESTRICT h,
                             double* SVMGSU_RESTRICT even, double* SVMGSU_RESTRICT odd) {
  for (int i = 0; i < count; ++i) {
    const double size = g[i] < 0 ? -g[i] : g[i];
    const double top = size - h[i] < kLeastExponent ? kLeastExponent : size - h[i];
    const double down = -size < kLeastExponent ? kLeastExponent : -size;
    const double x = size < 0.25 ? size : 0.25;
    double series = 1.0 / 12;  // 1 − e^(−x) = x(1 − x/2(1 − x/3(1 − ...))), to 2e-17 of it
    for (int k = 11; k >= 2; --k) series = (1 - x * series) * (1.0 / k);
    const double lost = size < 0.25 ? x * (1 - x * series) : 1 - exponential(down);
    const double half = 0.5 * exponential(top < 0 ? top : 0.0) * lost;
    even[i] = half * lost;
    odd[i] = g[i] < 0 ? -(half * (2 - lost)) : half * (2 - lost);
  }
}

}  // namespace

void decays(int count, const double* g, const double* h, double* even, double* odd) {
  decays_of(count, g, h, even, odd);
}

}  // namespace svmgsu::kernels
