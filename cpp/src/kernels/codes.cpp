// Numbers that are stored by codes of one or two bytes.
#include <cstring>

#include "kernels/elementary.hpp"
#include "svmgsu/kernels/kernels.hpp"

namespace svmgsu::kernels {
namespace {

constexpr float kRound = 12582912.0f;  // 1.5·2²³: adding it rounds to an integer

// 2^t for −126 ≤ t < 128, to some 2e-7 of it: codes tell a number to a hundredth.
SVMGSU_INLINE float two_to(float t) {
  const float shifted = t + kRound;
  const float f = t - (shifted - kRound);
  const float p =
      1.0f + f * (0.693147182f + f * (0.240226462f + f * (0.0555032839f + f * (0.00961843f + f * 0.00133976f))));
  std::uint32_t bits, of_shifted;
  std::memcpy(&bits, &p, sizeof bits);
  std::memcpy(&of_shifted, &shifted, sizeof of_shifted);
  bits += of_shifted << 23;
  float out;
  std::memcpy(&out, &bits, sizeof out);
  return out;
}

template <class Scalar>
SVMGSU_INLINE void levels_row(const std::int16_t* SVMGSU_RESTRICT code, Index columns, const Scalar* SVMGSU_RESTRICT a,
                              const Scalar* SVMGSU_RESTRICT b, Scalar* SVMGSU_RESTRICT out) {
  for (Index j = 0; j < columns; ++j) out[j] = a[j] + b[j] * static_cast<Scalar>(code[j]);
}

SVMGSU_CLONES void levels_of(const std::int16_t* code, Index columns, const float* a, const float* b, float* out) {
  levels_row(code, columns, a, b, out);
}
SVMGSU_CLONES void levels_of(const std::int16_t* code, Index columns, const double* a, const double* b, double* out) {
  levels_row(code, columns, a, b, out);
}

SVMGSU_CLONES void logarithms_of(const std::uint8_t* SVMGSU_RESTRICT code, Index columns,
                                 const float* SVMGSU_RESTRICT a, const float* SVMGSU_RESTRICT b,
                                 float* SVMGSU_RESTRICT out) {
  for (Index j = 0; j < columns; ++j) {
    const float t = a[j] + b[j] * static_cast<float>(code[j]);
    const float v = two_to(t < -126.0f ? -126.0f : t > 127.99f ? 127.99f : t);
    out[j] = code[j] != 0 ? v : 0.0f;
  }
}
SVMGSU_CLONES void logarithms_of(const std::uint8_t* SVMGSU_RESTRICT code, Index columns,
                                 const double* SVMGSU_RESTRICT a, const double* SVMGSU_RESTRICT b,
                                 double* SVMGSU_RESTRICT out) {
  for (Index j = 0; j < columns; ++j) {
    const double t = a[j] + b[j] * static_cast<double>(code[j]);
    const double v = exponential(t < kLeastExponent ? kLeastExponent : t > 709.0 ? 709.0 : t);
    out[j] = code[j] != 0 ? v : 0.0;
  }
}

}  // namespace

void decode_levels(const std::int16_t* code, Index columns, const float* a, const float* b, float* out) {
  levels_of(code, columns, a, b, out);
}
void decode_levels(const std::int16_t* code, Index columns, const double* a, const double* b, double* out) {
  levels_of(code, columns, a, b, out);
}
void decode_logarithms(const std::uint8_t* code, Index columns, const float* a, const float* b, float* out) {
  logarithms_of(code, columns, a, b, out);
}
void decode_logarithms(const std::uint8_t* code, Index columns, const double* a, const double* b, double* out) {
  logarithms_of(code, columns, a, b, out);
}

}  // namespace svmgsu::kernels
