// Hessian products with what every kind has.
#include "svmgsu/kinds/covariance.hpp"

namespace svmgsu {
namespace {

// wᵀΣ_i v is the kind's bilinear form; Σ τ_i Σ_i is summed up as in a gradient, Σ κ_i Σ_i is known.
class PlainCurvature final : public Curvature {
 public:
  PlainCurvature(const Covariance& kind, Vector w, std::vector<double> m)
      : kind_(kind), w_(std::move(w)), m_(std::move(m)) {}
  Index sum_size() const override { return kind_.sum_size(); }
  RowsView like_means() const override { return kind_.like_means(); }
  const double* weights() const override { return plan_.of_w.data(); }
  void prepare(const double* v) override {
    v_ = v;
    kind_.prepare(w_.data(), v, w_.size(), plan_);
  }
  void cross(Batch batch, double scale, double* out) const override { kind_.bilinear(batch, plan_, scale, out); }
  void weigh(Batch batch, const double* tau, const double*, double* sum) const override {
    kind_.weigh(batch, plan_, tau, sum);
  }
  void finish(const double* sum, double scale, double* out) const override {
    kind_.finish(sum, w_.data(), w_.size(), scale, out);
    kind_.finish(m_.data(), v_, w_.size(), scale, out);
  }

 private:
  const Covariance& kind_;
  Vector w_;
  std::vector<double> m_;
  mutable Plan plan_;  // a kind may note numbers of each example in it
  const double* v_ = nullptr;
};

}  // namespace

std::unique_ptr<Curvature> Covariance::curvature(const Vector& w, const Plan&, const std::vector<double>& sum,
                                                 const std::vector<Index>&, int) const {
  return std::make_unique<PlainCurvature>(*this, w, sum);
}

}  // namespace svmgsu
