// Feeds the reader of model files, ours and the authors', with bytes: fuzz_model corpus/model [seconds [seed]].
// A model that is read must be usable, and come back the same from the file it is saved to.
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <string>

#include "fuzz.hpp"
#include "svmgsu/models/model.hpp"

using namespace svmgsu;

namespace {

void require_usable(const Model& model) {
  const Matrix zeros = Matrix::Zero(1, model.w.cols());
  const Gaussians data(zeros, {});
  if (model.task == Task::regression) {
    if (model.decisions(data).size() != 1 || !model.labels.empty() || !make_loss(model.loss, model.loss_parameter))
      std::abort();
    return;
  }
  const Index place = model.predict(data)[0], classes = static_cast<Index>(model.labels.size());
  if (place < 0 || place >= classes) std::abort();
  if (!model.calibration.empty() && model.probabilities(data).cols() != classes) std::abort();
}

void require_same(const Model& a, const Model& b) {
  if (a.w != b.w || a.b != b.b || a.lambda != b.lambda || a.labels != b.labels || a.label_type != b.label_type ||
      a.names != b.names || a.calibration.size() != b.calibration.size() || a.task != b.task || a.loss != b.loss)
    std::abort();
  for (const auto& number : {&Model::loss_parameter, &Model::scatter})  // NaN: there is none
    if (a.*number != b.*number && !(std::isnan(a.*number) && std::isnan(b.*number))) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::istringstream file(std::string(reinterpret_cast<const char*>(data), size));
  Model model;
  try {
    model = Model::read(file, "fuzz");
  } catch (const FileError&) {
    return 0;
  }
  require_usable(model);
  std::stringstream again;
  model.write(again);
  require_same(model, Model::read(again, "again"));
  return 0;
}
