// The hot leaf loops. Each is compiled for several instruction sets and chosen when the program
// starts; all of them add in the same order and never fuse, so that every choice gives the same bits.
#pragma once

#include "svmgsu/support/types.hpp"

namespace svmgsu::kernels {

// out[i] = Σ_j rows[i][j] w[j], summed in double. A row's result does not depend on its neighbours.
void row_dots(const double* const* rows, int count, Index length, const double* w, double* out);
void row_dots(const float* const* rows, int count, Index length, const double* w, double* out);

// The same for the rows of a batch in two arrays at once, out_a[i] = a_i·wa and out_b[i] = b_i·wb, which keeps memory
// busier. The beginnings of the rows that come next are fetched.
void paired_dots(const double* a, const double* b, Batch batch, Index length, const double* wa, const double* wb,
                 double* out_a, double* out_b);
void paired_dots(const float* a, const float* b, Batch batch, Index length, const double* wa, const double* wb,
                 double* out_a, double* out_b);

// sum[j] += Σ_i coefficient[i] rows[i][j]. Rows whose coefficient is zero are not read.
void add_rows(const double* const* rows, int count, Index length, const double* coefficient, double* sum);
void add_rows(const float* const* rows, int count, Index length, const double* coefficient, double* sum);
// The same for the rows of a batch.
void add_rows(const double* data, Batch batch, Index length, const double* coefficient, double* sum);
void add_rows(const float* data, Batch batch, Index length, const double* coefficient, double* sum);
// sum += Σ coefficient[i] row_i∘row_i
void add_squares(const double* data, Batch batch, Index length, const double* coefficient, double* sum);
void add_squares(const float* data, Batch batch, Index length, const double* coefficient, double* sum);

// out += factor · S v for one symmetric matrix S, packed as its upper triangle, row after row.
void packed_times(const double* packed, Index n, double factor, const double* v, double* out);
void packed_times(const float* packed, Index n, double factor, const double* v, double* out);

// c += aᵀa for `rows` rows of length n (both row-major; c is n × n of leading dimension `stride`).
void add_gram(const double* a, Index rows, Index n, double sign, double* c, Index stride, int threads);

// Whether Cholesky's method finds a root of S + shift·diag(S) for a symmetric matrix S, packed as its upper triangle:
// if so, that is positive definite but for rounding. False says nothing. `work` holds room_for_root(n) numbers.
template <class Scalar>
bool has_root(const Scalar* packed, Index n, double shift, double* work);
Index room_for_root(Index n);

// The expected hinge of many samples at once; see loss.hpp for what each array means.
void expected_hinge(int count, const double* d, const double* s, double* loss, double* cdf, double* kappa);

// The same at −|d|, the lower tail, and `square`, the mean of max(0, D)² there, all to full relative accuracy.
void hinge_tails(int count, const double* d, const double* s, double* square, double* hinge, double* cdf,
                 double* kappa);

// log(1 + e^X) expected under X ~ N(x, s²), its derivatives in x up to the second, and those from the second to the
// fourth. The slope is the mean of the logistic function: the probability of a logistic model whose score is X.
// Value, slope and second derivative are within 5e-14, besides rounding, and a gap within kLogisticGapError times s
// (docs/theory.md).
constexpr double kLogisticGapError = 9e-13;
void expected_logistic(int count, const double* x, const double* s, double* value, double* slope, double* second);
void logistic_curvature(int count, const double* x, const double* s, double* second, double* third, double* fourth);

// even[i] = e^(−h)(cosh g − 1) and odd[i] = e^(−h) sinh g for |g| ≤ h, of any size.
void decays(int count, const double* g, const double* h, double* even, double* odd);

// One Gaussian N(x, Σ) with further inputs that are known.
struct WaveInput {
  Index features, known;
  const double* x;        // `features` numbers
  const double* further;  // `known` numbers
  const double* cov;      // the diagonal of Σ, or Σ row after row, of which the lower triangle is read; null: Σ = 0
  bool diagonal;
};

// cosine[r] += scale E cos(w_r·X) and sine[r] += scale E sin(w_r·X). Frequencies come in groups of kWaveGroup: for each
// group and each input as many numbers.
constexpr Index kWaveGroup = 16;
void add_waves(const double* w, Index groups, const WaveInput& g, double scale, double* cosine, double* sine);

// Name of the instruction set that the loops above run on here, such as "x86-64-v3 (AVX2)".
const char* instruction_set();

}  // namespace svmgsu::kernels
