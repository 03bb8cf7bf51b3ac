// Numbers from and to text, exact both ways and blind to the locale.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace svmgsu::text {

enum class Parsed { good, not_a_number, not_finite, too_large };

// Reads a whole token [p, end) by the library; a number below the smallest double becomes 0.
Parsed parse_slowly(const char* p, const char* end, double& value);

constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }
inline bool ends_token(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

constexpr std::array<std::uint64_t, 20> kWholePowersOfTen = [] {
  std::array<std::uint64_t, 20> out{1};
  for (std::size_t k = 1; k < out.size(); ++k) out[k] = 10 * out[k - 1];
  return out;
}();

#ifdef __SIZEOF_INT128__
// The double nearest to w/d, for w > 0 and d > 0: 63 or 64 bits of the quotient, the lowest of which also says that
// there is a remainder, are rounded once.
inline double divide(std::uint64_t w, std::uint64_t d) {
  __extension__ using Wide = unsigned __int128;
  const int up = __builtin_clzll(w), down = __builtin_clzll(d);
  const Wide dividend = static_cast<Wide>(w << up) << 63;
  const std::uint64_t divisor = d << down;
  const auto quotient = static_cast<std::uint64_t>(dividend / divisor);
  const bool inexact = static_cast<std::uint64_t>(dividend) != quotient * divisor;
  const std::uint64_t exponent = static_cast<std::uint64_t>(1023 - 63 + down - up) << 52;
  double power;
  std::memcpy(&power, &exponent, sizeof power);
  return static_cast<double>(quotient | inexact) * power;
}
#endif

// Appends the digits at p to `mantissa`, modulo 2^64. Where eight bytes can be read, they are taken at once: numbers
// of changing length then cost no mispredicted branches.
[[gnu::always_inline]] inline void parse_digits(const char*& p, const char* end, std::uint64_t& mantissa) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  while (end - p >= 8) {
    std::uint64_t bytes;
    std::memcpy(&bytes, p, 8);
    bytes ^= 0x3030303030303030;  // digits become 0 to 9
    const std::uint64_t others = (bytes | (bytes + 0x7676767676767676)) & 0x8080808080808080;
    const int count = others == 0 ? 8 : __builtin_ctzll(others) / 8;
    if (count == 0) return;
    bytes <<= 64 - 8 * count;  // as if zeros stood before
    bytes = bytes * 10 + (bytes >> 8);
    bytes = (((bytes & 0x000000FF000000FF) * 0x000F424000000064) +
             (((bytes >> 16) & 0x000000FF000000FF) * 0x0000271000000001)) >>
            32;
    mantissa = mantissa * kWholePowersOfTen[static_cast<std::size_t>(count)] + bytes;
    p += count;
    if (count < 8) return;
  }
#endif
  while (is_digit(*p)) mantissa = 10 * mantissa + static_cast<std::uint64_t>(*p++ - '0');
}

// Skips "e-07" at p and returns its value; p stays where it is if that is no exponent of at most three digits.
inline std::ptrdiff_t parse_exponent(const char*& p) {
  const bool negative = p[1] == '-';
  const char* q = p + 1 + (negative || p[1] == '+');
  std::ptrdiff_t exponent = 0;
  const char* const first = q;
  while (is_digit(*q) && q - first < 3) exponent = 10 * exponent + (*q++ - '0');
  if (q == first || !ends_token(*q)) return 0;
  p = q;
  return negative ? -exponent : exponent;
}

// Reads the number at p and leaves p at the end of the token, which some byte before `end` must end.
//
// Up to 19 digits are an integer divided by (or times) a power of ten. If the integer is below 2^53 and the power at
// most 10^22, both are doubles, and their quotient or product is rounded once (Clinger); else integers are divided. The
// rest is for the library.
[[gnu::always_inline]] inline Parsed parse_number(const char*& p, const char* end, double& value) {
  const char* const token = p;
  const bool negative = *p == '-';
  p += negative;
  std::uint64_t mantissa = 0;
  const char* const first = p;
  if (is_digit(p[0]) && !is_digit(p[1])) {
    mantissa = static_cast<std::uint64_t>(*p++ - '0');
  } else {
    parse_digits(p, end, mantissa);
  }
  auto digits = p - first;
  std::ptrdiff_t places = 0;
  if (*p == '.') {
    const char* const fraction = ++p;
    parse_digits(p, end, mantissa);
    places = p - fraction;
    digits += places;
  }
  constexpr double kSigns[] = {1.0, -1.0};  // a branch would be mispredicted every other time
  constexpr std::uint64_t kExact = std::uint64_t{1} << 53;
  if (ends_token(*p) && digits > 0 && digits <= 19) {
    if (mantissa < kExact) {
      value = kSigns[negative] * static_cast<double>(mantissa) / kPowersOfTen[places];
      return Parsed::good;
    }
#ifdef __SIZEOF_INT128__
    value = kSigns[negative] * divide(mantissa, kWholePowersOfTen[static_cast<std::size_t>(places)]);
    return Parsed::good;
#endif
  }
  if ((*p == 'e' || *p == 'E') && digits > 0 && digits <= 19 && mantissa < kExact) {
    places -= parse_exponent(p);
    if (ends_token(*p) && places >= -22 && places <= 22) {
      value = kSigns[negative] * static_cast<double>(mantissa);
      value = places < 0 ? value * kPowersOfTen[-places] : value / kPowersOfTen[places];
      return Parsed::good;
    }
  }
  while (!ends_token(*p)) ++p;
  return parse_slowly(token, p, value);
}

// The shortest text that reads back as `value`.
void append_number(std::string& out, double value);

}  // namespace svmgsu::text
