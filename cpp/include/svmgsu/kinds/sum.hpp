// Sums of kinds.
#pragma once

#include <memory>
#include <type_traits>
#include <vector>

#include "svmgsu/kinds/covariance.hpp"

namespace svmgsu {

// Covariances add and scale: a list of kinds, each with its factor. Empty: no uncertainty at all.
class CovarianceSum {
 public:
  struct Term {
    std::shared_ptr<const Covariance> kind;
    double scale;
  };

  CovarianceSum() = default;
  template <class Kind, class = std::enable_if_t<std::is_base_of_v<Covariance, std::decay_t<Kind>>>>
  CovarianceSum(Kind&& kind) {  // NOLINT: a kind is a sum of one
    terms_.push_back({std::make_shared<std::decay_t<Kind>>(std::forward<Kind>(kind)), 1.0});
  }
  explicit CovarianceSum(std::vector<Term> terms) : terms_(std::move(terms)) {}

  const std::vector<Term>& terms() const { return terms_; }
  friend CovarianceSum operator+(CovarianceSum a, const CovarianceSum& b) {
    a.terms_.insert(a.terms_.end(), b.terms_.begin(), b.terms_.end());
    return a;
  }
  friend CovarianceSum operator*(double factor, CovarianceSum a) {
    require(factor >= 0, "covariance: the factor must be >= 0");
    for (Term& term : a.terms_) term.scale *= factor;
    return a;
  }

 private:
  std::vector<Term> terms_;
};

}  // namespace svmgsu
