// Shards that do not fit together, and requests and responses that are not what was sent: each is refused, and none is
// read past its end.
#include <cstring>

#include "engines/hessian.hpp"
#include "engines/line.hpp"
#include "engines/mapped.hpp"
#include "refusals.hpp"

using namespace svmgsu;
using namespace svmgsu::test;

namespace {

// One shard of a few samples, whose requests and responses can be read and changed on their way.
struct Wire {
  Matrix means = Random(3).normals(20, 3), variances = Matrix::Constant(20, 3, 0.2);
  Vector labels = Vector::NullaryExpr(20, [](Index i) { return i % 2 ? 1.0 : -1.0; });
  TrainingSet set{means, Diagonal(variances), labels};
  ShardWorker worker{set};
  std::vector<std::string> requests;
  std::size_t changed = static_cast<std::size_t>(-1);  // which response
  std::function<void(std::string&)> change;

  MappedSet parts() {
    return {{20},
            {set.data, nullptr},
            6.0,
            0.0,
            std::make_shared<const Targets>(set.targets),
            [this](const std::vector<Index>& rows) { return MappedSet::Rows{set.data.some(rows), nullptr}; },
            [this](const std::vector<std::string>& asked) {
              std::string response = worker.respond(asked[0]);
              if (requests.size() == changed) change(response);
              requests.push_back(asked[0]);
              return std::vector<std::string>{response};
            },
            nullptr};
  }

  // Every request that there is.
  void ask_all() {
    requests.clear();
    const Objective mapped = Mapped(parts()).objective(0.1, 1);
    const Engine& objective = mapped.engine();
    const Vector w = Vector::LinSpaced(3, -1, 1), p = Vector::LinSpaced(3, 0.3, 0.1);
    const Evaluated from = objective.evaluate(w, 0.1, 0.1), there = objective.evaluate(w + p, 0.3, 0.1);
    Line(objective, from, 0.2).at(0, 0);
    objective.active_share(from, 0.1);
    objective.along_w(from);
    Line(objective, from, there, p, 0.2, 0.1).at(0.5, 0.1);
    Hessian hessian(objective, from, 0);
    Vector out;
    double out_b = 0;
    hessian.times(p, 0.2, out, out_b);
    hessian.dense(10, 1);
  }
};

// Whether it was done or refused; any other end is an error of the test.
bool done_or_refused(const std::function<void()>& action) {
  try {
    action();
  } catch (const InvalidArgument&) {
  }
  return true;
}

// What may stand in place of eight bytes of a message.
const std::uint64_t kStrange[] = {
    0, 1, 5, ~std::uint64_t{0}, std::uint64_t{1} << 62, 0x7FF8000000000000u, 0x7E37E43C8800759Cu};

void replace(std::string& message, std::size_t at, std::uint64_t by) { std::memcpy(&message[at], &by, sizeof by); }

}  // namespace

TEST_CASE("shards that do not fit together") {
  Wire wire;
  CHECK(Mapped(wire.parts()).samples() == 20);
  const auto refuses = [&](const std::string& argument, const std::function<void(MappedSet&)>& change) {
    MappedSet set = wire.parts();
    change(set);
    CHECK(names(argument, [&] { Mapped(set).objective(0.1).value(Vector::Zero(3), 0); }));
  };
  refuses("targets", [](MappedSet& s) { s.targets = nullptr; });
  refuses("targets", [](MappedSet& s) { s.targets = std::make_shared<const Targets>(Targets::labels(Vector())); });
  refuses("ask", [](MappedSet& s) { s.ask = nullptr; });
  refuses("take", [](MappedSet& s) { s.take = nullptr; });
  refuses("rank", [](MappedSet& s) { s.rank = kNaN; });
  for (const double none : {0.0, -1.0, kNaN, kInfinity}) refuses("numbers", [&](MappedSet& s) { s.numbers = none; });
  refuses("shards", [](MappedSet& s) { s.sizes = {}; });
  refuses("shards", [](MappedSet& s) { s.sizes = {20, -1}; });
  refuses("shards", [](MappedSet& s) { s.sizes = {std::numeric_limits<Index>::max()}; });
  refuses("labels", [](MappedSet& s) { s.sizes = {19}; });
  refuses("mapped",
          [](MappedSet& s) { s.ask = [](const std::vector<std::string>&) { return std::vector<std::string>(); }; });
  CHECK(names("samples", [&] { Mapped::group_rows(wire.set.data, 6, 0); }));
  MappedSet other = wire.parts();
  const Matrix wide = Matrix::Ones(20, 5);
  const Gaussians strangers(wide, CovarianceSum());
  other.take = [&](const std::vector<Index>& rows) { return MappedSet::Rows{strangers.some(rows), nullptr}; };
  const Objective mapped = Mapped(other).objective(0.1, 1);
  const Engine& objective = mapped.engine();
  CHECK(names("mapped", [&] { Hessian(objective, objective.evaluate(Vector::Ones(3), 0), 0).dense(10, 1); }));
}

TEST_CASE("a shard refuses requests that are cut short, go on for too long or make no sense") {
  Wire wire;
  wire.ask_all();
  for (const std::string& request : wire.requests) {
    for (std::size_t length = 0; length < request.size(); ++length)
      CHECK(names("message", [&] { wire.worker.respond(request.substr(0, length)); }));
    CHECK(names("message", [&] { wire.worker.respond(request + '\0'); }));
    for (std::size_t at = 0; at + 8 <= request.size(); at += 4)
      for (const std::uint64_t strange : kStrange) {
        std::string other = request;
        replace(other, at, strange);
        CHECK(done_or_refused([&] { wire.worker.respond(other); }));
      }
  }
  Wire again;
  again.ask_all();
  for (const std::string& request : again.requests)  // no stranger has left a trace
    CHECK(wire.worker.respond(request) == again.worker.respond(request));
}

TEST_CASE("responses that are cut short, go on for too long or make no sense are refused") {
  Wire wire;
  wire.ask_all();
  const std::size_t responses = wire.requests.size();
  for (wire.changed = 0; wire.changed < responses; ++wire.changed) {
    CAPTURE(wire.changed);
    std::size_t size = 0;
    wire.change = [&](std::string& response) { size = response.size(); };
    wire.ask_all();
    for (std::size_t length = 0; length < size; length += 7) {
      wire.change = [&](std::string& response) { response.resize(length); };
      CHECK(names("message", [&] { wire.ask_all(); }));
    }
    wire.change = [](std::string& response) { response += '\0'; };
    CHECK(names("message", [&] { wire.ask_all(); }));
    for (std::size_t at = 0; at + 8 <= size; at += 8)
      for (const std::uint64_t strange : kStrange) {
        wire.change = [&](std::string& response) { replace(response, at, strange); };
        CHECK(done_or_refused([&] { wire.ask_all(); }));
      }
  }
}
