// Applies a model file, of Python's `model.save` or of this library, to new objects with or without error bars:
//     predict MODEL < objects
// A line has the values of an object and, if they have error bars, as many standard deviations behind them. Of a
// classifier a line gets the label, the decision values and the probabilities; of a regression the value and its
// deviation. They are the bits that Python predicts.
#include <cstdio>
#include <iostream>
#include <sstream>
#include <svmgsu/svmgsu.hpp>

namespace {

std::vector<std::vector<double>> read_objects() {
  std::vector<std::vector<double>> objects;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    objects.emplace_back();
    for (double value; words >> value;) objects.back().push_back(value);
  }
  return objects;
}

void print(const svmgsu::Matrix& rows, svmgsu::Index i) {
  for (svmgsu::Index k = 0; k < rows.cols(); ++k) std::printf(" %.17g", rows(i, k));
}

void apply(const svmgsu::Model& model, const svmgsu::Gaussians& data) {
  if (model.task == svmgsu::Task::regression) {
    const svmgsu::Estimates found = model.estimate(data);
    for (svmgsu::Index i = 0; i < data.samples(); ++i) std::printf("%.17g %.17g\n", found.value(i), found.std(i));
    return;
  }
  const std::vector<svmgsu::Index> places = model.predict(data);
  const svmgsu::Matrix decisions = model.decisions(data);
  svmgsu::Matrix chances;
  if (!model.calibration.empty()) chances = model.probabilities(data);
  for (svmgsu::Index i = 0; i < data.samples(); ++i) {
    std::printf("%s", model.labels[static_cast<std::size_t>(places[static_cast<std::size_t>(i)])].c_str());
    print(decisions, i);
    if (chances.size()) print(chances, i);
    std::printf("\n");
  }
}

}  // namespace

int main(int count, char** words) try {
  if (count != 2) throw std::runtime_error("usage: predict MODEL < objects");
  const svmgsu::Model model = svmgsu::Model::load(words[1]);
  const std::vector<std::vector<double>> objects = read_objects();
  const svmgsu::Index n = model.w.cols(), objects_read = static_cast<svmgsu::Index>(objects.size());
  if (objects.empty()) throw std::runtime_error("standard input: there are no objects");
  const bool bars = objects[0].size() == static_cast<std::size_t>(2 * n);
  svmgsu::Matrix means(objects_read, n), variances(objects_read, n);
  for (svmgsu::Index i = 0; i < objects_read; ++i) {
    const std::vector<double>& object = objects[static_cast<std::size_t>(i)];
    if (object.size() != static_cast<std::size_t>(bars ? 2 * n : n))
      throw std::runtime_error("object " + std::to_string(i) + ": the model has " + std::to_string(n) + " features");
    for (svmgsu::Index j = 0; j < n; ++j) {
      means(i, j) = object[static_cast<std::size_t>(j)];
      if (bars) variances(i, j) = object[static_cast<std::size_t>(n + j)] * object[static_cast<std::size_t>(n + j)];
    }
  }
  if (bars)
    apply(model, {means, svmgsu::Diagonal(variances)});
  else
    apply(model, {means, {}});
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "predict: %s\n", error.what());
  return 1;
}
