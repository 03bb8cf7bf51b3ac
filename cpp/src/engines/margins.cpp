#include "svmgsu/engines/margins.hpp"

#include "engines/sweep.hpp"

namespace svmgsu {

Margins margins(const Gaussians& data, const Matrix& w, int threads) {
  require(w.cols() == data.features(),
          "w: " + std::to_string(w.cols()) + " features, but the means have " + std::to_string(data.features()));
  const auto each = static_cast<std::size_t>(w.rows());
  Margins result;
  result.mean.resize(w.rows(), data.examples());
  result.variance.resize(w.rows(), data.examples());
  std::vector<Vector> point;
  std::vector<std::vector<Plan>> plans(each);
  std::vector<PointForms> forms;
  std::vector<Reader<PointForms>> readers;
  point.reserve(each);
  forms.reserve(each);
  for (std::size_t k = 0; k < each; ++k) {
    point.emplace_back(w.row(static_cast<Index>(k)));
    forms.emplace_back(data, point[k], plans[k]);
    readers.emplace_back(data, forms[k]);
  }
  const double numbers = numbers_per_example(data);
  const int batch = batch_size(numbers);
  const Index count = data.examples(), block = block_size(data, numbers, count, 0);
  const int team = team_for(static_cast<double>(count) * numbers, threads);
  parallel_for((count + block - 1) / block, team, [&](Index number) {
    const Index last = std::min(count, (number + 1) * block);
    for (Index first = number * block; first < last; first += batch) {
      const Batch part = batch_at(data.ids(), first, std::min(last, first + batch));
      for (std::size_t k = 0; k < each; ++k) {
        double* variance = &result.variance(static_cast<Index>(k), first);
        readers[k].read(part, &result.mean(static_cast<Index>(k), first), variance);
        for (int i = 0; i < part.count; ++i) variance[i] = std::max(0.0, variance[i]);
      }
    }
  });
  return result;
}

}  // namespace svmgsu
