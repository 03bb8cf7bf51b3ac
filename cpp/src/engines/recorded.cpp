#include "svmgsu/engines/recorded.hpp"

#include "engines/messages.hpp"

namespace svmgsu {
namespace {

enum Question : std::int32_t {
  kEvaluate,
  kValue,
  kValueAt,
  kActive,
  kSharp,
  kHessian,
  kTimes,
  kSmoothing,
  kSlope,
  kDense,
  kDiagonal,
  kSketch,
  kRay,
  kIntercept,
  kCertify,
  kAlong
};

// FNV-1a of what a question is about.
class Key {
 public:
  Key& operator<<(double value) { return bytes(&value, sizeof value); }
  Key& operator<<(const Vector& values) {
    return bytes(values.data(), static_cast<std::size_t>(values.size()) * sizeof(double));
  }
  std::uint64_t value() const { return hash_; }

 private:
  Key& bytes(const void* data, std::size_t count) {
    const auto* const at = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < count; ++i) hash_ = (hash_ ^ at[i]) * 0x100000001b3u;
    return *this;
  }
  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

std::uint64_t sum_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

void put(Writer& out, double value) { out.put(value); }
void put(Writer& out, const Vector& values) { out.put_list(values); }
void put(Writer& out, const Matrix& values) {
  out.put(values.rows());
  out.put(values.cols());
  out.put_list(values.data(), static_cast<std::size_t>(values.size()));
}
void put(Writer& out, const DualPoint& of) {
  for (int k : {0, 1}) {
    put(out, of.sum[k]);
    put(out, of.mass[k]);
    put(out, of.value[k]);
  }
  put(out, of.reach);
  for (const double number : {of.terms, of.unseen, of.dots, of.error}) put(out, number);
}
void get(MessageReader& in, double& value) { value = in.get<double>(); }
void get(MessageReader& in, Vector& values) { values = in.get_vector(); }
void get(MessageReader& in, DualPoint& of) {
  for (int k : {0, 1}) {
    get(in, of.sum[k]);
    get(in, of.mass[k]);
    get(in, of.value[k]);
  }
  get(in, of.reach);
  for (double* const number : {&of.terms, &of.unseen, &of.dots, &of.error}) get(in, *number);
}
void get(MessageReader& in, Matrix& values) {
  const auto rows = in.get<Index>(), cols = in.get<Index>();
  const std::vector<double> list = in.get_list();
  require(rows >= 0 && cols >= 0 && rows * cols == static_cast<Index>(list.size()), "checkpoint: it is damaged");
  values.resize(rows, cols);
  std::copy(list.begin(), list.end(), values.data());
}

// Fills `parts` from the record, or by `live` and then writes them down.
template <class Live, class... Parts>
void answer(Journal& journal, Question question, const Key& key, Live live, Parts&... parts) {
  std::string text;
  if (journal.next(question, key.value(), text)) {
    MessageReader in(text);
    (get(in, parts), ...);
    return;
  }
  live();
  Writer out;
  (put(out, parts), ...);
  journal.add(question, key.value(), out.text());
}

struct RecordedKept final : Kept {
  Evaluation inner;
  bool there = false;  // whether `inner` is, and not but the record
};

class RecordedHessian final : public Hessian {
 public:
  RecordedHessian(const Objective& of, Journal& journal, const Evaluation& at, double negligible)
      : of_(of),
        journal_(journal),
        kept_(std::static_pointer_cast<RecordedKept>(at.kept)),
        w_(at.w),
        b_(at.b),
        epsilon_(at.epsilon),
        negligible_(negligible) {
    answer(
        journal_, kHessian, Key() << w_ << b_ << epsilon_ << negligible,
        [&] { active_ = static_cast<double>(inner().active()); }, active_);
  }
  void times(const Vector& v, double vb, Vector& out, double& out_b) override {
    product(kTimes, v, vb, out, out_b, [&](Hessian& of) { of.times(v, vb, out, out_b); });
  }
  void smoothing_derivative(Vector& out, double& out_b) override {
    answer(journal_, kSmoothing, Key() << w_ << b_, [&] { inner().smoothing_derivative(out, out_b); }, out, out_b);
  }
  Index active() const override { return static_cast<Index>(active_); }
  void follow(double alpha) override {
    if (inner_)
      inner_->follow(alpha);
    else
      done_.push_back({Vector(), alpha});
  }
  double slope(const Evaluation& from, const Evaluation& there, const Vector& p, double p_b,
               double epsilon) const override;
  Matrix dense(Index rows, std::uint64_t seed) const override {
    Matrix result;
    answer(journal_, kDense, key(rows, seed), [&] { result = inner().dense(rows, seed); }, result);
    return result;
  }
  Vector diagonal(Index rows, std::uint64_t seed) const override {
    Vector result;
    answer(journal_, kDiagonal, key(rows, seed), [&] { result = inner().diagonal(rows, seed); }, result);
    return result;
  }
  Sketch sketch(Index rows, std::uint64_t seed) const override {
    Sketch result;
    answer(
        journal_, kSketch, key(rows, seed), [&] { result = inner().sketch(rows, seed); }, result.diagonal, result.rows);
    return result;
  }

