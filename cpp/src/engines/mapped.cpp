// Who asks: the objective of samples that are in several places.
#include "engines/mapped.hpp"

#include <cmath>

#include "engines/centring.hpp"
#include "engines/kept.hpp"
#include "engines/questions.hpp"

namespace svmgsu {

class MappedSource final : public Source, public Remote {
 public:
  explicit MappedSource(std::shared_ptr<const MappedSet> set) : set_(std::move(set)), like_(set_->like.data) {}
  MappedSource(const MappedSource& of, const Vector& at) : set_(of.set_), like_(of.like_.seen_from(at)), at_(at) {}

  Index samples() const override { return set_->targets->samples(); }
  const Gaussians& like() const override { return like_; }
  double numbers() const override { return set_->numbers; }
  double rank() const override { return set_->rank; }
  const Remote* remote() const override { return this; }
  std::shared_ptr<const Source> moved(const Vector& at) const override {
    return std::make_shared<MappedSource>(*this, at);
  }
  void all(const Cuts&, const Use&) const override { require(false, "mapped: samples are not here"); }
  void some(const std::vector<Index>& positions, const Cuts&, const Use& use) const override {
    const std::shared_ptr<const Source> rows = take(positions);
    use({*rows->whole(), rows->whole()->ids(), 0});
  }
  std::shared_ptr<const Source> take(const std::vector<Index>& positions) const override {
    MappedSet::Rows rows = set_->take(positions);
    require(rows.data.samples() == static_cast<Index>(positions.size()), "mapped: other rows than were asked for");
    require_like(rows.data);
    auto found = std::make_shared<MemorySource>(std::move(rows.data), std::move(rows.owner), numbers());
    if (at_.size() == 0) return found;
    return std::make_shared<MemorySource>(found->whole()->seen_from(at_), found, numbers());
  }

  bool keeps() const override { return set_->keeps; }

  void gradient(const Objective& of, const Point& at, bool columns, PassSums& total, Kept& kept) const override {
    Writer out = begin(of, Question::gradient);
    put_point(out, at);
    out.put(static_cast<double>(columns));
    total.reset(like_.features(), PointForms(like_, at.w, plans_), 2);
    double *mean = kept.mean.data(), *variance = kept.variance.data();
    kept.own.clear();
    each(out.text(), [&](MessageReader& in, Index size) {
      if (keeps()) {
        get_levels(in, size, kept.kappa);
        get_levels(in, size, kept.variances);
        append(kept.own, in.get_list(), 6 * groups_of(of, size));
      } else {
        read_margins(in, size, mean, variance);
      }
      for (Index group = 0; group < groups_of(of, size); ++group) total.add(get_sums(in, 2, total), 2);
    });
  }
  void margins(const Objective& of, const Vector& w, double* mean, double* variance) const override {
    Writer out = begin(of, Question::margins);
    out.put_list(w);
    each(out.text(), [&](MessageReader& in, Index size) { read_margins(in, size, mean, variance); });
  }
  void product(const Objective& of, const Product& p, PassSums& total, std::vector<double>& last) const override {
    Writer out = begin(of, Question::product);
    put_point(out, {p.w, p.b, p.epsilon});
    for (const double value : {p.cut, static_cast<double>(p.smoothing), p.vb}) out.put(value);
    out.put(p.block);
    out.put_list(p.v);
    last.clear();
    each(out.text(), [&](MessageReader& in, Index size) {
      const std::vector<double> own = in.get_list();  // of the samples that take part
      require(static_cast<Index>(own.size()) <= size, "mapped: an answer of more samples than a shard has");
      last.insert(last.end(), own.begin(), own.end());
      const auto groups = in.get<std::uint64_t>();  // that have such samples
      for (std::uint64_t group = 0; group < groups; ++group) total.add(get_sums(in, 1, total), 1);
    });
  }
  std::vector<double> line(const Objective& of, const LineQuestion& q) const override {
    Writer out = begin(of, Question::line);
    out.put(static_cast<std::int32_t>(q.direction));
    put_point(out, q.from);
    put_point(out, q.there);
    out.put_list(q.p);
    for (const double value : {q.p_b, q.epsilon, q.t, q.beta, q.cut}) out.put(value);
    out.put(q.block);
    out.put(static_cast<Index>(q.steps.size()));
    for (const Followed& step : q.steps) {
      out.put_list(step.v);
      out.put(step.vb);
      out.put(step.alpha);
    }
    std::vector<double> found;
    each(out.text(), [&](MessageReader& in, Index size) { append(found, in.get_list(), 6 * groups_of(of, size)); });
    return found;
  }
  std::vector<double> drawn(const Objective& of, const Point& at, double cut, double tau,
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
    first = 0;
    each(questions, [&](MessageReader& in, Index size) {
      const std::vector<double> own = in.get_list();
      require_drawn(own, first, first + size);
      found.insert(found.end(), own.begin(), own.end());
      first += size;
    });
    return found;
  }

