#include "svmgsu/support/types.hpp"

#include <locale>
#include <sstream>

namespace svmgsu {

std::string to_text(double value) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out << value;
  return out.str();
}

}  // namespace svmgsu
