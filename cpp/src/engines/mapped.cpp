// Who asks: the objective of examples that are in several places.
#include "svmgsu/engines/mapped.hpp"

#include "engines/centring.hpp"
#include "engines/memory_kept.hpp"
#include "engines/questions.hpp"

namespace svmgsu {

class MappedSource final : public Source, public Remote {
 public:
  explicit MappedSource(std::shared_ptr<const MappedSet> set) : set_(std::move(set)), like_(set_->like.data) {}
  MappedSource(const MappedSource& of, const Vector& at)
      : set_(of.set_), like_(svmgsu::seen_from(of.like_, at)), at_(at) {}

  Index examples() const override { return set_->targets->examples(); }
  const Gaussians& like() const override { return like_; }
  double numbers() const override { return set_->numbers; }
  double rank() const override { return set_->rank; }
  const Remote* remote() const override { return this; }
  std::shared_ptr<const Source> moved(const Vector& at) const override {
    return std::make_shared<MappedSource>(*this, at);
  }
  void all(const Cuts&, const Use&) const override { require(false, "mapped: examples are not here"); }
  void some(const std::vector<Index>& positions, const Cuts&, const Use& use) const override {
    const std::shared_ptr<const Source> rows = take(positions);
    use({*rows->whole(), rows->whole()->ids(), 0});
  }
  std::shared_ptr<const Source> take(const std::vector<Index>& positions) const override {
    MappedSet::Rows rows = set_->take(positions);
    require(rows.data.examples() == static_cast<Index>(positions.size()), "mapped: other rows than were asked for");
    auto found = std::make_shared<MemorySource>(std::move(rows.data), std::move(rows.owner), numbers());
    if (at_.size() == 0) return found;
    return std::make_shared<MemorySource>(svmgsu::seen_from(*found->whole(), at_), found, numbers());
  }

  bool keeps() const override { return set_->keeps; }

  void gradient(const MemoryObjective& of, const Point& at, bool columns, Local& total,
                MemoryKept& kept) const override {
    Writer out = begin(of, Question::gradient);
    put_point(out, at);
    out.put(static_cast<double>(columns));
    total.reset(like_.features(), PointForms(like_, at.w, plans_), 2);
    double *mean = kept.mean.data(), *variance = kept.variance.data();
    kept.bends.clear();
    each(out.text(), [&](MessageReader& in, Index size) {
      if (keeps()) {
        get_levels(in, kept.kappa);
        get_levels(in, kept.variances);
        append(kept.bends, in.get_list());
      } else {
        read_margins(in, size, mean, variance);
      }
      while (!in.at_end()) total.add(get_sums(in, 2), 2);
    });
  }
  void margins(const MemoryObjective& of, const Vector& w, double* mean, double* variance) const override {
    Writer out = begin(of, Question::margins);
    out.put_list(w);
    each(out.text(), [&](MessageReader& in, Index size) { read_margins(in, size, mean, variance); });
  }
  void product(const MemoryObjective& of, const Product& p, Local& total, std::vector<double>& last) const override {
    Writer out = begin(of, Question::product);
    put_point(out, {p.w, p.b, p.epsilon});
    for (const double value : {p.cut, static_cast<double>(p.smoothing), p.vb}) out.put(value);
    out.put(p.block);
    out.put_list(p.v);
    last.clear();
    each(out.text(), [&](MessageReader& in, Index) {
      append(last, in.get_list());
      while (!in.at_end()) total.add(get_sums(in, 1), 1);
    });
  }
  std::vector<double> values(const MemoryObjective& of, const Point& at, double epsilon) const override {
    Writer out = begin(of, Question::values);
    put_point(out, at);
    out.put(epsilon);
    return lists(out.text());
  }
  std::vector<double> slopes(const MemoryObjective& of, const Slope& slope) const override {
    Writer out = begin(of, Question::slopes);
    put_point(out, slope.from);
    put_point(out, slope.there);
    for (const double value : {slope.cut, slope.p_b, slope.epsilon}) out.put(value);
    out.put(slope.block);
    out.put(static_cast<Index>(slope.steps.size()));
    for (const Followed& step : slope.steps) {
      out.put_list(step.v);
      out.put(step.vb);
      out.put(step.alpha);
    }
    return lists(out.text());
  }
  std::vector<double> along(const MemoryObjective& of, const Line& line, double t, double beta) const override {
    Writer out = begin(of, Question::along);
    put_point(out, line.from);
    put_point(out, line.there);
    out.put_list(line.p);
    for (const double value : {line.p_b, line.epsilon, t, beta}) out.put(value);
    return lists(out.text());
  }
  std::vector<double> drawn(const MemoryObjective& of, const Point& at, double cut, double tau,
                            std::uint64_t seed) const override {
    Writer out = begin(of, Question::drawn);
    put_point(out, at);
    out.put(cut);
    out.put(tau);
    out.put(seed);
    std::vector<std::string> questions;
    Index first = 0;
    for (const Index size : set_->sizes) {
      Writer own = out;
      own.put(first);
      questions.push_back(std::move(own.text()));
      first += size;
    }
    std::vector<double> found;
    each(questions, [&](MessageReader& in, Index) { append(found, in.get_list()); });
    return found;
  }

