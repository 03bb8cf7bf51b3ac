#include "svmgsu/support/types.hpp"

#include <charconv>
#include <locale>
#include <sstream>

namespace svmgsu {

// Messages are often made before it is known whether they are wanted: a stream would take longer than a small fit.
std::string to_text(double value) {
#ifdef __cpp_lib_to_chars
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::general, 6).ptr};
#else
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out << value;
  return out.str();
#endif
}

}  // namespace svmgsu
