// Applies a model file, of Python's `model.save` or of this library, to new samples:
//     predict MODEL < samples
// A line has the values of a sample and, if they are uncertain, as many standard errors behind them. For a classifier
// it prints the label, the decision values and the probabilities; for a regression the value and its deviation. They
// are the bits that Python predicts.
#include <cstdio>
#include <iostream>
#include <sstream>
#include <svmgsu/svmgsu.hpp>

namespace {

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
  svmgsu::Matrix probabilities;
  if (!model.calibration.empty()) probabilities = model.probabilities(data);
  for (svmgsu::Index i = 0; i < data.samples(); ++i) {
    std::printf("%s", model.labels[static_cast<std::size_t>(places[static_cast<std::size_t>(i)])].c_str());
    print(decisions, i);
    if (probabilities.size()) print(probabilities, i);
    std::printf("\n");
  }
}

}  // namespace

int main(int count, char** words) try {
  if (count != 2) throw std::runtime_error("usage: predict MODEL < samples");
  const svmgsu::Model model = svmgsu::Model::load(words[1]);
  const auto n = static_cast<std::size_t>(model.w.cols());
  std::vector<double> means, errors;
  svmgsu::Index samples = 0;
  for (std::string line; std::getline(std::cin, line); ++samples) {
    std::istringstream text(line);
    std::vector<double> numbers;
    for (double value; text >> value;) numbers.push_back(value);
    const bool uncertain = numbers.size() == 2 * n;
    if ((numbers.size() != n && !uncertain) || (samples > 0 && uncertain != !errors.empty()))
      throw std::runtime_error("sample " + std::to_string(samples) + ": " + std::to_string(numbers.size()) +
                               " numbers, and the model has " + std::to_string(n) + " features");
    const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(n);
    means.insert(means.end(), numbers.begin(), middle);
    errors.insert(errors.end(), middle, numbers.end());
  }
  if (samples == 0) throw std::runtime_error("standard input: there are no samples");
  const svmgsu::Gaussians data(means.data(), samples, model.w.cols());
  apply(model, errors.empty() ? data : data.with_std(errors.data()));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "predict: %s\n", error.what());
  return 1;
}
