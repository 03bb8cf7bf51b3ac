// Whether a call is refused with a message that names an argument.
#pragma once

#include <doctest/doctest.h>

#include "helpers.hpp"

namespace svmgsu::test {

inline std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
}

inline bool names(const std::string& argument, const std::function<void()>& action) {
  const std::string message = message_of(action);
  const bool found = message.rfind(argument + ":", 0) == 0;
  if (!found) MESSAGE("wanted a refusal of " << argument << ", got: " << message);
  return found;
}

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

}  // namespace svmgsu::test
