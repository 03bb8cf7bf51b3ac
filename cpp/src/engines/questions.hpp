// The requests that mapped.cpp sends to shards of samples, and that shard_worker.cpp answers.
#pragma once

#include "engines/levels.hpp"
#include "engines/messages.hpp"

namespace svmgsu {

enum class Question : std::int32_t { gradient, margins, product, line, drawn };

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
    in.require_end();
  }
  Context() = default;
};

inline void put_point(Writer& out, const Remote::Point& at) {
  out.put_list(at.w);
  out.put(at.b);
  out.put(at.epsilon);
}

inline void put_levels(Writer& out, const Levels& levels) {
  std::vector<double> list;
  levels.each([&](int level, Index count) {
    list.push_back(level);
    list.push_back(static_cast<double>(count));
  });
  out.put_list(list);
}

// Of a place with so many samples.
inline void get_levels(MessageReader& in, Index samples, Levels& levels) {
  const std::vector<double> list = in.get_list();
  Index left = samples;
  for (std::size_t k = 0; k + 1 < list.size(); k += 2) {
    const double level = list[k], count = list[k + 1];
    if (!(level >= 0 && level <= Levels::kMost && count >= 0 && count <= static_cast<double>(left)))
      require(false, "message: counts of more than a shard's samples, or of no level");
    levels.add(static_cast<int>(level), static_cast<Index>(count));
    left -= static_cast<Index>(count);
  }
  require(list.size() % 2 == 0 && left == 0, "message: counts of fewer than a shard's samples");
}

}  // namespace svmgsu