 private:
  // Refuses samples of other features or covariances than all have.
  void require_like(const Gaussians& rows) const {
    const Gaussians& like = set_->like.data;
    bool same = rows.features() == like.features() && rows.covariance().size() == like.covariance().size();
    for (std::size_t t = 0; same && t < like.covariance().size(); ++t) {
      const CovarianceSum::Term &a = rows.covariance()[t], &b = like.covariance()[t];
      same = a.scale == b.scale && a.kind.sum_size() == b.kind.sum_size() && a.kind.dense() == b.kind.dense();
    }
    require(same, "mapped: rows of other features or kinds of covariance");
  }
  // Five numbers of each sample that was drawn, of which the first is its position: those of a place rise.
  static void require_drawn(const std::vector<double>& list, Index first, Index end) {
    bool holds = list.size() % 5 == 0;
    double least = static_cast<double>(first);
    for (std::size_t k = 0; holds && k < list.size(); k += 5) {
      holds = list[k] >= least && list[k] < static_cast<double>(end);
      least = list[k] + 1;
    }
    require(holds, "mapped: an answer of samples that the shard does not have");
  }
  // The groups of blocks of a place with so many samples.
  static Index groups_of(const Objective& of, Index size) {
    const Index rows = of.cuts().block * of.cuts().per_group;
    return (size + rows - 1) / rows;
  }
  Writer begin(const Objective& of, Question question) const {
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
      in.require_end();
    }
    poll();
  }
  template <class Use>
  void each(const std::string& question, Use use) const {
    each(std::vector<std::string>{question}, use);
  }
  static void append(std::vector<double>& to, const std::vector<double>& part, Index wanted) {
    require(static_cast<Index>(part.size()) == wanted, "mapped: an answer of " + std::to_string(part.size()) +
                                                           " sums, where " + std::to_string(wanted) + " are wanted");
    to.insert(to.end(), part.begin(), part.end());
  }
  void read_margins(MessageReader& in, Index size, double*& mean, double*& variance) const {
    read_into(in, size, mean);
    read_into(in, size, variance, like_.covariance().empty());
    mean += size;
    variance += size;
  }
  static void read_into(MessageReader& in, Index size, double* to, bool certain = false) {
    const std::vector<double> values = in.get_list();
    if (certain && values.empty()) {  // no variances are sent of samples that have none
      std::fill_n(to, size, 0.0);
      return;
    }
    require(static_cast<Index>(values.size()) == size,
            "mapped: an answer of " + std::to_string(values.size()) + " samples by a shard of " + std::to_string(size));
    std::copy(values.begin(), values.end(), to);
  }

  std::shared_ptr<const MappedSet> set_;
  Gaussians like_;
  Vector at_;
  mutable std::vector<Plan> plans_;
};

namespace {

Cuts cuts_for(const Gaussians& like, double numbers, Index count) {
  const double sums = 2 * like.sum_size();
  return Cuts(count, block_size(like, numbers, count, sums), sums);
}

}  // namespace

Index Mapped::group_rows(const Gaussians& like, double numbers, Index samples) {
  require(numbers > 0 && std::isfinite(numbers), "numbers: must be > 0 and finite, got " + to_text(numbers));
  require(samples > 0, "samples: must be > 0, got " + std::to_string(samples));
  const Cuts cuts = cuts_for(like, numbers, samples);
  return cuts.single ? samples : cuts.block * cuts.per_group;
}

Mapped::Mapped(MappedSet set) : targets_(set.targets) {
  require(targets_ != nullptr && targets_->samples() > 0, "targets: there are none");
  require(set.ask != nullptr, "ask: there is nobody to ask");
  require(set.take != nullptr, "take: there is nobody to take samples from");
  require(set.rank >= 0 && std::isfinite(set.rank), "rank: must be >= 0 and finite, got " + to_text(set.rank));
  require(!set.sizes.empty(), "shards: there are none");
  const Index group = group_rows(set.like.data, set.numbers, targets_->samples());
  Index first = 0;
  for (std::size_t k = 0; k < set.sizes.size(); ++k) {
    require(set.sizes[k] > 0, "shards: shard " + std::to_string(k) + " has no samples; leave it out");
    require(first % group == 0, "shards: shard " + std::to_string(k) + " begins at sample " + std::to_string(first) +
                                    "; of these data, shards must begin at multiples of " + std::to_string(group));
    require(set.sizes[k] <= targets_->samples() - first, "shards: they have more samples than there are targets");
    first += set.sizes[k];
  }
  targets_->require_samples(first);
  source_ = std::make_shared<MappedSource>(std::make_shared<const MappedSet>(std::move(set)));
}

Objective Mapped::objective(double lambda, int threads, bool intercept, std::shared_ptr<const Loss> loss) const {
  return Objective(source_, targets_, lambda, threads, intercept, std::move(loss), false);
}
Index Mapped::samples() const { return targets_->samples(); }
Index Mapped::features() const { return source_->like().features(); }

}  // namespace svmgsu
