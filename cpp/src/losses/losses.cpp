// The table of losses.
#include "losses/losses.hpp"

#include <cmath>

namespace svmgsu {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

struct Entry {
  LossInfo info;
  std::shared_ptr<const Loss> (*make)(double parameter);
};

const std::vector<Entry>& table() {
  static const std::vector<Entry> entries = {
      {{"hinge", Task::classification, "", kNone}, make_hinge},
  };
  return entries;
}

}  // namespace

std::vector<LossInfo> known_losses() {
  std::vector<LossInfo> out;
  for (const Entry& entry : table()) out.push_back(entry.info);
  return out;
}

std::shared_ptr<const Loss> make_loss(const std::string& name, double parameter) {
  std::string names;
  for (const Entry& entry : table()) {
    if (entry.info.name == name) return entry.make(std::isnan(parameter) ? entry.info.standard : parameter);
    names += (names.empty() ? "" : ", ") + entry.info.name;
  }
  throw InvalidArgument("loss: '" + name + "' is not known; it must be one of " + names);
}

}  // namespace svmgsu
