// Wall-clock seconds since a solver began.
#pragma once

#include <chrono>

namespace svmgsu {

class Clock {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace svmgsu
