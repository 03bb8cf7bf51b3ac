#include "text/number.hpp"

#include <algorithm>
#include <charconv>
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

// Where the decimal point of an unsigned number would go relative to its first digit that is not zero, by sign only:
// true if the number, known to be out of range, is too small rather than too large.
bool is_tiny(const char* p, const char* end) {
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
    if (!is_tiny(digits, end)) return Parsed::too_large;
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
