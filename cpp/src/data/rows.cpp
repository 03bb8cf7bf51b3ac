// Reading rows: dense ones by the kernels, sparse ones entry by entry.
#include "svmgsu/data/rows.hpp"

#include <algorithm>

#include "data/row_pair.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/kernels.hpp"

namespace svmgsu {
namespace {

constexpr Index kAhead = 160;  // entries

// use(array) of the precision that there is.
template <class Use>
void with_array(const Rows& rows, Use use) {
  if (rows.wide())
    use(rows.wide());
  else
    use(rows.narrow());
}

template <class Scalar>
void dense_dots(const Scalar* data, Batch batch, Index length, const double* w, double* out) {
  const Scalar* at[kMaxBatch];
  for (int i = 0; i < batch.count; ++i) at[i] = data + batch.id[i] * length;
  kernels::row_dots(at, batch.count, length, w, out);
}

// Four partial sums: the additions of one need not wait for those of another. The entries a few rows on are fetched
// meanwhile: reading w all over the place leaves the hardware's own prefetching behind.
template <class Scalar>
void sparse_dots(const Scalar* value, const Rows& rows, Batch batch, const double* w, double* out) {
  const std::int32_t* const column = rows.column();
  for (int i = 0; i < batch.count; ++i) {
    const Index last = rows.start()[batch.id[i] + 1];
    Index k = rows.start()[batch.id[i]];
    const auto product = [&](Index at) { return static_cast<double>(value[at]) * w[column[at]]; };
    double a = 0, b = 0, c = 0, d = 0;
    for (; k + 4 <= last; k += 4) {
      SVMGSU_PREFETCH(value + k + kAhead);
      SVMGSU_PREFETCH(column + k + 2 * kAhead);
      a += product(k);
      b += product(k + 1);
      c += product(k + 2);
      d += product(k + 3);
    }
    for (; k < last; ++k) a += product(k);
    out[i] = (a + b) + (c + d);
  }
}

template <class Scalar>
void sparse_sums(const Scalar* value, const Rows& rows, Batch batch, const double* coefficient,
                 double* SVMGSU_RESTRICT sum) {
  for (int i = 0; i < batch.count; ++i) {
    const double factor = coefficient[i];
    if (factor == 0) continue;
    const Index first = rows.start()[batch.id[i]], count = rows.start()[batch.id[i] + 1] - first;
    const Scalar* v = value + first;
    const std::int32_t* j = rows.column() + first;
    for (Index k = 0; k < count; ++k) sum[j[k]] += factor * static_cast<double>(v[k]);
  }
}

template <class Scalar>
void sparse_squares(const Scalar* value, const Rows& rows, Batch batch, const double* coefficient,
                    double* SVMGSU_RESTRICT sum) {
  for (int i = 0; i < batch.count; ++i)
    for (Index k = rows.start()[batch.id[i]]; k < rows.start()[batch.id[i] + 1]; ++k)
      sum[rows.column()[k]] += coefficient[i] * (static_cast<double>(value[k]) * static_cast<double>(value[k]));
}

// A batch of rows as seen from an origin.
struct Shifted {
  const double* at[kMaxBatch];
  template <class Scalar>
  Shifted(const Scalar* data, const Vector& origin, Batch batch) {
    thread_local std::vector<double> buffer;
    const Index n = origin.size();
    buffer.resize(static_cast<std::size_t>(batch.count * n));
    for (int i = 0; i < batch.count; ++i) {
      double* out = buffer.data() + i * n;
      const Scalar* row = data + batch.id[i] * n;
      for (Index j = 0; j < n; ++j) out[j] = static_cast<double>(row[j]) - origin.data()[j];
      at[i] = out;
    }
  }
};

}  // namespace

void Rows::require_array(const char* name) const {
  const std::string what(name);
  require(count_ >= 0 && columns_ >= 0, what + ": sizes must be >= 0");
  require(!sparse_ || start_, what + ": start is a null pointer");
  const bool some = sparse_ ? start_[count_] != 0 : count_ * columns_ != 0;
  require(!some || ((wide_ || narrow_) && (!sparse_ || column_)), what + ": null pointer");
}

Rows Rows::seen_from(const Vector& origin) const {
  require(!sparse_ && origin.size() == columns_, "origin: one number for each column of dense rows is wanted");
  Rows seen = *this;
  seen.origin_ = std::make_shared<const Vector>(origin);
  return seen;
}

double Rows::numbers_per_row() const {
  if (!sparse_) return static_cast<double>(columns_);
  return count_ ? 1.5 * static_cast<double>(start_[count_]) / static_cast<double>(count_) : 0.0;
}

bool Rows::alike(const Rows& other) const {
  if (origin_ || other.origin_) return false;
  if (!(wide_ && other.wide_) && !(narrow_ && other.narrow_)) return false;
  if (!sparse_ || !other.sparse_) return !sparse_ && !other.sparse_;
  return std::equal(start_, start_ + count_ + 1, other.start_) &&
         std::equal(column_ + start_[0], column_ + start_[count_], other.column_ + start_[0]);
}

void Rows::dots(Batch batch, const double* w, double* out) const {
  with_array(*this, [&](const auto* data) {
    if (sparse_)
      sparse_dots(data, *this, batch, w, out);
    else if (origin_)
      kernels::row_dots(Shifted(data, *origin_, batch).at, batch.count, columns_, w, out);
    else
      dense_dots(data, batch, columns_, w, out);
  });
}

void Rows::add(Batch batch, const double* coefficient, double* sum) const {
  with_array(*this, [&](const auto* data) {
    if (sparse_)
      sparse_sums(data, *this, batch, coefficient, sum);
    else if (origin_)
      kernels::add_rows(Shifted(data, *origin_, batch).at, batch.count, columns_, coefficient, sum);
    else
      kernels::add_rows(data, batch, columns_, coefficient, sum);
  });
}

void Rows::add_squares(Batch batch, const double* coefficient, double* sum) const {
  with_array(*this, [&](const auto* data) {
    if (sparse_) return sparse_squares(data, *this, batch, coefficient, sum);
    if (!origin_) return kernels::add_squares(data, batch, columns_, coefficient, sum);
    const Shifted rows(data, *origin_, batch);
    for (int i = 0; i < batch.count; ++i)
      for (Index j = 0; j < columns_; ++j) sum[j] += coefficient[i] * (rows.at[i][j] * rows.at[i][j]);
  });
}

void Rows::add_product(Index row, double factor, const double* w, double* sum) const {
  with_array(*this, [&](const auto* data) {
    if (sparse_) {
      for (Index k = start_[row]; k < start_[row + 1]; ++k)
        sum[column_[k]] += factor * static_cast<double>(data[k]) * w[column_[k]];
      return;
    }
    const auto* const at = data + row * columns_;
    for (Index j = 0; j < columns_; ++j) sum[j] += factor * static_cast<double>(at[j]) * w[j];
  });
}

namespace {

// Weights of both arrays, side by side in memory.
struct SideBySide {
  const double* weights;
  double of_a(std::int32_t j) const { return weights[2 * Index{j}]; }
  double of_b(std::int32_t j, double) const { return weights[2 * Index{j} + 1]; }
};

// The weights of the second array are the squares of the first's: half as much to read.
struct Squares {
  const double* weights;
  double of_a(std::int32_t j) const { return weights[j]; }
  double of_b(std::int32_t, double of_a) const { return of_a * of_a; }
};

// Two partial sums each: the additions of one need not wait for those of the other.
template <class Scalar, class Weights>
void paired_sparse_dots(const Scalar* a, const Scalar* b, const Rows& at, Batch batch, Weights weights, double* out_a,
                        double* out_b) {
  const std::int32_t* const column = at.column();
  for (int i = 0; i < batch.count; ++i) {
    const Index last = at.start()[batch.id[i] + 1];
    double a_even = 0, a_odd = 0, b_even = 0, b_odd = 0;
    const auto add = [&](Index k, double& sum_a, double& sum_b) {
      const double w = weights.of_a(column[k]);
      sum_a += static_cast<double>(a[k]) * w;
      sum_b += static_cast<double>(b[k]) * weights.of_b(column[k], w);
    };
    Index k = at.start()[batch.id[i]];
    for (; k + 2 <= last; k += 2) {
      add(k, a_even, b_even);
      add(k + 1, a_odd, b_odd);
    }
    if (k < last) add(k, a_even, b_even);
    out_a[i] = a_even + a_odd;
    out_b[i] = b_even + b_odd;
  }
}

template <class Scalar>
void paired_sparse_sums(const Scalar* a, const Scalar* b, const Rows& at, Batch batch, const double* ca,
                        const double* cb, double* sums) {
  const std::int32_t* const column = at.column();
  for (int i = 0; i < batch.count; ++i) {
    const double factor_a = ca[i], factor_b = cb[i];
    if (factor_a == 0 && factor_b == 0) continue;
    const Index last = at.start()[batch.id[i] + 1];
    for (Index k = at.start()[batch.id[i]]; k < last; ++k) {
      double* sum = sums + 2 * Index{column[k]};
      sum[0] += factor_a * static_cast<double>(a[k]);
      sum[1] += factor_b * static_cast<double>(b[k]);
    }
  }
}

}  // namespace

RowPair::RowPair(const Rows& a, const Rows& b, const double* wa, const double* wb) : a_(a), b_(b), wa_(wa), wb_(wb) {
  if (!sparse()) return;
  squares_ = std::equal(wa, wa + a.columns(), wb, [](double x, double square) { return x * x == square; });
  if (squares_) return;
  for (Index j = 0; j < a.columns(); ++j) weights_.insert(weights_.end(), {wa[j], wb[j]});
}

template <class Scalar>
void RowPair::dots(const Scalar* a, const Scalar* b, Batch batch, double* out_a, double* out_b) const {
  if (!sparse())
    kernels::paired_dots(a, b, batch, a_.columns(), wa_, wb_, out_a, out_b);
  else if (squares_)
    paired_sparse_dots(a, b, a_, batch, Squares{wa_}, out_a, out_b);
  else
    paired_sparse_dots(a, b, a_, batch, SideBySide{weights_.data()}, out_a, out_b);
}

void RowPair::dots(Batch batch, double* out_a, double* out_b) const {
  if (a_.wide())
    dots(a_.wide(), b_.wide(), batch, out_a, out_b);
  else
    dots(a_.narrow(), b_.narrow(), batch, out_a, out_b);
}

void RowPair::add(Batch batch, const double* ca, const double* cb, double* sums) const {
  if (a_.wide())
    paired_sparse_sums(a_.wide(), b_.wide(), a_, batch, ca, cb, sums);
  else
    paired_sparse_sums(a_.narrow(), b_.narrow(), a_, batch, ca, cb, sums);
}

void add_apart(const std::vector<double>& sums, double* a, double* b) {
  for (std::size_t j = 0; j < sums.size(); j += 2) {
    a[j / 2] += sums[j];
    b[j / 2] += sums[j + 1];
  }
}

}  // namespace svmgsu