 private:
  Writer begin(const MemoryObjective& of, Question question) const {
    Context context;
    context.origin = of.origin();
    context.seen_from = at_;
    context.centre = of.centre();
    context.numbers = numbers();
    context.block = of.cuts().block;
    context.per_group = of.cuts().per_group;
    context.single = of.cuts().single;
    context.loss = of.loss().name();
    context.parameter = of.loss().parameter();
    Writer head, out;
    context.put(head);
    out.put_text(head.text());
    out.put(static_cast<std::int32_t>(question));
    return out;
  }
  // The same question to all, or one for each.
  template <class Use>
  void each(const std::vector<std::string>& questions, Use use) const {
    const std::vector<std::string> answers = set_->ask(questions);
    require(answers.size() == set_->sizes.size(), "mapped: " + std::to_string(answers.size()) + " answers of " +
                                                      std::to_string(set_->sizes.size()) + " shards");
    for (std::size_t k = 0; k < answers.size(); ++k) {
      MessageReader in(answers[k]);
      use(in, set_->sizes[k]);
    }
    poll();
  }
  template <class Use>
  void each(const std::string& question, Use use) const {
    each(std::vector<std::string>{question}, use);
  }
  std::vector<double> lists(const std::string& question) const {
    std::vector<double> found;
    each(question, [&](MessageReader& in, Index) { append(found, in.get_list()); });
    return found;
  }
  static void append(std::vector<double>& to, const std::vector<double>& part) {
    to.insert(to.end(), part.begin(), part.end());
  }
  static void read_margins(MessageReader& in, Index size, double*& mean, double*& variance) {
    read_into(in, size, mean);
    read_into(in, size, variance, true);
    mean += size;
    variance += size;
  }
  static void read_into(MessageReader& in, Index size, double* to, bool may_lack = false) {
    const std::vector<double> values = in.get_list();
    if (may_lack && values.empty()) {  // variances of examples that are certain
      std::fill_n(to, size, 0.0);
      return;
    }
    require(static_cast<Index>(values.size()) == size, "mapped: an answer of " + std::to_string(values.size()) +
                                                           " examples by a shard of " + std::to_string(size));
    std::copy(values.begin(), values.end(), to);
  }

  std::shared_ptr<const MappedSet> set_;
  Gaussians like_;
  Vector at_;
  mutable std::vector<Plan> plans_;
};

namespace {

Cuts cuts_for(const Gaussians& like, double numbers, Index count) {
  auto sums = static_cast<double>(like.features());
  for (const auto& term : like.covariance()) sums += static_cast<double>(term.kind->sum_size());
  return Cuts(count, block_size(like, numbers, count, 2 * sums), 2 * sums);
}

}  // namespace

Index Mapped::group_rows(const Gaussians& like, double numbers, Index examples) {
  const Cuts cuts = cuts_for(like, numbers, examples);
  return cuts.single ? examples : cuts.block * cuts.per_group;
}

Mapped::Mapped(MappedSet set) : targets_(set.targets) {
  require(targets_ != nullptr, "targets: there are none");
  const Index group = group_rows(set.like.data, set.numbers, targets_->examples());
  Index first = 0;
  for (std::size_t k = 0; k < set.sizes.size(); ++k) {
    require(set.sizes[k] > 0, "shards: shard " + std::to_string(k) + " has no examples; leave it out");
    require(first % group == 0, "shards: shard " + std::to_string(k) + " begins at example " + std::to_string(first) +
                                    "; of these data, shards must begin at multiples of " + std::to_string(group));
    first += set.sizes[k];
  }
  targets_->require_examples(first);
  source_ = std::make_shared<MappedSource>(std::make_shared<const MappedSet>(std::move(set)));
}

MemoryObjective Mapped::objective(double lambda, int threads, bool intercept, std::shared_ptr<const Loss> loss) const {
  return MemoryObjective(source_, targets_, lambda, threads, intercept, std::move(loss), false);
}
Index Mapped::examples() const { return targets_->examples(); }
Index Mapped::features() const { return source_->like().features(); }

}  // namespace svmgsu
