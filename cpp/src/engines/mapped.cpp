// Both sides of a question: who asks, and who answers.
#include "svmgsu/engines/mapped.hpp"

#include <deque>

#include "engines/centring.hpp"
#include "engines/memory_hessian.hpp"
#include "engines/messages.hpp"

namespace svmgsu {
namespace {

enum class Question : std::int32_t { gradient, margins, product };

constexpr std::size_t kPoints = 2;  // that a worker remembers

// What every question begins with: how the data are seen, cut up and what their losses are.
struct Context {
  Vector origin, seen_from;
  double centre = 0, numbers = 0;
  Index block = 1, per_group = 1;
  bool single = true;
  std::string loss;
  double parameter = 0;

  void put(Writer& out) const {
    out.put_list(origin);
    out.put_list(seen_from);
    for (const double value : {centre, numbers, parameter}) out.put(value);
    for (const Index value : {block, per_group, Index{single}}) out.put(value);
    out.put_text(loss);
  }
  explicit Context(MessageReader& in) {
    origin = in.get_vector();
    seen_from = in.get_vector();
    for (double* value : {&centre, &numbers, &parameter}) *value = in.get<double>();
    block = in.get<Index>();
    per_group = in.get<Index>();
    single = in.get<Index>() != 0;
    loss = in.get_text();
  }
  Context() = default;
};

}  // namespace

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

