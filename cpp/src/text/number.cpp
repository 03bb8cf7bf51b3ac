#include "text/number.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

// libc++ before 20 and libstdc++ before 11 have from_chars and to_chars for integers alone.
#if defined(__cpp_lib_to_chars) && !defined(SVMGSU_NO_FROM_CHARS)
#define SVMGSU_FROM_CHARS
#else
#include <cerrno>
#include <cmath>
#include <locale>
#include <sstream>
#if defined(__APPLE__)
#include <xlocale.h>
#else
#include <clocale>
#include <cstdlib>
#endif
#endif

namespace svmgsu::text {
namespace {

// Whether an unsigned number, known to be out of range, is too small rather than too large.
bool is_tiny(std::string_view number) {
  const std::size_t e = std::min(number.find_first_of("eE"), number.size());
  const std::size_t point = std::min(number.find('.'), e), first = number.find_first_of("123456789");
  const std::string_view tail = number.substr(std::min(e + 1, number.size()));
  const bool negative = tail.substr(0, 1) == "-";
  long long exponent = 0;
  for (const char c : tail)
    if (is_digit(c)) exponent = std::min(exponent * 10 + (c - '0'), 1LL << 40);
  // Digits before the point, or minus the zeros behind it.
  const auto position = static_cast<long long>(point) - static_cast<long long>(first) + (first > point ? 1 : 0);
  return position + (negative ? -exponent : exponent) < 0;
}

}  // namespace

Parsed parse_slowly(const char* p, const char* end, double& value) {
  const bool negative = *p == '-';
  const char* digits = p + (negative || *p == '+' ? 1 : 0);
  if (digits == end || *digits == '-' || *digits == '+') return Parsed::not_a_number;
#ifdef SVMGSU_FROM_CHARS
  const auto [stop, code] = std::from_chars(digits, end, value);
  const bool out_of_range = code == std::errc::result_out_of_range;
  if (stop != end || (code != std::errc() && !out_of_range)) return Parsed::not_a_number;
#else
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
  const std::string text(digits, end);
  if (text.find_first_of("xX ") != std::string::npos) return Parsed::not_a_number;
  char* stop = nullptr;
  errno = 0;
  value = strtod_l(text.c_str(), &stop, plain);
  const bool out_of_range = errno == ERANGE && (value == 0 || std::isinf(value));
  if (stop != text.c_str() + text.size()) return Parsed::not_a_number;
#endif
  if (out_of_range) {
    if (!is_tiny({digits, static_cast<std::size_t>(end - digits)})) return Parsed::too_large;
    value = 0;
  }
  if (!(value - value == 0)) return Parsed::not_finite;
  if (negative) value = -value;
  return Parsed::good;
}

void append_number(std::string& out, double value) {
#ifdef SVMGSU_FROM_CHARS
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
