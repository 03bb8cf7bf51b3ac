// c += ±aᵀa, the one matrix-matrix product of the library: it builds the preconditioner of Newton's method.
#include <algorithm>
#include <memory>

#include "kernels/dispatch.hpp"
#include "kernels/kernels.hpp"
#include "kernels/simd.hpp"
#include "support/parallel.hpp"

namespace svmgsu::kernels {
namespace {

constexpr int kWide = 8;  // columns of a panel
constexpr int kTall = 4;  // columns of the left factor of a tile, whose sums fill eight of sixteen registers

// tile = (kTall columns of left)ᵀ · (kWide columns of right); panels are packed, kWide numbers per row.
SVMGSU_CLONES void tile_product(const double* SVMGSU_RESTRICT left, const double* SVMGSU_RESTRICT right, Index rows,
                                double* SVMGSU_RESTRICT tile) {
  Four low[kTall] = {}, high[kTall] = {};
  for (Index r = 0; r < rows; ++r) {
    Four b_low, b_high;
    read(right + r * kWide, b_low);
    read(right + r * kWide + 4, b_high);
    for (int i = 0; i < kTall; ++i) {
      const double x = left[r * kWide + i];
      const Four a{x, x, x, x};
      low[i] += a * b_low;
      high[i] += a * b_high;
    }
  }
  for (int i = 0; i < kTall; ++i) {
    write(low[i], tile + i * kWide);
    write(high[i], tile + i * kWide + 4);
  }
}

}  // namespace

void add_gram(const double* a, Index rows, Index n, double sign, double* c, Index stride, int threads) {
  const Index panels = (n + kWide - 1) / kWide;
  const int team = rows * n * n < 400000 ? 1 : threads;
  const std::unique_ptr<double[]> packed(new double[static_cast<std::size_t>(panels * rows * kWide)]);
  const auto panel = [&](Index k) { return packed.get() + k * rows * kWide; };
  parallel_for(panels, team, [&](Index k) {
    const Index width = std::min<Index>(kWide, n - k * kWide);
    double* out = panel(k);
    for (Index r = 0; r < rows; ++r, out += kWide) {
      std::copy_n(a + r * n + k * kWide, width, out);
      std::fill(out + width, out + kWide, 0.0);
    }
  });
  parallel_for(panels, team, [&](Index k) {
    double tile[kTall * kWide];
    for (Index m = k; m < panels; ++m)
      for (int part = 0; part < kWide; part += kTall) {
        tile_product(panel(k) + part, panel(m), rows, tile);
        for (Index i = 0; i < kTall; ++i)
          for (Index j = 0; j < kWide; ++j) {
            const Index row = k * kWide + part + i, column = m * kWide + j;
            if (row >= n || column >= n) continue;
            c[row * stride + column] += sign * tile[i * kWide + j];
            if (m > k) c[column * stride + row] += sign * tile[i * kWide + j];
          }
      }
  });
}

}  // namespace svmgsu::kernels
