// Questions and answers as bytes: numbers and lists of numbers, one after another, in this machine's byte order.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "engines/sweep.hpp"

namespace svmgsu {

class Writer {
 public:
  template <class T>
  void put(T value) {
    static_assert(std::is_arithmetic_v<T>);
    text_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  void put_list(const double* values, std::size_t count) {
    put(static_cast<std::uint64_t>(count));
    text_.append(reinterpret_cast<const char*>(values), count * sizeof(double));
  }
  template <class List>
  void put_list(const List& values) {
    put_list(values.data(), static_cast<std::size_t>(values.size()));
  }
  void put_text(const std::string& text) {
    put(static_cast<std::uint64_t>(text.size()));
    text_ += text;
  }
  std::string& text() { return text_; }

 private:
  std::string text_;
};

class MessageReader {
 public:
  explicit MessageReader(const std::string& text) : text_(text) {}
  template <class T>
  T get() {
    T value;
    std::memcpy(&value, take(sizeof(T)), sizeof(T));
    return value;
  }
  std::vector<double> get_list() {
    const auto count = get<std::uint64_t>();
    require(count <= text_.size() / sizeof(double), "message: it is cut short");
    std::vector<double> values(static_cast<std::size_t>(count));
    const char* const from = take(values.size() * sizeof(double));
    if (!values.empty()) std::memcpy(values.data(), from, values.size() * sizeof(double));
    return values;
  }
  Vector get_vector() {
    const std::vector<double> values = get_list();
    Vector result(static_cast<Index>(values.size()));
    std::copy(values.begin(), values.end(), result.data());
    return result;
  }
  std::string get_text() {
    const auto size = static_cast<std::size_t>(get<std::uint64_t>());
    return {take(size), size};
  }
  bool at_end() const { return at_ == text_.size(); }
  void require_end() const { require(at_end(), "message: it is longer than it should be"); }

 private:
  const char* take(std::size_t bytes) {
    require(bytes <= text_.size() - at_, "message: it is cut short");
    const char* const from = text_.data() + at_;
    at_ += bytes;
    return from;
  }
  const std::string& text_;
  std::size_t at_ = 0;
};

inline void put_sums(Writer& out, const PassSums& sums, int sides) {
  for (const double value : {sums.loss, sums.smooth_loss, sums.curvature, sums.spread, sums.terms, sums.slope_squares})
    out.put(value);
  for (int side = 0; side < sides; ++side) {
    out.put(sums.dual[side]);
    out.put(sums.of[side].mass);
    out.put_list(sums.of[side].x);
    out.put(static_cast<std::uint64_t>(sums.of[side].terms.size()));
    for (const auto& term : sums.of[side].terms) out.put_list(term);
  }
  out.put_list(sums.squares);
}

// Sums that are of the same sizes as `like`.
inline PassSums get_sums(MessageReader& in, int sides, const PassSums& like) {
  PassSums sums;
  for (double* value : {&sums.loss, &sums.smooth_loss, &sums.curvature, &sums.spread, &sums.terms, &sums.slope_squares})
    *value = in.get<double>();
  for (int side = 0; side < sides; ++side) {
    sums.dual[side] = in.get<double>();
    sums.of[side].mass = in.get<double>();
    sums.of[side].x = in.get_vector();
    const Sums& wanted = like.of[side];
    bool same = sums.of[side].x.size() == wanted.x.size() && in.get<std::uint64_t>() == wanted.terms.size();
    for (std::size_t t = 0; same && t < wanted.terms.size(); ++t) {
      sums.of[side].terms.push_back(in.get_list());
      same = sums.of[side].terms[t].size() == wanted.terms[t].size();
    }
    if (!same) require(false, "message: sums of other features or kinds of covariance");
  }
  sums.squares = in.get_vector();
  if (sums.squares.size() != 0 && sums.squares.size() != like.of[0].x.size())
    require(false, "message: sums of other features or kinds of covariance");
  return sums;
}

}  // namespace svmgsu
