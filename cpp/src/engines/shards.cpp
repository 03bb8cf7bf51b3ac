// Samples in several places: MappedSource sends requests to all of them and adds the responses up in their order;
// ShardWorker responds for one place.
#include <algorithm>
#include <cmath>
#include <list>

#include "engines/hessian.hpp"
#include "engines/line.hpp"
#include "engines/mapped.hpp"
#include "engines/requests.hpp"

namespace svmgsu {
namespace {

constexpr std::size_t kPoints = 2;              // that a worker caches
constexpr Index kMostRows = Index{1} << 31;     // of a block, and blocks of a group
constexpr Index kMostSamples = Index{1} << 53;  // in all places: positions are sent as floating-point numbers

template <class... Parts>
std::string bytes_of(Parts&&... parts) {
  MessageWriter out;
  out(parts...);
  return std::move(out.bytes);
}

std::string bytes_of_request(Context& context, Request& request) {
  std::uint64_t kind = request.index();
  return std::visit([&](auto& of) { return bytes_of(context, kind, of); }, request);
}

template <std::size_t kKind = 0>
Request parse_request(std::uint64_t kind, MessageReader& in) {
  if constexpr (kKind == std::variant_size_v<Request>) {
    throw InvalidArgument("message: no such request");
  } else {
    if (kind != kKind) return parse_request<kKind + 1>(kind, in);
    std::variant_alternative_t<kKind, Request> request;
    in(request);
    in.require_end();
    return request;
  }
}

}  // namespace

class MappedSource final : public Source {
 public:
  explicit MappedSource(std::shared_ptr<const MappedSet> set) : set_(std::move(set)), like_(set_->like.data) {}
  MappedSource(const MappedSource& of, const Vector& at) : set_(of.set_), like_(of.like_.seen_from(at)), at_(at) {}

  Index samples() const override { return set_->targets->samples(); }
  const Gaussians& like() const override { return like_; }
  double numbers() const override { return set_->numbers; }
  double rank() const override { return set_->rank; }
  bool remote() const override { return set_->ask != nullptr; }
  // Half of what a shard has.
  Index room() const override { return *std::max_element(set_->sizes.begin(), set_->sizes.end()) / 2; }
  std::shared_ptr<const Source> moved(const Vector& at) const override {
    return std::make_shared<MappedSource>(*this, at);
  }

  void all(const Cuts&, const Use& use) const override {
    require(set_->make != nullptr, "mapped: samples are not here");
    Index first = 0;
    for (std::size_t k = 0; k < set_->sizes.size(); ++k) {
      const MappedSet::Rows rows = set_->make(k);
      require_like(rows.data, set_->sizes[k]);
      use({rows.data, rows.data.ids(), first});
      poll();
      first += set_->sizes[k];
    }
  }
  std::shared_ptr<const Source> take(const std::vector<Index>& positions) const override {
    MappedSet::Rows rows = set_->take(positions);
    require_like(rows.data, static_cast<Index>(positions.size()));
    auto found = std::make_shared<MemorySource>(std::move(rows.data), std::move(rows.owner), numbers());
    if (at_.size() == 0) return found;
    return std::make_shared<MemorySource>(found->whole()->seen_from(at_), found, numbers());
  }

  Response ask(const Engine& of, Request request) const override {
    Context context{of.origin(),           at_,
                    of.centre(),           numbers(),
                    of.loss().parameter(), of.cuts().block,
                    of.cuts().per_group,   of.cuts().single,
                    of.loss().name()};
    std::vector<std::string> requests;
    if (DrawRequest* const draw = std::get_if<DrawRequest>(&request)) {
      for (const Index size : set_->sizes) {
        requests.push_back(bytes_of_request(context, request));
        draw->first += size;
      }
    } else {
      requests.push_back(bytes_of_request(context, request));
    }
    const std::vector<std::string> responses = set_->ask(requests);
    require(responses.size() == set_->sizes.size(), "mapped: " + std::to_string(responses.size()) + " responses of " +
                                                        std::to_string(set_->sizes.size()) + " shards");
    Response all;
    Index first = 0;
    for (std::size_t k = 0; k < responses.size(); ++k) {
      MessageReader in(responses[k]);
      Response part;
      in(part);
      in.require_end();
      require_part(of, request, part, first, set_->sizes[k]);
      all.kappa.add(part.kappa);
      all.numbers.insert(all.numbers.end(), part.numbers.begin(), part.numbers.end());
      std::move(part.groups.begin(), part.groups.end(), std::back_inserter(all.groups));
      first += set_->sizes[k];
    }
    poll();
    return all;
  }

