// The table of losses.
#include "losses/losses.hpp"

#include <cmath>
#include <sstream>

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
      {{"squared_hinge", Task::classification, "", kNone}, make_squared_hinge},
      {{"logistic", Task::classification, "", kNone}, make_logistic},
      {{"squared", Task::regression, "", kNone}, make_squared},
      {{"epsilon_insensitive", Task::regression, "epsilon", 0.1}, make_epsilon_insensitive},
      {{"squared_epsilon_insensitive", Task::regression, "epsilon", 0.1}, make_squared_epsilon_insensitive},
      {{"huber", Task::regression, "delta", 1.35}, make_huber},
  };
  return entries;
}

double checked(const char* name, double parameter, bool holds, const char* wanted) {
  std::ostringstream message;
  message << name << ": must be " << wanted << " and finite, got " << parameter;
  require(holds && std::isfinite(parameter), message.str());
  return parameter;
}

}  // namespace

double at_least_zero(const char* name, double parameter) { return checked(name, parameter, parameter >= 0, ">= 0"); }
double above_zero(const char* name, double parameter) { return checked(name, parameter, parameter > 0, "> 0"); }

void two_sided_gradient(const Loss& half, double epsilon, int count, const double* d, const double* s, double* L,
                        double* L1, double* L2) {
  double at[kMaxBatch] = {}, loss[kMaxBatch], slope[kMaxBatch], second[kMaxBatch];
  for (int i = 0; i < count; ++i) at[i] = d[i] - epsilon;
  half.gradient(count, at, s, L, L1, L2);
  for (int i = 0; i < count; ++i) at[i] = -d[i] - epsilon;
  half.gradient(count, at, s, loss, slope, second);
  for (int i = 0; i < count; ++i) {
    L[i] += loss[i];
    L1[i] -= slope[i];
    L2[i] += second[i];
  }
}

std::vector<LossInfo> known_losses() {
  std::vector<LossInfo> out;
  for (const Entry& entry : table()) out.push_back(entry.info);
  return out;
}

std::shared_ptr<const Loss> make_loss(const std::string& name, double parameter) {
  std::string names;
  for (const Entry& entry : table()) {
    if (entry.info.name == name) {
      require(!entry.info.parameter.empty() || std::isnan(parameter), "loss: '" + name + "' has no parameter");
      const double value = std::isnan(parameter) ? entry.info.standard : parameter;
      const std::shared_ptr<const Loss> made = entry.make(value);
      std::const_pointer_cast<Loss>(made)->parameter_ = value;
      return made;
    }
    names += (names.empty() ? "" : ", ") + entry.info.name;
  }
  throw InvalidArgument("loss: '" + name + "' is not known; it must be one of " + names);
}

void require_task(const Loss& loss, Task task) {
  for (const LossInfo& info : known_losses())
    if (info.name == loss.name() && info.task != task)
      require(false,
              "loss: " + info.name + " is for " +
                  (info.task == Task::regression ? "values, but there are labels" : "labels, but there are values"));
}

}  // namespace svmgsu
