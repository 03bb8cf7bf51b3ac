// Requests to shards of samples and their responses, as values and as bytes.
//
// A request holds all that a response needs, so that any process that has the samples can respond to it; one that has
// responded to the last request responds to the next one sooner. Each type lists its fields once, for both directions.
#pragma once

#include <cstring>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "engines/cache.hpp"

namespace svmgsu {

// How the samples are seen and cut up, and which loss they have.
struct Context {
  Vector origin, seen_from;
  double centre = 0, numbers = 0, parameter = 0;
  Index block = 1, per_group = 1;
  bool single = true;
  std::string loss;

  template <class Archive>
  void fields(Archive& archive) {
    archive(origin, seen_from, centre, numbers, parameter, block, per_group, single, loss);
  }
};

// An evaluated point.
struct Point {
  Vector w;
  double b = 0, epsilon = 0;

  template <class Archive>
  void fields(Archive& archive) {
    archive(w, b, epsilon);
  }
};

// A pass at a point. Response: the sums of each group of blocks, a histogram of κ, and for each group the
// sums of the second derivatives along w.
struct PassRequest {
  Point at;
  bool columns = false;  // whether the squares of the columns are summed as well

  template <class Archive>
  void fields(Archive& archive) {
    archive(at, columns);
  }
};

// A product of the Hessian at a point with (v, vb), or the derivative of the gradient by ε, over samples with κ from
// `cut` on in blocks of at most `block`. Response: the sums of each group that has such samples.
struct ProductRequest {
  Point at;
  double cut = 0;
  bool smoothing = false;
  Index block = 0;
  Vector v;
  double vb = 0;

  template <class Archive>
  void fields(Archive& archive) {
    archive(at, cut, smoothing, block, v, vb);
  }
};

// J and its derivatives at (t, β) of a line; of no length p is 0. Response: six sums for each group.
struct LineRequest {
  Point from, there;
  Vector p;
  double p_b = 0, epsilon = 0, t = 0, beta = 0;

  template <class Archive>
  void fields(Archive& archive) {
    archive(from, there, p, p_b, epsilon, t, beta);
  }
};

// Samples drawn with odds min(1, τκ) of those with κ from `cut` on. Response: position, weight, σ, ρ and γ of each.
struct DrawRequest {
  Point at;
  double cut = 0, tau = 0;
  std::uint64_t seed = 0;
  Index first = 0;  // where the shard begins among all samples

  template <class Archive>
  void fields(Archive& archive) {
    archive(at, cut, tau, seed, first);
  }
};

using Request = std::variant<PassRequest, ProductRequest, LineRequest, DrawRequest>;

// What shards respond with, and their sum: lists one after another, the histogram added up.
struct Response {
  Histogram kappa;
  std::vector<double> numbers;
  std::vector<PassSums> groups;

  template <class Archive>
  void fields(Archive& archive) {
    archive(kappa, numbers, groups);
  }
};

// Bytes of numbers and lists of numbers, one after another, in this machine's byte order.
class MessageWriter {
 public:
  static constexpr bool kReads = false;
  template <class... T>
  void operator()(T&... values) {
    (put(values), ...);
  }
  std::string bytes;

 private:
  void put_raw(const void* from, std::size_t size) { bytes.append(static_cast<const char*>(from), size); }
  void put_size(std::uint64_t size) { put(size); }
  template <class List>
  void put_list(const List& values) {
    put_size(static_cast<std::uint64_t>(values.size()));
    put_raw(values.data(), static_cast<std::size_t>(values.size()) * sizeof(*values.data()));
  }
  void put(Vector& values) { put_list(values); }
  void put(std::string& text) { put_list(text); }
  void put(std::vector<double>& values) { put_list(values); }
  template <class T>
  void put(std::vector<T>& values) {
    put_size(values.size());
    for (T& value : values) put(value);
  }
  template <class T>
  void put(T& value) {
    if constexpr (std::is_arithmetic_v<T>)
      put_raw(&value, sizeof value);
    else
      value.fields(*this);
  }
};

// Reads what a MessageWriter wrote, and refuses bytes that end too early or go on for too long.
class MessageReader {
 public:
  static constexpr bool kReads = true;
  explicit MessageReader(const std::string& bytes) : bytes_(bytes) {}
  template <class... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  void require_end() const { require(at_ == bytes_.size(), "message: it is longer than it should be"); }

 private:
  const char* take(std::size_t size) {
    require(size <= bytes_.size() - at_, "message: it is cut short");
    const char* const from = bytes_.data() + at_;
    at_ += size;
    return from;
  }
  std::size_t get_size(std::size_t item) {
    std::uint64_t size = 0;
    get(size);
    require(size <= (bytes_.size() - at_) / item, "message: it is cut short");
    return static_cast<std::size_t>(size);
  }
  void get(std::string& text) {
    const std::size_t size = get_size(1);
    text.assign(take(size), size);
  }
  void get(std::vector<double>& values) {
    values.resize(get_size(sizeof(double)));
    const char* const from = take(values.size() * sizeof(double));
    if (!values.empty()) std::memcpy(values.data(), from, values.size() * sizeof(double));
  }
  void get(Vector& values) {
    std::vector<double> list;
    get(list);
    values.resize(static_cast<Index>(list.size()));
    std::copy(list.begin(), list.end(), values.data());
  }
  template <class T>
  void get(std::vector<T>& values) {
    const std::size_t size = get_size(sizeof(double));  // none of them has fewer bytes
    values.clear();
    for (std::size_t k = 0; k < size; ++k) {
      values.emplace_back();
      get(values.back());
    }
  }
  template <class T>
  void get(T& value) {
    if constexpr (std::is_same_v<T, bool>)
      value = *take(1) != 0;
    else if constexpr (std::is_arithmetic_v<T>)
      std::memcpy(&value, take(sizeof value), sizeof value);
    else
      value.fields(*this);
  }

  const std::string& bytes_;
  std::size_t at_ = 0;
};

}  // namespace svmgsu