 private:
  // Refuses samples of other features or covariances than all have, and more or fewer than were asked for.
  void require_like(const Gaussians& rows, Index count) const {
    const Gaussians& like = set_->like.data;
    require(rows.samples() == count, "mapped: other rows than were asked for");
    bool same = rows.features() == like.features() && rows.covariance().size() == like.covariance().size();
    for (std::size_t t = 0; same && t < like.covariance().size(); ++t) {
      const CovarianceSum::Term &a = rows.covariance()[t], &b = like.covariance()[t];
      same = a.scale == b.scale && a.kind.sum_size() == b.kind.sum_size() && a.kind.dense() == b.kind.dense();
    }
    require(same, "mapped: rows of other features or kinds of covariance");
  }

  // Refuses a response with more or fewer numbers than the samples `first` .. `first` + `size` have.
  static void require_part(const Engine& of, const Request& request, const Response& part, Index first, Index size) {
    const Index rows = of.cuts().block * of.cuts().per_group;
    const auto groups = static_cast<std::size_t>((size + rows - 1) / rows);
    bool holds = true;
    if (std::holds_alternative<PassRequest>(request))
      holds =
          part.groups.size() == groups && part.numbers.size() == Engine::kAlongW * groups && part.kappa.total() == size;
    if (std::holds_alternative<LineRequest>(request)) holds = part.numbers.size() == Line::kNumbers * groups;
    if (std::holds_alternative<DrawRequest>(request)) {
      // Five numbers of each sample, of which the first is its position: those rise.
      holds = part.numbers.size() % 5 == 0;
      double least = static_cast<double>(first);
      for (std::size_t k = 0; holds && k < part.numbers.size(); k += 5) {
        holds = part.numbers[k] >= least && part.numbers[k] < static_cast<double>(first + size);
        least = part.numbers[k] + 1;
      }
    }
    require(holds, "mapped: a response of other samples than a shard's");
  }

  std::shared_ptr<const MappedSet> set_;
  Gaussians like_;
  Vector at_;
};

Index Mapped::group_rows(const Gaussians& like, double numbers, Index samples) {
  require(numbers > 0 && std::isfinite(numbers), "numbers: must be > 0 and finite, got " + to_text(numbers));
  require(samples > 0, "samples: must be > 0, got " + std::to_string(samples));
  const Cuts cuts = pass_cuts(like, numbers, samples);
  return cuts.single ? samples : cuts.block * cuts.per_group;
}

Mapped::Mapped(MappedSet set) : targets_(set.targets) {
  require(targets_ != nullptr && targets_->samples() > 0, "targets: expected at least one");
  require((set.ask != nullptr) != (set.make != nullptr), "ask: one of `ask` and `make` is needed");
  require(set.take != nullptr, "take: expected a function");
  require(set.rank >= 0 && std::isfinite(set.rank), "rank: must be >= 0 and finite, got " + to_text(set.rank));
  require(!set.sizes.empty(), "shards: expected at least one");
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
  return Objective(std::make_shared<Engine>(source_, targets_, lambda, threads, intercept, std::move(loss)));
}
Index Mapped::samples() const { return targets_->samples(); }
Index Mapped::features() const { return source_->like().features(); }

// The objective of a worker's samples in the last request's context, and what is cached of the last points.
struct ShardWorker::State {
  struct Known {
    Evaluated at;
    double cut = 0;
    Index block = 0;
    std::unique_ptr<Hessian> hessian;
  };
  // The last step along which J was asked for.
  struct Step {
    Evaluated from, there;
    Vector p;
    double p_b = 0, epsilon = 0;
    std::unique_ptr<Line> line;
  };
  std::shared_ptr<const Gaussians> data;
  std::shared_ptr<const Targets> targets;
  int threads;
  std::string context;
  std::unique_ptr<Engine> objective;
  std::list<Known> points;  // the last one at the end
  Step step;

  void enter(Context& c) {
    std::string text = bytes_of(c);
    if (objective && text == context) return;
    for (const Vector* at : {&c.origin, &c.seen_from})
      require(at->size() == 0 || at->size() == data->features(), "message: of other features");
    require(c.block > 0 && c.block <= kMostRows && c.per_group > 0 && c.per_group <= kMostRows && c.numbers > 0 &&
                std::isfinite(c.numbers) && std::isfinite(c.centre),
            "message: it makes no sense");
    points.clear();
    step = Step();
    const Gaussians seen = c.seen_from.size() == 0 ? *data : data->seen_from(c.seen_from);
    objective = std::make_unique<Engine>(std::make_shared<MemorySource>(seen, data, c.numbers), targets, 1.0, threads,
                                         true, make_loss(c.loss, c.parameter));
    Cuts cuts;
    cuts.count = data->samples();
    cuts.block = c.block;
    cuts.per_group = c.per_group;
    cuts.blocks = (cuts.count + c.block - 1) / c.block;
    cuts.single = c.single;
    objective->become_part(c.origin, c.centre, cuts);
    context = std::move(text);
  }

