#include "svmgsu/models/calibration.hpp"

namespace svmgsu {

// Here and not in the header: an application's flags (fused multiplication, say) shall not change the bits.
double Calibration::log_odds(double decision, double variance, double prior) const {
  const double evidence = a * decision + (b - base);
  return prior + (kappa > 0 ? evidence / (1 + kappa * variance) : evidence);
}

}  // namespace svmgsu
