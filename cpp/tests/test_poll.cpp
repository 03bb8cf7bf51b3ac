// Long computations can be stopped at any of their polls.
#include <doctest/doctest.h>

#include <atomic>

#include "engines/hessian.hpp"
#include "helpers.hpp"
#include "support/parallel.hpp"
#include "support/poll.hpp"

using namespace svmgsu;
using namespace svmgsu::test;

namespace {

// The polls of a computation, of which it is stopped at the last of `most`.
template <class Work>
int polls_of(Work work, int most = 1 << 30) {
  int polls = 0;
  const Watch watch([&] { return ++polls < most; });
  work();
  return polls;
}

}  // namespace

TEST_CASE("without a watch nobody is asked") { CHECK_NOTHROW(poll()); }

TEST_CASE("the innermost watch is asked, and not while it answers") {
  int outer = 0, inner = 0;
  const Watch first([&] { return ++outer > 0; });
  {
    const Watch second([&] {
      poll();
      return ++inner > 0;
    });
    poll();
  }
  CHECK(inner == 1);
  CHECK(outer == 0);
  poll();
  CHECK(outer == 1);
}

TEST_CASE("loops over blocks stop once the watch says so, with any number of threads") {
  for (const int threads : {1, 2, 4}) {
    CAPTURE(threads);
    for (const int most : {1, 3, 7}) {
      int polls = 0;  // none by chance, where other threads have done all
      bool stopped[2] = {false, false};
      std::atomic<int> done{0};
      for (const bool ordered : {false, true}) {
        done = polls = 0;
        const Watch watch([&] { return ++polls < most; });
        try {
          if (ordered) {
            ordered_blocks<int>(1000, threads, [&](Index, int&) {}, [&](const int&) { ++done; });
          } else {
            parallel_for(1000, threads, [&](Index) { ++done; });
          }
        } catch (const Interrupted&) {
          stopped[ordered] = true;
        }
        CHECK(stopped[ordered] == (polls >= most));
        CHECK(polls <= most);
        if (threads == 1) CHECK(done == most);
      }
    }
  }
}

TEST_CASE("what the watch throws comes out of a parallel loop") {
  for (const int threads : {1, 3}) {
    bool asked = false, thrown = false;  // not asked by chance, where other threads have done all
    const Watch watch([&]() -> bool {
      asked = true;
      throw std::runtime_error("enough");
    });
    try {
      parallel_for(100, threads, [](Index) {});
    } catch (const std::runtime_error&) {
      thrown = true;
    }
    CHECK(thrown == asked);
    if (threads == 1) CHECK(thrown);
  }
}

TEST_CASE("passes and estimates of the Hessian poll on their way, and can be stopped there") {
  for (const char* kind : {"diagonal", "full", "low rank"}) {
    CAPTURE(kind);
    const Problem problem(kind_named(kind), 300, 40);
    const Engine objective(problem.data(), 1e-3, 1);  // of several threads only one polls
    const Vector w = Vector::Constant(40, 0.1);
    const Evaluated at = objective.evaluate(w, 0.1);
    Hessian hessian(objective, at, 0);
    const auto works = {std::function<void()>([&] { objective.evaluate(w, 0.1); }),
                        std::function<void()>([&] { hessian.dense(1000, 1); }),
                        std::function<void()>([&] { hessian.sketch(100, 1); })};
    for (const auto& work : works) {
      const int polls = polls_of(work);
      CHECK(polls >= 2);
      for (const int most : {1, polls / 2 + 1}) CHECK_THROWS_AS(polls_of(work, most), Interrupted);
    }
    CHECK(hessian.dense(1000, 1) == hessian.dense(1000, 1));  // as good as before
  }
}

TEST_CASE("a limit that is over at once leaves the best constant answer and an honest gap") {
  const Problem problem(kind_named("diagonal"), 300, 40);
  Options options;
  options.max_seconds = 0;
  const Result result = train(problem.data(), options);
  CHECK(result.stop == Stop::time);
  CHECK(result.gap > 0);
  CHECK(result.gap <= result.objective * (1 + 1e-12));
  CHECK(Objective(problem.data(), options.lambda).value(result.w, result.b) ==
        doctest::Approx(result.objective).epsilon(1e-12));
}