 private:
  // A product with v (of some length), or a step along it.
  struct Done {
    Vector v;
    double number;
  };
  Key key(Index rows, std::uint64_t seed) const {
    return Key() << w_ << b_ << epsilon_ << static_cast<double>(rows) << static_cast<double>(seed);
  }
  template <class Live>
  void product(Question question, const Vector& v, double vb, Vector& out, double& out_b, Live live) {
    const bool had = inner_ != nullptr;
    answer(journal_, question, Key() << w_ << b_ << v << vb, [&] { live(inner()); }, out, out_b);
    if (!had && !inner_) done_.push_back({v, vb});
  }
  // The Hessian itself, brought to where the record leaves it.
  Hessian& inner() const {
    if (inner_) return *inner_;
    if (!kept_->there) of_.evaluate(w_, b_, epsilon_, kept_->inner);
    kept_->there = true;
    inner_ = of_.hessian(kept_->inner, negligible_);
    Vector out;
    double out_b;
    for (const Done& step : done_) {
      if (step.v.size() > 0)
        inner_->times(step.v, step.number, out, out_b);
      else
        inner_->follow(step.number);
    }
    return *inner_;
  }

  const Objective& of_;
  Journal& journal_;
  std::shared_ptr<RecordedKept> kept_;
  Vector w_;
  double b_, epsilon_, negligible_, active_ = 0;
  std::vector<Done> done_;
  mutable std::unique_ptr<Hessian> inner_;
};

// What is known of a point, at first hand.
const Evaluation& real(const Objective& of, const Evaluation& at) {
  auto& kept = static_cast<RecordedKept&>(*at.kept);
  if (!kept.there) of.evaluate(at.w, at.b, at.epsilon, kept.inner);
  kept.there = true;
  return kept.inner;
}

double RecordedHessian::slope(const Evaluation& from, const Evaluation& there, const Vector& p, double p_b,
                              double epsilon) const {
  double result = 0;
  answer(
      journal_, kSlope, Key() << from.w << p << p_b << epsilon,
      [&] { result = inner().slope(real(of_, from), real(of_, there), p, p_b, epsilon); }, result);
  return result;
}

class RecordedRay final : public Ray {
 public:
  RecordedRay(const Objective& of, Journal& journal, const Evaluation& from, const Evaluation& there, const Vector& p,
              double p_b, double epsilon)
      : of_(of), journal_(journal), from_(from), there_(there), p_(p), p_b_(p_b), epsilon_(epsilon) {}
  Point at(double t, double beta) const override {
    Point point;
    answer(
        journal_, kRay, Key() << from_.w << p_ << t << beta,
        [&] {
          if (!inner_) inner_ = of_.ray(real(of_, from_), real(of_, there_), p_, p_b_, epsilon_);
          point = inner_->at(t, beta);
        },
        point.value, point.t, point.beta, point.t_t, point.t_beta, point.beta_beta);
    return point;
  }

 private:
  const Objective& of_;
  Journal& journal_;
  const Evaluation &from_, &there_;
  Vector p_;
  double p_b_, epsilon_;
  mutable std::unique_ptr<Ray> inner_;
};

class RecordedObjective final : public Objective {
 public:
  RecordedObjective(const Objective& of, Journal& journal, std::unique_ptr<Objective> owned = nullptr)
      : Objective(of), owned_(std::move(owned)), of_(of), journal_(journal) {}

  Index examples() const override { return of_.examples(); }
  Index features() const override { return of_.features(); }
  Task task() const override { return of_.task(); }
  double mean_weight() const override { return of_.mean_weight(); }
  Cost cost() const override { return of_.cost(); }
  Trivial trivial() const override { return of_.trivial(); }
  Centred centred() const override {
    Centred inner = of_.centred();
    if (!inner.objective) return inner;
    const Objective& moved = *inner.objective;
    return {std::make_unique<RecordedObjective>(moved, journal_, std::move(inner.objective)), inner.shift};
  }
  std::unique_ptr<Objective> sample(Index rows, std::uint64_t seed) const override { return of_.sample(rows, seed); }

