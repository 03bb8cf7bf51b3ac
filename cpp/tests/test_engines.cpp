// Shards and files: wherever the samples are, the bits are those of memory, and they are not read more often than
// needed.
#include <doctest/doctest.h>

#include <fstream>
#include <numeric>

#include "engines/line.hpp"
#include "engines/mapped.hpp"
#include "engines/streamed.hpp"
#include "folder.hpp"
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

// Samples in memory as `count` shards: each has a worker of its own, or is made when it is read.
Mapped shards_of(const TrainingSet& set, Index count, bool made, std::vector<std::shared_ptr<ShardWorker>>& workers) {
  const Index all = set.data.samples(), unit = Mapped::group_rows(set.data, set.data.numbers_per_sample(), all);
  const Index groups = (all + unit - 1) / unit;
  std::vector<Index> sizes;
  std::vector<std::vector<Index>> places;
  for (Index k = 0; k < count; ++k) {
    const Index first = std::min(all, k * groups / count * unit);
    const Index end = k + 1 == count ? all : std::min(all, (k + 1) * groups / count * unit);
    if (first == end) continue;
    std::vector<Index> rows(static_cast<std::size_t>(end - first));
    std::iota(rows.begin(), rows.end(), first);
    workers.push_back(std::make_shared<ShardWorker>(TrainingSet(set.data.some(rows), set.targets.some(rows))));
    sizes.push_back(end - first);
    places.push_back(std::move(rows));
  }
  MappedSet mapped{sizes,
                   {set.data, nullptr},
                   set.data.numbers_per_sample(),
                   set.data.mean_rank(),
                   std::make_shared<const Targets>(set.targets),
                   [set](const std::vector<Index>& rows) { return MappedSet::Rows{set.data.some(rows), nullptr}; },
                   nullptr,
                   nullptr};
  if (made)
    mapped.make = [set, places](std::size_t place) { return MappedSet::Rows{set.data.some(places[place]), nullptr}; };
  else
    mapped.ask = [&workers](const std::vector<std::string>& requests) {
      std::vector<std::string> responses;
      for (std::size_t k = 0; k < workers.size(); ++k)
        responses.push_back(workers[k]->respond(requests[requests.size() == 1 ? 0 : k]));
      return responses;
    };
  return Mapped(mapped);
}

}  // namespace

TEST_CASE("shards of every kind train to the bits of memory") {
  for (const Kind& kind : every_kind()) {
    CAPTURE(kind.name);
    const Problem problem(kind, 3000, 6);
    const TrainingSet set = problem.data();
    const Options options = exact();
    const Result want = solve(Objective(set, options.lambda, 1), options);
    for (const Index count : {1, 2, 7})
      for (const bool made : {false, true}) {
        CAPTURE(count);
        CAPTURE(made);
        std::vector<std::shared_ptr<ShardWorker>> workers;
        const Mapped mapped = shards_of(set, count, made, workers);
        CHECK(same(solve(mapped.objective(options.lambda, 1), options), want));
      }
  }
}

TEST_CASE("a line through points without variances is found without another reading of the data") {
  const Problem problem(kind_named("diagonal"), 500, 5);
  const Folder folder;
  const auto write = [&](const std::string& name, const Matrix& numbers) {
    FlatFile file;
    file.path = folder.file(name);
    file.rows = numbers.rows();
    file.columns = numbers.cols();
    std::ofstream(file.path, std::ios::binary)
        .write(reinterpret_cast<const char*>(numbers.data()), static_cast<std::streamsize>(8 * numbers.size()));
    return file;
  };
  for (const double variance : {-1.0, 0.0, 0.5}) {
    CAPTURE(variance);
    FlatSet set;
    set.means = write("means", problem.means);
    if (variance >= 0) {
      set.terms.emplace_back();
      set.terms[0].file = write("variances", Matrix::Constant(500, 5, variance));
    }
    set.targets = std::make_shared<const Targets>(problem.data().targets);
    const Streamed streamed(set, 1);
    const Objective made = streamed.objective(0.1, 1);
    const Engine& objective = made.engine();
    const Vector w = Vector::LinSpaced(5, -1, 1), p = Vector::LinSpaced(5, 0.3, 0.1);
    const Evaluated from = objective.evaluate(w, 0.1, 0.2), there = objective.evaluate(w + p, 0.3, 0.2);
    const std::uint64_t before = streamed.bytes_read();
    const Line ray(objective, from, there, p, 0.2, 0.2);
    CHECK(streamed.bytes_read() - before == (variance > 0 ? streamed.bytes() : 0));
    for (const double t : {0.5, 1.0, 1.7})
      CHECK(ray.at(t, 0.1).value ==
            doctest::Approx(objective.value(w + t * p, 0.1 + t * 0.2 + 0.1, 0.2)).epsilon(1e-12));
  }
}
