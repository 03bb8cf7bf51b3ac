#include "svmgsu/data/gaussians.hpp"

#include <numeric>

namespace svmgsu {

Gaussians::Gaussians(Rows means, CovarianceSum covariance, const std::vector<Index>* rows)
    : means_(std::move(means)), covariance_(std::move(covariance)) {
  means_.require_array("means");
  if (rows) {
    ids_ = *rows;
  } else {
    ids_.resize(static_cast<std::size_t>(means_.count()));
    std::iota(ids_.begin(), ids_.end(), Index{0});
  }
  require_sizes();
  pair();
}

void Gaussians::pair() {
  const auto& terms = covariance_.terms();
  const Rows* const first = terms.empty() ? nullptr : terms[0].kind.like_means();
  paired_ = first && means_.alike(*first);
}

template <class Scalar>
Gaussians Gaussians::with_squares(const Scalar* errors) const {
  require(errors != nullptr, "std: expected an array, got null");
  const Index count = means_.count(), n = means_.columns();
  auto squares = std::make_shared<std::vector<Scalar>>(errors, errors + count * n);
  for (Index k = 0; k < count * n; ++k) {
    Scalar& x = (*squares)[static_cast<std::size_t>(k)];
    if (x < 0)
      require(false, "std: sample " + std::to_string(k / n) + " has " + to_text(static_cast<double>(x)) +
                         " at feature " + std::to_string(k % n) + "; standard errors must be >= 0");
    x *= x;
  }
  Gaussians out = *this;
  out.covariance_ = Diagonal({squares->data(), count, n});
  out.squares_ = std::move(squares);
  out.require_sizes();
  out.pair();
  return out;
}

Gaussians Gaussians::with_std(const double* errors) const { return with_squares(errors); }
Gaussians Gaussians::with_std(const float* errors) const { return with_squares(errors); }

Gaussians Gaussians::some(const std::vector<Index>& positions) const {
  Gaussians part = *this;
  part.ids_.clear();
  for (const Index i : positions) {
    if (i < 0 || i >= samples()) require(false, "positions: " + std::to_string(i) + " is not a sample");
    part.ids_.push_back(ids_[static_cast<std::size_t>(i)]);
  }
  part.require_sizes();
  return part;
}

Gaussians Gaussians::seen_from(const Vector& origin) const {
  Gaussians seen = *this;
  seen.means_ = means_.seen_from(origin);
  seen.pair();
  return seen;
}

double Gaussians::numbers_per_sample() const {
  double sum = means_.numbers_per_row();
  for (const auto& term : covariance()) sum += term.kind.numbers_per_sample();
  return sum;
}

double Gaussians::mean_rank() const {
  double sum = 0;
  for (const auto& term : covariance()) sum += term.kind.mean_rank();
  return sum;
}

double Gaussians::sum_size() const {
  auto sum = static_cast<double>(features());
  for (const auto& term : covariance()) sum += static_cast<double>(term.kind.sum_size());
  return sum;
}

void Gaussians::require_sizes() const {
  const Index total = means_.count();
  require(!ids_.empty(), "means: there are no samples");
  require(features() > 0, "means: there are no features");
  for (const Index id : ids_)  // the message only where it is needed: it takes longer than the check
    if (id < 0 || id >= total) require(false, "rows: " + std::to_string(id) + " is not a sample");
  for (const auto& term : covariance_.terms()) {
    const Index count = term.kind.samples(), columns = term.kind.features();
    if (count >= 0 && count != total)
      require(false, "covariance: " + std::to_string(count) + " samples, but the means have " + std::to_string(total));
    if (columns >= 0 && columns != features())
      require(false,
              "covariance: " + std::to_string(columns) + " features, but the means have " + std::to_string(features()));
  }
}

}  // namespace svmgsu
