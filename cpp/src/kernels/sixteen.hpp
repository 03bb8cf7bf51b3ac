// Arithmetic for kernels that are templates over their number: a double, a vector of four, or four such vectors side
// by side, where the others go on while one waits for its last result.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/dispatch.hpp"
#include "kernels/four.hpp"

namespace svmgsu::kernels {

SVMGSU_INLINE void read(const double* p, double& out) { out = *p; }
SVMGSU_INLINE void write(double x, double* p) { *p = x; }
SVMGSU_INLINE double if_less(double a, double b, double yes, double no) { return a < b ? yes : no; }
SVMGSU_INLINE std::uint64_t bits_of(double x) {
  std::uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
SVMGSU_INLINE double of_bits(std::uint64_t bits) {
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

#if defined(__GNUC__)

typedef std::uint64_t FourBits __attribute__((vector_size(32)));

SVMGSU_INLINE Four if_less(const Four& a, const Four& b, const Four& yes, const Four& no) { return a < b ? yes : no; }
SVMGSU_INLINE FourBits bits_of(const Four& x) { return reinterpret_cast<FourBits>(x); }
SVMGSU_INLINE Four of_bits(const FourBits& x) { return reinterpret_cast<Four>(x); }

template <class Vector>
struct Sixteen {
  Vector a, b, c, d;
};

#define SVMGSU_SIXTEEN(op)                                                                        \
  template <class Vector>                                                                         \
  SVMGSU_INLINE Sixteen<Vector> operator op(const Sixteen<Vector>& x, const Sixteen<Vector>& y) { \
    return {x.a op y.a, x.b op y.b, x.c op y.c, x.d op y.d};                                      \
  }                                                                                               \
  template <class Vector, class Scalar>                                                           \
  SVMGSU_INLINE Sixteen<Vector> operator op(const Sixteen<Vector>& x, Scalar y) {                 \
    return {x.a op y, x.b op y, x.c op y, x.d op y};                                              \
  }                                                                                               \
  template <class Vector, class Scalar>                                                           \
  SVMGSU_INLINE Sixteen<Vector> operator op(Scalar x, const Sixteen<Vector>& y) {                 \
    return {x op y.a, x op y.b, x op y.c, x op y.d};                                              \
  }
SVMGSU_SIXTEEN(+)
SVMGSU_SIXTEEN(-)
SVMGSU_SIXTEEN(*)
SVMGSU_SIXTEEN(/)
SVMGSU_SIXTEEN(&)
SVMGSU_SIXTEEN(<<)
SVMGSU_SIXTEEN(>>)
#undef SVMGSU_SIXTEEN

typedef Sixteen<Four> SixteenDoubles;

SVMGSU_INLINE SixteenDoubles if_less(const SixteenDoubles& x, const SixteenDoubles& y, const SixteenDoubles& yes,
                                     const SixteenDoubles& no) {
  return {if_less(x.a, y.a, yes.a, no.a), if_less(x.b, y.b, yes.b, no.b), if_less(x.c, y.c, yes.c, no.c),
          if_less(x.d, y.d, yes.d, no.d)};
}
SVMGSU_INLINE Sixteen<FourBits> bits_of(const SixteenDoubles& x) {
  return {bits_of(x.a), bits_of(x.b), bits_of(x.c), bits_of(x.d)};
}
SVMGSU_INLINE SixteenDoubles of_bits(const Sixteen<FourBits>& x) {
  return {of_bits(x.a), of_bits(x.b), of_bits(x.c), of_bits(x.d)};
}
SVMGSU_INLINE void read(const double* p, SixteenDoubles& out) {
  read(p, out.a);
  read(p + 4, out.b);
  read(p + 8, out.c);
  read(p + 12, out.d);
}
SVMGSU_INLINE void write(const SixteenDoubles& x, double* p) {
  write(x.a, p);
  write(x.b, p + 4);
  write(x.c, p + 8);
  write(x.d, p + 12);
}

#endif

}  // namespace svmgsu::kernels
