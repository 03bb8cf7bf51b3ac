// Results and models pass from each part to each other part: nothing is freed twice, and the numbers are the same.
#include <cstdio>

#include "part.hpp"

#define SVMGSU_PARTS(DO) DO(part_plain) DO(part_aligned) DO(part_unaligned) DO(part_native)
#define SVMGSU_DECLARE(name) extern "C" const Part name;
#define SVMGSU_ADDRESS(name) &name,
SVMGSU_PARTS(SVMGSU_DECLARE)

int main() {
  const Part* const parts[] = {SVMGSU_PARTS(SVMGSU_ADDRESS)};
  const svmgsu::Result wanted = parts[0]->train();
  const svmgsu::Vector used = parts[0]->use(wanted, parts[0]->model(wanted));
  int wrong = 0;
  for (const Part* from : parts)
    for (const Part* to : parts)
      for (const Part* third : parts) {
        svmgsu::Result result = from->train();
        svmgsu::Model model = to->model(result);
        wrong += result.w != wanted.w || model.w != wanted.w.transpose();
        const svmgsu::Vector got = third->use(std::move(result), std::move(model));
        if (got.size() != used.size() || (got - used).norm() > 1e-12 * used.norm()) {
          std::printf("%s to %s to %s: differs\n", from->name, to->name, third->name);
          ++wrong;
        }
      }
  std::printf("test cases: 1 | %d passed | %d failed | 0 skipped\n", wrong == 0, wrong != 0);
  return wrong != 0;
}
