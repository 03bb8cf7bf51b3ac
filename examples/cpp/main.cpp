// Trains on uncertain measurements, keeps the model in a file, and predicts with what the file gives back.
#include <cmath>
#include <cstdio>
#include <random>
#include <svmgsu/svmgsu.hpp>

int main() {
  // 200 objects of two classes, 3 measured features; each feature of each object has an error bar of its own.
  const int objects = 200, features = 3;
  svmgsu::Matrix means(objects, features), variances(objects, features);
  svmgsu::Vector labels(objects);
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> error_bar(0.1, 1.5);
  for (int i = 0; i < objects; ++i) {
    labels(i) = i % 2 == 0 ? 1 : -1;
    for (int j = 0; j < features; ++j) {
      const double sigma = error_bar(random);
      means(i, j) = labels(i) + normal(random) + sigma * normal(random);
      variances(i, j) = sigma * sigma;
    }
  }

  svmgsu::Options options;
  options.lambda = 1e-2;
  const svmgsu::Result result = svmgsu::train({means, svmgsu::Diagonal(variances), labels}, options);
  std::printf("objective %.9f, proven to be within %.1e of the optimum\n", result.objective, result.gap);

  const svmgsu::Model model(result.w, result.b, options.lambda, "hinge");
  model.save("embed.svmgsu");
  const svmgsu::Model loaded = svmgsu::Model::load("embed.svmgsu");
  std::remove("embed.svmgsu");

  int right = 0;
  for (int i = 0; i < objects; ++i) {
    const double decision = loaded.decision(means.row(i).transpose())(0);
    if (decision != model.decision(means.row(i).transpose())(0)) {
      std::fprintf(stderr, "the loaded model differs from the saved one at object %d\n", i);
      return 1;
    }
    right += decision * labels(i) > 0 ? 1 : 0;
  }
  std::printf("%d of %d training objects are on the right side\n", right, objects);

  // A new object: how sure is the classifier, given this object's own error bars?
  const svmgsu::Vector object = svmgsu::Vector::Constant(features, 0.4);
  const svmgsu::Vector object_variances = svmgsu::Vector::Constant(features, 0.25);
  const double spread = std::sqrt(loaded.w.row(0).cwiseAbs2().dot(object_variances));
  std::printf("the new object is positive with probability %.3f\n",
              svmgsu::probability_right(loaded.decision(object)(0), spread));
  return 0;
}
