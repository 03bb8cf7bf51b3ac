// Who answers: the samples of one place, and what is remembered of the last points.
#include <algorithm>
#include <cmath>
#include <list>

#include "engines/centring.hpp"
#include "engines/hessian.hpp"
#include "engines/line.hpp"
#include "engines/mapped.hpp"
#include "engines/questions.hpp"

namespace svmgsu {
namespace {

constexpr std::size_t kPoints = 2;              // that a worker remembers
constexpr Index kMostRows = Index{1} << 31;     // of a block, and blocks of a group
constexpr Index kMostSamples = Index{1} << 53;  // in all places: positions are sent as floating-point numbers

}  // namespace

// A worker's objective for a context, and what it knows of the last points.
struct ShardWorker::State {
  struct Point {
    Evaluation at;
    double cut = 0;
    Index block = 0;
    std::unique_ptr<Hessian> hessian;
    std::vector<std::pair<Vector, std::vector<double>>> products;  // v, and wᵀΣv of the samples that take part
  };
  // The last step along which J was asked for.
  struct Step {
    Evaluation from, there;
    Vector p;
    double p_b = 0, epsilon = 0;
    std::unique_ptr<Line> line;
  };
  std::shared_ptr<const Gaussians> data;
  std::shared_ptr<const Targets> targets;
  int threads;
  bool keeps;
  std::string context;
  std::unique_ptr<Objective> objective;
  std::list<Point> points;  // the last one at the end
  Step step;

  void enter(const std::string& text) {
    if (objective && text == context) return;
    MessageReader in(text);
    const Context c(in);
    for (const Vector* at : {&c.origin, &c.seen_from})
      require(at->size() == 0 || at->size() == data->features(), "message: of other features");
    require(c.block > 0 && c.block <= kMostRows && c.per_group > 0 && c.per_group <= kMostRows && c.numbers > 0 &&
                std::isfinite(c.numbers) && std::isfinite(c.centre),
            "message: it makes no sense");
    points.clear();
    step = Step();
    std::shared_ptr<const Source> source;
    if (c.seen_from.size() == 0)
      source = std::make_shared<MemorySource>(*data, data, c.numbers);
    else
      source = std::make_shared<MemorySource>(data->seen_from(c.seen_from), data, c.numbers);
    objective = std::make_unique<Objective>(source, targets, 1.0, threads, true, make_loss(c.loss, c.parameter), false);
    Cuts cuts;
    cuts.count = data->samples();
    cuts.block = c.block;
    cuts.per_group = c.per_group;
    cuts.blocks = (cuts.count + c.block - 1) / c.block;
    cuts.single = c.single;
    objective->become_part(c.origin, c.centre, cuts);
    context = text;
  }

  // The point, as it was left or with w·x and wᵀΣw to be read when they are wanted.
  Point& point(MessageReader& in) {
    Evaluation wanted;
    wanted.w = vector(in);
    wanted.b = in.get<double>();
    wanted.epsilon = in.get<double>();
    const auto known = std::find_if(points.begin(), points.end(), [&](const Point& p) { return same(p.at, wanted); });
    if (known != points.end()) {
      points.splice(points.end(), points, known);
      return points.back();
    }
    if (points.size() == kPoints) points.pop_front();
    points.emplace_back();
    points.back().at = std::move(wanted);
    points.back().at.kept = std::make_shared<Kept>();
    return points.back();
  }
  static bool same(const Evaluation& a, const Evaluation& b) {
    return a.b == b.b && a.epsilon == b.epsilon && a.w == b.w;
  }

  std::string gradient(MessageReader& in) {
    Point& here = point(in);
    const bool columns = in.get<double>() != 0;
    in.require_end();
    here.hessian.reset();
    here.products.clear();
    Kept& kept = *here.at.kept;
    Writer groups;
    const Emit emit = [&](const PassSums& group) { put_sums(groups, group, 2); };
    PassSums total;
    objective->pass(here.at.w, here.at.b, here.at.epsilon, columns, kept, &emit, total);
    Writer out;
    if (keeps) {
      put_levels(out, objective->kappa_levels(here.at));
      put_levels(out, objective->variance_levels(here.at));
      out.put_list(objective->line_of_w(here.at).sums(0, 0));
    } else {
      put_margins(out, kept);
    }
    out.text() += groups.text();
    return std::move(out.text());
  }

  std::string margins(MessageReader& in) const {
    const Vector w = vector(in);
    in.require_end();
    Kept kept;
    objective->complete(kept, w);
    Writer out;
    put_margins(out, kept);
    return std::move(out.text());
  }

  Hessian& hessian(Point& here, double cut, Index block) const {
    if (!here.hessian || here.cut != cut || here.block != block) {
      here.hessian = std::make_unique<Hessian>(*objective, here.at, cut, block);
      here.products.clear();
      here.cut = cut;
      here.block = block;
    }
    return *here.hessian;
  }

