// Trains on uncertain measurements of three classes, keeps the model in a file, and predicts with what it gives back.
#include <cstdio>
#include <random>
#include <string>
#include <svmgsu/svmgsu.hpp>
#include <vector>

int main() {
  // 300 samples with 2 features; each value has a standard error of its own. Arrays are row-major, double or float.
  const svmgsu::Index rows = 300, columns = 2;
  const double centres[3][2] = {{-2, 0}, {2, 0}, {0, 3}};
  const std::string names[3] = {"star", "quasar", "galaxy"};
  std::vector<double> x, variances;
  std::vector<std::string> labels;
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> error(0.1, 1.5);
  for (svmgsu::Index i = 0; i < rows; ++i) {
    labels.push_back(names[i % 3]);
    for (svmgsu::Index j = 0; j < columns; ++j) {
      const double sigma = error(random);
      x.push_back(centres[i % 3][j] + 0.5 * normal(random) + sigma * normal(random));
      variances.push_back(sigma * sigma);
    }
  }

  const svmgsu::Gaussians data({x.data(), rows, columns}, svmgsu::Diagonal({variances.data(), rows, columns}));
  svmgsu::FitOptions options;
  options.lambda = 1e-2;
  const svmgsu::Model model = svmgsu::fit(data, labels, options);
  std::printf("objective %.9f, proven to be within %.1e of the optimum\n", model.objective, model.gap);

  model.save("embed.svmgsu");
  const svmgsu::Model loaded = svmgsu::Model::load("embed.svmgsu");
  std::remove("embed.svmgsu");

  const std::vector<svmgsu::Index> places = loaded.predict(data);
  const svmgsu::Matrix chances = loaded.probabilities(data);
  int right = 0;
  for (svmgsu::Index i = 0; i < rows; ++i) {
    const auto place = static_cast<std::size_t>(i);
    right += loaded.labels[static_cast<std::size_t>(places[place])] == labels[place] ? 1 : 0;
  }
  std::printf("%d of %d training samples get their class\n", right, static_cast<int>(rows));
  std::printf("the first is a %s with probability %.3f\n", loaded.labels[static_cast<std::size_t>(places[0])].c_str(),
              chances(0, places[0]));
  return (model.probabilities(data) - chances).norm() == 0 ? 0 : 1;
}