  void require_features(const Vector& v) const { require(v.size() == data->features(), "message: of other features"); }
  static void require_block(Index block) { require(block >= 0 && block <= kMostRows, "message: it makes no sense"); }
  static bool same(const Evaluated& a, const Evaluated& b) {
    return a.b == b.b && a.epsilon == b.epsilon && a.w == b.w;
  }

  // The point, as it was left or with w·x and wᵀΣw to be computed when they are wanted.
  Known& known(const Point& point) {
    require_features(point.w);
    Evaluated wanted;
    wanted.w = point.w;
    wanted.b = point.b;
    wanted.epsilon = point.epsilon;
    const auto found = std::find_if(points.begin(), points.end(), [&](const Known& k) { return same(k.at, wanted); });
    if (found != points.end()) {
      points.splice(points.end(), points, found);
      return points.back();
    }
    if (points.size() == kPoints) points.pop_front();
    points.emplace_back();
    points.back().at = std::move(wanted);
    points.back().at.cache = std::make_shared<PointCache>();
    return points.back();
  }
  Hessian& hessian(Known& here, double cut, Index block) const {
    if (!here.hessian || here.cut != cut || here.block != block) {
      here.hessian = std::make_unique<Hessian>(*objective, here.at, cut, block);
      here.cut = cut;
      here.block = block;
    }
    return *here.hessian;
  }

  Response respond(const PassRequest& request) {
    Known& here = known(request.at);
    here.hessian.reset();
    Response response;
    const Emit emit = [&](const PassSums& group) { response.groups.push_back(group); };
    PassSums total;
    objective->pass(here.at.w, here.at.b, here.at.epsilon, request.columns, *here.at.cache, &emit, total);
    response.kappa = objective->kappa_histogram(here.at);
    response.numbers = objective->sums_along_w(here.at);
    return response;
  }
  Response respond(const ProductRequest& request) {
    require_features(request.v);
    require_block(request.block);
    Response response;
    const Emit emit = [&](const PassSums& group) { response.groups.push_back(group); };
    PassSums total;
    hessian(known(request.at), request.cut, request.block)
        .sum_up(request.smoothing, request.v, request.vb, &emit, total);
    return response;
  }
  Response respond(const LineRequest& request) {
    const Evaluated from = known(request.from).at,
                    there = known(request.there).at;  // the last two are both cached
    Response response;
    if (request.p.size() == 0) {
      response.numbers = Line(*objective, from, request.epsilon).sums(0, request.beta);
      return response;
    }
    require_features(request.p);
    const bool cached = step.line && same(step.from, from) && same(step.there, there) && step.p == request.p &&
                        step.p_b == request.p_b && step.epsilon == request.epsilon;
    if (!cached) {
      step = {from, there, request.p, request.p_b, request.epsilon, nullptr};
      step.line = std::make_unique<Line>(*objective, step.from, step.there, request.p, request.p_b, request.epsilon);
    }
    response.numbers = step.line->sums(request.t, request.beta);
    return response;
  }
  Response respond(const DrawRequest& request) {
    require(request.first >= 0 && request.first <= kMostSamples, "message: it makes no sense");
    Known& here = known(request.at);
    const Hessian::Choice choice =
        hessian(here, request.cut, here.block).drawn(request.tau, request.seed, request.first);
    Response response;
    for (std::size_t k = 0; k < choice.position.size(); ++k)
      for (const double value : {static_cast<double>(request.first + choice.position[k]), choice.weight[k],
                                 choice.sign[k], choice.rho[k], choice.gamma[k]})
        response.numbers.push_back(value);
    return response;
  }
};

ShardWorker::ShardWorker(TrainingSet set, int threads) : state_(std::make_unique<State>()) {
  state_->data = std::make_shared<const Gaussians>(std::move(set.data));
  state_->targets = std::make_shared<const Targets>(std::move(set.targets));
  state_->threads = threads;
}
ShardWorker::~ShardWorker() = default;

std::string ShardWorker::respond(const std::string& request) {
  MessageReader in(request);
  Context context;
  std::uint64_t kind = 0;
  in(context, kind);
  const Request parsed = parse_request(kind, in);
  state_->enter(context);
  return bytes_of(std::visit([&](const auto& of) { return state_->respond(of); }, parsed));
}

}  // namespace svmgsu