  std::string product(MessageReader& in) {
    Point& here = point(in);
    const auto cut = in.get<double>();
    const bool smoothing = in.get<double>() != 0;
    const auto vb = in.get<double>();
    const auto block = block_of(in);
    const Vector v = vector(in);
    in.require_end();
    Hessian& of = hessian(here, cut, block);
    Writer groups, out;
    std::uint64_t count = 0;
    const Emit emit = [&](const PassSums& group) {
      put_sums(groups, group, 1);
      ++count;
    };
    PassSums total;
    of.sum_up(smoothing, v, vb, &emit, total);
    if (keeps && !smoothing) here.products.emplace_back(v, of.last());
    out.put_list(keeps ? std::vector<double>() : of.last());
    out.put(count);
    out.text() += groups.text();
    return std::move(out.text());
  }

  std::string line(MessageReader& in) {
    const auto direction = in.get<std::int32_t>();
    require(direction >= 0 && direction <= static_cast<std::int32_t>(Direction::followed),
            "message: no such direction");
    Point& start = point(in);
    const Evaluation from = start.at, there = point(in).at;  // the last two are both there
    const Vector p = vector(in);
    const auto p_b = in.get<double>(), epsilon = in.get<double>(), t = in.get<double>(), beta = in.get<double>(),
               cut = in.get<double>();
    const Index block = block_of(in), steps = in.get<Index>();
    std::vector<double> cross;
    if (static_cast<Direction>(direction) == Direction::followed) {
      Hessian& of = hessian(start, cut, block);
      std::vector<double> along(steps > 0 ? static_cast<std::size_t>(of.active()) : 0, 0.0);
      for (Index k = 0; k < steps; ++k) {
        const Vector v = vector(in);
        const auto vb = in.get<double>(), alpha = in.get<double>();
        const std::vector<double>& last = product_with(start, of, v, vb);
        for (std::size_t i = 0; i < along.size(); ++i) along[i] += alpha * last[i];
      }
      cross = of.cross(along);
    }
    in.require_end();
    if (static_cast<Direction>(direction) != Direction::step)
      return listed(
          Line(*objective, static_cast<Direction>(direction), from, there, p, p_b, epsilon, cross).sums(t, beta));
    const bool known = step.line && same(step.from, from) && same(step.there, there) && step.p == p &&
                       step.p_b == p_b && step.epsilon == epsilon;
    if (!known) {
      step = {from, there, p, p_b, epsilon, nullptr};
      step.line = std::make_unique<Line>(*objective, Direction::step, step.from, step.there, p, p_b, epsilon);
    }
    return listed(step.line->sums(t, beta));
  }
  // As it was found for a product with v, or anew.
  static const std::vector<double>& product_with(Point& here, Hessian& of, const Vector& v, double vb) {
    for (const auto& made : here.products)
      if (made.first == v) return made.second;
    PassSums total;
    of.sum_up(false, v, vb, nullptr, total);
    here.products.emplace_back(v, of.last());
    return here.products.back().second;
  }

  std::string drawn(MessageReader& in) {
    Point& here = point(in);
    const auto cut = in.get<double>(), tau = in.get<double>();
    const auto seed = in.get<std::uint64_t>();
    const auto first = in.get<Index>();
    require(first >= 0 && first <= kMostSamples, "message: it makes no sense");
    in.require_end();
    const Hessian::Choice choice = hessian(here, cut, here.block).drawn(tau, seed, first);
    std::vector<double> list;
    for (std::size_t k = 0; k < choice.position.size(); ++k)
      for (const double value : {static_cast<double>(first + choice.position[k]), choice.weight[k], choice.sign[k],
                                 choice.rho[k], choice.gamma[k]})
        list.push_back(value);
    return listed(list);
  }

  static std::string listed(const std::vector<double>& values) {
    Writer out;
    out.put_list(values);
    return std::move(out.text());
  }

  void put_margins(Writer& out, const Kept& kept) const {
    out.put_list(kept.mean);
    if (data->covariance().empty())
      out.put_list(std::vector<double>());
    else
      out.put_list(kept.variance);
  }

  // Rows of a block of products; 0: as the samples have it.
  static Index block_of(MessageReader& in) {
    const auto block = in.get<Index>();
    require(block >= 0 && block <= kMostRows, "message: it makes no sense");
    return block;
  }

  Vector vector(MessageReader& in) const {
    Vector result = in.get_vector();
    require(result.size() == data->features(), "message: of other features");
    return result;
  }
};

ShardWorker::ShardWorker(TrainingSet set, int threads, bool keeps) : state_(std::make_unique<State>()) {
  state_->data = std::make_shared<const Gaussians>(std::move(set.data));
  state_->targets = std::make_shared<const Targets>(std::move(set.targets));
  state_->threads = threads;
  state_->keeps = keeps;
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
    case Question::line:
      return state_->line(in);
    case Question::drawn:
      return state_->drawn(in);
  }
  throw InvalidArgument("message: no such question");
}

}  // namespace svmgsu
