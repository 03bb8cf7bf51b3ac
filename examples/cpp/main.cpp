// Trains on uncertain measurements of three classes, keeps the model in a file, and predicts with it.
#include <cstdio>
#include <random>
#include <string>
#include <svmgsu/svmgsu.hpp>
#include <vector>

int main() {
  // 300 samples with 2 features; each value has a standard error of its own.
  const svmgsu::Index rows = 300, columns = 2;
  const double centres[3][2] = {{-2, 0}, {2, 0}, {0, 3}};
  const std::string names[3] = {"star", "quasar", "galaxy"};
  std::vector<double> x, errors;
  std::vector<std::string> labels;
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> error(0.1, 1.5);
  for (svmgsu::Index i = 0; i < rows; ++i) {
    labels.push_back(names[i % 3]);
    for (svmgsu::Index j = 0; j < columns; ++j) {
      errors.push_back(error(random));
      x.push_back(centres[i % 3][j] + 0.5 * normal(random) + errors.back() * normal(random));
    }
  }

  // Arrays are row-major, double or float. Labels are strings or numbers, of any number of classes.
  const auto data = svmgsu::Gaussians(x.data(), rows, columns).with_std(errors.data());
  svmgsu::Options options;
  options.lambda = 1e-2;
  options.loss = "logistic";
  const svmgsu::Model model = svmgsu::fit(data, labels, options);
  std::printf("objective %.9f, proven to be within %.1e of the optimum\n", model.objective, model.gap);

  model.save("embed.svmgsu");
  const svmgsu::Model loaded = svmgsu::Model::load("embed.svmgsu");
  std::remove("embed.svmgsu");
  const svmgsu::Matrix probabilities = loaded.probabilities(data);
  const auto first = static_cast<std::size_t>(loaded.predict(data)[0]);
  std::printf("the first is a %s with probability %.3f\n", loaded.labels[first].c_str(),
              probabilities(0, static_cast<svmgsu::Index>(first)));
  return (model.probabilities(data) - probabilities).norm() == 0 ? 0 : 1;
}
