// Shards and records: wherever the examples are, and whoever has been asked before, the bits are those of memory.
#include <doctest/doctest.h>

#include <numeric>

#include "helpers.hpp"

using namespace svmgsu;
using namespace svmgsu::test;

namespace {

bool same(const Result& a, const Result& b) {
  return std::equal(a.w.data(), a.w.data() + a.w.size(), b.w.data()) && a.b == b.b && a.objective == b.objective &&
         a.gap == b.gap && a.iterations == b.iterations;
}

Options exact() {
  Options options;
  options.lambda = 0.01;
  options.tolerance = 1e-7;
  options.threads = 1;
  return options;
}

double numbers_of(const Gaussians& data) {
  double numbers = data.means().numbers_per_example();
  for (const auto& term : data.covariance()) numbers += term.kind->numbers_per_example();
  return numbers;
}

// Examples in memory as `count` shards, each answered for by a worker of its own, which `keeps` what it knows of them
// or not.
Mapped shards_of(const TrainingSet& set, Index count, bool keeps, std::vector<std::shared_ptr<ShardWorker>>& workers) {
  const Index all = set.data.examples(), unit = Mapped::group_rows(set.data, numbers_of(set.data), all);
  const Index groups = (all + unit - 1) / unit;
  std::vector<Index> sizes;
  for (Index k = 0; k < count; ++k) {
    const Index first = std::min(all, k * groups / count * unit);
    const Index end = k + 1 == count ? all : std::min(all, (k + 1) * groups / count * unit);
    if (first == end) continue;
    std::vector<Index> rows(static_cast<std::size_t>(end - first));
    std::iota(rows.begin(), rows.end(), first);
    workers.push_back(
        std::make_shared<ShardWorker>(TrainingSet(set.data.some(rows), set.targets.some(rows)), 1, keeps));
    sizes.push_back(end - first);
  }
  double rank = 0;
  for (const auto& term : set.data.covariance()) rank += term.kind->mean_rank();
  return Mapped(
      MappedSet{sizes,
                {set.data, nullptr},
                numbers_of(set.data),
                rank,
                std::make_shared<const Targets>(set.targets),
                [&workers](const std::vector<std::string>& questions) {
                  std::vector<std::string> answers;
                  for (std::size_t k = 0; k < workers.size(); ++k)
                    answers.push_back(workers[k]->answer(questions[questions.size() == 1 ? 0 : k]));
                  return answers;
                },
                [set](const std::vector<Index>& rows) { return MappedSet::Rows{set.data.some(rows), nullptr}; },
                keeps});
}

}  // namespace

TEST_CASE("shards of every kind train to the bits of memory") {
  for (const Kind& kind : every_kind()) {
    CAPTURE(kind.name);
    const Problem problem(kind, 3000, 6);
    const TrainingSet set = problem.data();
    const Options options = exact();
    const Result want = solve(MemoryObjective(set, options.lambda, 1), options);
    for (const Index count : {1, 2, 7})
      for (const bool keeps : {false, true}) {
        CAPTURE(count);
        CAPTURE(keeps);
        std::vector<std::shared_ptr<ShardWorker>> workers;
        const Mapped mapped = shards_of(set, count, keeps, workers);
        CHECK(same(solve(mapped.objective(options.lambda, 1), options), want));
      }
  }
}
