// What is thrown inside a parallel loop comes out of it, whichever thread throws it: the n-th allocation fails, for
// many n, in every engine and every other loop of the library.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <new>

#include "engines/mapped.hpp"
#include "engines/streamed.hpp"
#include "folder.hpp"
#include "helpers.hpp"
#include "support/parallel.hpp"
#include "svmgsu/maps/maps.hpp"
#include "svmgsu/population/deconvolution.hpp"
#include "svmgsu/text/io.hpp"

using namespace svmgsu;
using namespace svmgsu::test;

namespace {

enum class Failure { memory, interrupted, other };
std::atomic<long> left{0};  // allocations until one fails; 0: none does
std::atomic<Failure> failure{Failure::memory};

void* allocate(std::size_t size) {
  if (left.load(std::memory_order_relaxed) > 0 && left.fetch_sub(1) == 1) {
    if (failure == Failure::interrupted) throw Interrupted();
    if (failure == Failure::other) throw std::runtime_error("as planned");
    throw std::bad_alloc();
  }
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return std::malloc(size == 0 ? 1 : size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return std::malloc(size == 0 ? 1 : size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

// Whether work() threw what the n-th allocation was to throw, and not something else; `done` tells whether it came to
// its end without so many.
template <class Work>
bool fails_as(Failure wanted, long n, Work work, bool& done) {
  failure = wanted;
  left = n;
  bool same = false;
  done = false;
  try {
    work();
    done = left > 0;
    same = true;  // a solver may take an interruption as the end of its time
  } catch (const std::bad_alloc&) {
    same = wanted == Failure::memory;
  } catch (const Interrupted&) {
    same = wanted == Failure::interrupted;
  } catch (const std::runtime_error&) {
    same = wanted == Failure::other;
  }
  left = 0;
  return same;
}

// work() returns a number, which must be the same after any number of failures.
template <class Work>
void fail_everywhere(Work work) {
  const double want = work();
  for (const Failure wanted : {Failure::memory, Failure::interrupted, Failure::other}) {
    bool done = false;
    int failures = 0;
    for (long n = 1; !done; n += 1 + n / 4) {
      CAPTURE(n);
      CHECK(fails_as(wanted, n, work, done));
      ++failures;
    }
    CHECK(failures > 3);
    CHECK(work() == want);
  }
}

Options in_threads() {
  Options options;
  options.lambda = 0.01;
  options.threads = 3;
  return options;
}

void write(const std::string& path, const Matrix& numbers) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(numbers.data()),
             static_cast<std::streamsize>(sizeof(double) * static_cast<std::size_t>(numbers.size())));
}

}  // namespace

TEST_CASE("of several failures a loop throws that of the smallest index, and nobody waits for ever") {
  for (const int threads : {1, 2, 5})
    for (const bool ordered : {false, true})
      for (Index first = 0; first < 40; first += 3) {
        CAPTURE(threads);
        CAPTURE(ordered);
        const auto body = [&](Index k) {
          if (k >= first) throw k;
        };
        Index thrown = -1;
        Index merged = 0;
        try {
          if (ordered)
            ordered_blocks<int>(100, threads, [&](Index k, int&) { body(k); }, [&](int&) { ++merged; });
          else
            parallel_for(100, threads, body);
        } catch (const Index& k) {
          thrown = k;
        }
        CHECK(thrown == first);
        CHECK(merged <= first);
      }
}

TEST_CASE("what the merging of blocks or the making of a Local throws comes out of the loop") {
  struct Costly {
    std::vector<double> numbers = std::vector<double>(10);
  };
  for (const int threads : {1, 2, 5}) {
    CAPTURE(threads);
    Index merged = 0;
    const auto merge = [&](Costly&) {
      if (++merged == 7) throw std::runtime_error("enough");
    };
    CHECK_THROWS_AS(ordered_blocks<Costly>(100, threads, [](Index, Costly&) {}, merge), std::runtime_error);
    CHECK(merged == 7);
    bool done = false;
    CHECK(fails_as(
        Failure::memory, 1, [&] { ordered_blocks<Costly>(9, threads, [](Index, Costly&) {}, [](Costly&) {}); }, done));
    CHECK(!done);
  }
}

TEST_CASE("a loop inside another one runs in the thread that calls it, and may be stopped there") {
  for (const int threads : {1, 3}) {
    bool asked = false, stopped = false;
    const Watch watch([&] {
      asked = true;
      return false;
    });
    try {
      parallel_for(50, threads, [&](Index) { parallel_for(50, threads, [](Index) {}); });
    } catch (const Interrupted&) {
      stopped = true;
    }
    CHECK(stopped == asked);
  }
}

TEST_CASE("failures leave the threads of an objective in memory") {
  const Problem problem(kind_named("diagonal"), 3000, 20);
  fail_everywhere([&] { return train(problem.data(), in_threads()).objective; });
}

TEST_CASE("failures leave the threads of an objective in files") {
  const Problem problem(kind_named("diagonal"), 3000, 20);
  Random random(3);
  const Matrix variances = random.normals(3000, 20).cwiseAbs2();
  const Folder folder;
  write(folder.file("means"), problem.means);
  write(folder.file("variances"), variances);
  FlatSet set;
  set.means.path = folder.file("means");
  set.means.rows = 3000;
  set.means.columns = 20;
  set.terms.emplace_back();
  set.terms[0].file = set.means;
  set.terms[0].file.path = folder.file("variances");
  set.targets = std::make_shared<const Targets>(problem.data().targets);
  set.window = 500;
  const Options options = in_threads();
  fail_everywhere([&] {
    const Streamed streamed(set, options.threads);
    return solve(streamed.objective(options.lambda, options.threads), options).objective;
  });
}

TEST_CASE("failures leave the threads of shards") {
  const Problem problem(kind_named("diagonal"), 3000, 20);
  const TrainingSet data = problem.data();
  const Options options = in_threads();
  ShardWorker* worker = nullptr;
  const MappedSet set{
      {3000},
      {data.data, nullptr},
      40,
      0,
      std::make_shared<const Targets>(data.targets),
      [&](const std::vector<Index>& rows) { return MappedSet::Rows{data.data.some(rows), nullptr}; },
      [&](const std::vector<std::string>& requests) { return std::vector<std::string>{worker->respond(requests[0])}; },
      nullptr};
  fail_everywhere([&] {
    ShardWorker one(data, options.threads);
    worker = &one;
    const Mapped mapped(set);
    return solve(mapped.objective(options.lambda, options.threads), options).objective;
  });
}

TEST_CASE("failures leave the threads of maps, of a population and of a text's reader") {
  const Problem problem(kind_named("diagonal"), 600, 4);
  const Gaussians data = problem.data().data;
  Random random(5);
  SUBCASE("map") {
    const Fourier map(random.normals(8, 4));
    Matrix mean(600, map.outputs());
    fail_everywhere([&] {
      map_moments(map, data, {}, Spread::diagonal, mean.data(), 3);
      return mean.sum();
    });
  }
  SUBCASE("population") {
    const Observations seen{data};
    fail_everywhere([&] {
      const Units units = units_of(seen);
      return deconvolve(seen, units, start_mixture(seen, units, 2, 1), {}).log_likelihood;
    });
  }
  SUBCASE("text") {
    std::string lines;
    for (int i = 0; i < 60000; ++i) lines += "a" + std::to_string(i) + " 1:2.5 3:" + std::to_string(i) + "\n";
    TextOptions options;
    options.threads = 3;
    fail_everywhere([&] { return static_cast<double>(read_rows(lines, options).entries()); });
  }
}