  void gradient(const MemoryObjective& of, const Vector& w, double b, double epsilon, bool columns, Local& total,
                double* mean, double* variance) const override {
    Writer out = begin(of, Question::gradient);
    out.put_list(w);
    for (const double value : {b, epsilon, static_cast<double>(columns)}) out.put(value);
    total.reset(like_.features(), PointForms(like_, w, plans_), 2);
    each(out.text(), [&](MessageReader& in, Index size) {
      read_into(in, size, mean);
      read_into(in, size, variance, true);
      mean += size;
      variance += size;
      while (!in.at_end()) total.add(get_sums(in, 2), 2);
    });
  }
  void margins(const MemoryObjective& of, const Vector& w, double* mean, double* variance) const override {
    Writer out = begin(of, Question::margins);
    out.put_list(w);
    each(out.text(), [&](MessageReader& in, Index size) {
      read_into(in, size, mean);
      read_into(in, size, variance, true);
      mean += size;
      variance += size;
    });
  }
  void product(const MemoryObjective& of, const Product& p, Local& total, std::vector<double>& last) const override {
    Writer out = begin(of, Question::product);
    out.put_list(p.w);
    for (const double value : {p.b, p.epsilon, p.cut, static_cast<double>(p.smoothing), p.vb}) out.put(value);
    out.put(p.block);
    out.put_list(p.v);
    last.clear();
    each(out.text(), [&](MessageReader& in, Index) {
      const std::vector<double> part = in.get_list();
      last.insert(last.end(), part.begin(), part.end());
      while (!in.at_end()) total.add(get_sums(in, 1), 1);
    });
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
  template <class Use>
  void each(const std::string& question, Use use) const {
    const std::vector<std::string> answers = set_->ask(question);
    require(answers.size() == set_->sizes.size(), "mapped: " + std::to_string(answers.size()) + " answers of " +
                                                      std::to_string(set_->sizes.size()) + " shards");
    for (std::size_t k = 0; k < answers.size(); ++k) {
      MessageReader in(answers[k]);
      use(in, set_->sizes[k]);
    }
    poll();
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

// A worker's objective for a context, and what it knows of the last points.
struct ShardWorker::State {
  struct Point {
    Evaluation at;
    double cut = 0;
    Index block = 0;
    std::unique_ptr<MemoryHessian> hessian;
  };
  std::shared_ptr<const Gaussians> data;
  std::shared_ptr<const Targets> targets;
  int threads;
  std::string context;
  std::unique_ptr<MemoryObjective> objective;
  std::deque<Point> points;

  void enter(const std::string& text) {
    if (objective && text == context) return;
    MessageReader in(text);
    const Context c(in);
    require(c.origin.size() == 0 || c.origin.size() == data->features(), "message: of other features");
    require(c.block > 0 && c.per_group > 0 && c.numbers > 0, "message: it makes no sense");
    points.clear();
    std::shared_ptr<const Source> source;
    if (c.seen_from.size() == 0)
      source = std::make_shared<MemorySource>(*data, data, c.numbers);
    else
      source = std::make_shared<MemorySource>(seen_from(*data, c.seen_from), data, c.numbers);
    objective =
        std::make_unique<MemoryObjective>(source, targets, 1.0, threads, true, make_loss(c.loss, c.parameter), false);
    Cuts cuts;
    cuts.count = data->examples();
    cuts.block = c.block;
    cuts.per_group = c.per_group;
    cuts.blocks = (cuts.count + c.block - 1) / c.block;
    cuts.single = c.single;
    objective->origin_ = c.origin;
    objective->centre_ = c.centre;
    objective->cuts_ = std::make_shared<const Cuts>(std::move(cuts));
    context = text;
  }

  // The point, as it was left or with w·x and wᵀΣw to be read when they are wanted.
  Point& point(const Vector& w, double b, double epsilon) {
    for (Point& known : points)
      if (known.at.w == w && known.at.b == b && known.at.epsilon == epsilon) return known;
    if (points.size() == kPoints) points.pop_front();
    points.emplace_back();
    Evaluation& at = points.back().at;
    at.w = w;
    at.b = b;
    at.epsilon = epsilon;
    at.kept = std::make_shared<MemoryKept>();
    return points.back();
  }

  std::string gradient(MessageReader& in) {
    const Vector w = vector(in);
    const auto b = in.get<double>(), epsilon = in.get<double>();
    const bool columns = in.get<double>() != 0;
    Point& here = point(w, b, epsilon);
    here.hessian.reset();
    auto& kept = static_cast<MemoryKept&>(*here.at.kept);
    Writer groups;
    const Emit emit = [&](const Local& group) { put_sums(groups, group, 2); };
    Local total;
    objective->pass(w, b, epsilon, columns, kept, &emit, total);
    Writer out;
    out.put_list(kept.mean);
    put_variances(out, kept);
    out.text() += groups.text();
    return std::move(out.text());
  }

  std::string margins(MessageReader& in) const {
    const Vector w = vector(in);
    MemoryKept kept;
    objective->complete(kept, w);
    Writer out;
    out.put_list(kept.mean);
    put_variances(out, kept);
    return std::move(out.text());
  }

  std::string product(MessageReader& in) {
    const Vector w = vector(in);
    const auto b = in.get<double>(), epsilon = in.get<double>(), cut = in.get<double>();
    const bool smoothing = in.get<double>() != 0;
    const auto vb = in.get<double>();
    const auto block = in.get<Index>();
    const Vector v = vector(in);
    Point& here = point(w, b, epsilon);
    if (!here.hessian || here.cut != cut || here.block != block) {
      here.hessian = std::make_unique<MemoryHessian>(*objective, here.at, cut, block);
      here.cut = cut;
      here.block = block;
    }
    Writer groups, out;
    const Emit emit = [&](const Local& group) { put_sums(groups, group, 1); };
    Local total;
    here.hessian->sum_up(smoothing, v, vb, &emit, total);
    out.put_list(here.hessian->last());
    out.text() += groups.text();
    return std::move(out.text());
  }

  void put_variances(Writer& out, const MemoryKept& kept) const {
    if (data->covariance().empty())
      out.put_list(std::vector<double>());
    else
      out.put_list(kept.variance);
  }

  Vector vector(MessageReader& in) const {
    Vector result = in.get_vector();
    require(result.size() == data->features(), "message: of other features");
    return result;
  }
};

ShardWorker::ShardWorker(TrainingSet set, int threads) : state_(std::make_unique<State>()) {
  state_->data = std::make_shared<const Gaussians>(std::move(set.data));
  state_->targets = std::make_shared<const Targets>(std::move(set.targets));
  state_->threads = threads;
}
ShardWorker::~ShardWorker() = default;

std::string ShardWorker::answer(const std::string& question) {
  MessageReader in(question);
  state_->enter(in.get_text());
  switch (static_cast<Question>(in.get<std::int32_t>())) {
    case Question::gradient:
      return state_->gradient(in);
    case Question::margins:
      return state_->margins(in);
    case Question::product:
      return state_->product(in);
  }
  throw InvalidArgument("message: no such question");
}

}  // namespace svmgsu
