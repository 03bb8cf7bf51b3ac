// Numbers from and to text, exact both ways and blind to the locale.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>

#if !defined(__cpp_lib_to_chars)  // libc++ before 20, libstdc++ before 11: from_chars knows no double
#include <locale>
#include <sstream>
#endif

namespace svmgsu::text {

enum class Parsed { good, not_a_number, not_finite, too_large };

// Where the decimal point of an unsigned number would go relative to its first digit that is not zero, by sign only:
// true if the number, known to be out of range, is too small rather than too large.
inline bool is_tiny(const char* p, const char* end) {
  long long position = 0;
  bool point = false, significant = false;
  for (; p < end && (*p == '.' || (*p >= '0' && *p <= '9')); ++p) {
    if (*p == '.') {
      point = true;
    } else {
      significant |= *p != '0';
      if (significant && !point) ++position;
      if (!significant && point) --position;
    }
  }
  long long exponent = 0;
  if (p < end && (*p == 'e' || *p == 'E')) {
    const bool negative = ++p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) ++p;
    for (; p < end && *p >= '0' && *p <= '9'; ++p) exponent = std::min(exponent * 10 + (*p - '0'), 1LL << 40);
    if (negative) exponent = -exponent;
  }
  return position + exponent < 0;
}

// Reads a whole token [p, end) by the library; a number below the smallest double becomes 0.
inline Parsed parse_slowly(const char* p, const char* end, double& value) {
  const bool negative = *p == '-';
  const char* digits = p + (negative || *p == '+' ? 1 : 0);
  if (digits == end || *digits == '-' || *digits == '+') return Parsed::not_a_number;
#if defined(__cpp_lib_to_chars)
  const auto [stop, code] = std::from_chars(digits, end, value);
  const bool out_of_range = code == std::errc::result_out_of_range;
  if (stop != end || (code != std::errc() && !out_of_range)) return Parsed::not_a_number;
#else
  const bool word = *digits > '9';  // nan, inf
  std::istringstream in(std::string(digits, end));
  in.imbue(std::locale::classic());
  if (word) {
    const std::string text = in.str();
    return text == "nan" || text == "inf" || text == "infinity" ? Parsed::not_finite : Parsed::not_a_number;
  }
  in >> value;
  const bool out_of_range = in.fail() && value != 0;
  if ((in.fail() && !out_of_range) || in.peek() != std::istringstream::traits_type::eof()) return Parsed::not_a_number;
#endif
  if (out_of_range) {
    if (!is_tiny(digits, end)) return Parsed::too_large;
    value = 0;
  }
  if (!(value - value == 0)) return Parsed::not_finite;
  if (negative) value = -value;
  return Parsed::good;
}

constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }
inline bool ends_token(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Reads the number at p and leaves p at the end of the token. The text must go on to a '\n'.
//
// Up to 19 digits that make an integer below 2^53, times or divided by a power of ten that is a double itself: one
// rounding, so exact (Clinger). The rest is for the library.
inline Parsed parse_number(const char*& p, double& value) {
  const char* const token = p;
  const bool negative = *p == '-';
  if (negative) ++p;
  std::uint64_t mantissa = 0;
  const char* const first = p;
  while (is_digit(*p)) mantissa = 10 * mantissa + static_cast<std::uint64_t>(*p++ - '0');
  auto digits = p - first;
  int exponent = 0;
  if (*p == '.') {
    const char* const fraction = ++p;
    while (is_digit(*p)) mantissa = 10 * mantissa + static_cast<std::uint64_t>(*p++ - '0');
    digits += p - fraction;
    exponent = -static_cast<int>(p - fraction);
  }
  if (ends_token(*p) && digits > 0 && digits <= 19 && mantissa < (std::uint64_t{1} << 53) && exponent >= -22) {
    const double magnitude = static_cast<double>(mantissa) / kPowersOfTen[-exponent];
    value = negative ? -magnitude : magnitude;
    return Parsed::good;
  }
  while (!ends_token(*p)) ++p;
  return parse_slowly(token, p, value);
}

inline void append_number(std::string& out, double value) {
#if defined(__cpp_lib_to_chars)
  char digits[32];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
#else
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text.precision(17);
  text << value;
  out += text.str();
#endif
}

}  // namespace svmgsu::text