  using Objective::evaluate;
  void evaluate(const Vector& w, double b, double epsilon, Evaluation& e) const override {
    e.w = w;
    e.b = b;
    e.epsilon = epsilon;
    if (!e.kept || e.kept.use_count() > 1) e.kept = std::make_shared<RecordedKept>();
    auto& kept = static_cast<RecordedKept&>(*e.kept);
    kept.there = false;
    answer(
        journal_, kEvaluate, of_problem() << w << b << epsilon,
        [&] {
          of_.evaluate(w, b, epsilon, kept.inner);
          kept.there = true;
          const Evaluation& found = kept.inner;
          e.value = found.value;
          e.certificate = found.certificate;
          e.slopes = found.slopes;
          e.dual = found.dual;
          e.curvature_b = found.curvature_b;
          e.smoothed_share = found.smoothed_share;
          e.gradient = found.gradient;
          e.gradient_b = found.gradient_b;
        },
        e.value, e.certificate.value, e.certificate.bound, e.certificate.above, e.certificate.below, e.dual,
        e.curvature_b, e.smoothed_share, e.gradient, e.gradient_b, e.slopes);
  }
  double value(const Vector& w, double b, double epsilon) const override {
    return number(kValue, Key() << w << b << epsilon, [&] { return of_.value(w, b, epsilon); });
  }
  double value(const Evaluation& at, double epsilon) const override {
    return number(kValueAt, Key() << at.w << at.b << epsilon, [&] { return of_.value(real(of_, at), epsilon); });
  }
  double active_share(const Evaluation& at, double negligible) const override {
    return number(kActive, Key() << at.w << at.b << negligible,
                  [&] { return of_.active_share(real(of_, at), negligible); });
  }
  Along along(const Evaluation& at) const override {
    Along found;
    answer(
        journal_, kAlong, Key() << at.w << at.b << at.epsilon, [&] { found = of_.along(real(of_, at)); }, found.w,
        found.b);
    return found;
  }
  double sharp_share(const Evaluation& at, double deviation) const override {
    return number(kSharp, Key() << at.w << at.b << deviation,
                  [&] { return of_.sharp_share(real(of_, at), deviation); });
  }
  std::unique_ptr<Hessian> hessian(const Evaluation& at, double negligible) const override {
    return std::make_unique<RecordedHessian>(of_, journal_, at, negligible);
  }
  std::unique_ptr<Ray> ray(const Evaluation& from, const Evaluation& there, const Vector& p, double p_b,
                           double epsilon) const override {
    return std::make_unique<RecordedRay>(of_, journal_, from, there, p, p_b, epsilon);
  }
  double best_intercept(const Vector& w, double start) const override {
    return number(kIntercept, Key() << w << start, [&] { return of_.best_intercept(w, start); });
  }
  bool descend(const std::function<bool(const Descent&)>& goes_on) const override { return of_.descend(goes_on); }
  Certificate certify(const Vector& w, double b) const override {
    Certificate c;
    answer(journal_, kCertify, Key() << w << b, [&] { c = of_.certify(w, b); }, c.value, c.bound, c.above, c.below);
    return c;
  }
  double sample_gradient(const Vector& w, double b, const std::vector<Index>& sample, Vector& gw,
                         double& gb) const override {
    return of_.sample_gradient(w, b, sample, gw, gb);
  }

 private:
  // What tells this problem from others, as far as a number does.
  Key of_problem() const {
    double of_name = 0;
    for (const char* c = loss().name(); *c; ++c) of_name = 31 * of_name + *c;
    return Key() << lambda() << static_cast<double>(intercept()) << of_name << loss().parameter()
                 << static_cast<double>(examples()) << mean_weight();
  }
  template <class Live>
  double number(Question question, const Key& key, Live live) const {
    double result = 0;
    answer(journal_, question, key, [&] { result = live(); }, result);
    return result;
  }

  std::unique_ptr<Objective> owned_;
  const Objective& of_;
  Journal& journal_;
};

struct Head {
  std::int32_t question;
  std::uint64_t key, size, sum;
};
constexpr std::size_t kHead = 4 + 3 * 8;

// The entry at `at`, or false where it is cut short or damaged.
bool read_head(const std::string& text, std::size_t at, Head& head) {
  if (text.size() - at < kHead) return false;
  std::memcpy(&head.question, text.data() + at, 4);
  std::memcpy(&head.key, text.data() + at + 4, 8);
  std::memcpy(&head.size, text.data() + at + 12, 8);
  std::memcpy(&head.sum, text.data() + at + 20, 8);
  return head.size <= text.size() - at - kHead;
}

}  // namespace

Journal::Journal(std::string earlier, std::function<void(const std::string&)> write)
    : earlier_(std::move(earlier)), write_(std::move(write)) {
  Head head;
  while (read_head(earlier_, whole_, head)) {
    const auto size = static_cast<std::size_t>(head.size);
    if (sum_of(earlier_.substr(whole_ + kHead, size)) != head.sum) break;
    whole_ += kHead + size;
  }
}

bool Journal::next(std::int32_t question, std::uint64_t key, std::string& answer) {
  if (at_ >= whole_) return false;
  Head head{};
  read_head(earlier_, at_, head);
  require(head.question == question && head.key == key,
          "checkpoint: it is of other data or settings than these; remove it to begin anew");
  answer = earlier_.substr(at_ + kHead, static_cast<std::size_t>(head.size));
  at_ += kHead + answer.size();
  ++entries_;
  return true;
}

void Journal::add(std::int32_t question, std::uint64_t key, const std::string& answer) {
  if (!write_) return;
  Writer out;
  out.put(question);
  out.put(key);
  out.put(static_cast<std::uint64_t>(answer.size()));
  out.put(sum_of(answer));
  out.text() += answer;
  write_(out.text());
}

std::unique_ptr<Objective> recorded(const Objective& of, Journal& journal) {
  return std::make_unique<RecordedObjective>(of, journal);
}

}  // namespace svmgsu
