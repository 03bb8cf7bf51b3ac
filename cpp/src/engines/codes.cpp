#include "engines/codes.hpp"

#include <cmath>

#include "svmgsu/kernels/kernels.hpp"

namespace svmgsu {
namespace {

constexpr double kLog2e = 1.4426950408889634074;  // the loops of floats take logarithms to the base 2

// a and b of one part of the rows, as the loops want them.
template <class Scalar>
class Parameters {
 public:
  explicit Parameters(const FlatFile& file) : file_(file), a_(static_cast<std::size_t>(file.columns)), b_(a_.size()) {}
  void of_row(Index row) {
    const Index part = row / file_.codes.rows;
    if (part == part_) return;
    part_ = part;
    const bool binary = file_.codes.kind == Codes::Kind::logarithms && sizeof(Scalar) == sizeof(float);
    const double unit = binary ? kLog2e : 1.0;
    const double* const a = file_.codes.parameters + 2 * part * file_.columns;
    for (std::size_t j = 0; j < a_.size(); ++j) {
      a_[j] = static_cast<Scalar>(unit * a[j]);
      b_[j] = static_cast<Scalar>(unit * a[a_.size() + j]);
    }
  }
  const Scalar* a() const { return a_.data(); }
  const Scalar* b() const { return b_.data(); }

 private:
  const FlatFile& file_;
  Index part_ = -1;
  std::vector<Scalar> a_, b_;
};

template <class Scalar, class RowOf>
void decode_to(const FlatFile& file, const char* from, Index count, RowOf row_of, Scalar* to) {
  const Index n = file.columns;
  Parameters<Scalar> parameters(file);
  for (Index i = 0; i < count; ++i) {
    parameters.of_row(row_of(i));
    if (file.codes.kind == Codes::Kind::levels)
      kernels::decode_levels(reinterpret_cast<const std::int16_t*>(from) + i * n, n, parameters.a(), parameters.b(),
                             to + i * n);
    else
      kernels::decode_logarithms(reinterpret_cast<const std::uint8_t*>(from) + i * n, n, parameters.a(), parameters.b(),
                                 to + i * n);
  }
}

}  // namespace

template <class RowOf>
void decode(const FlatFile& file, const char* from, Index count, RowOf row_of, char* to) {
  if (file.narrow)
    decode_to(file, from, count, row_of, reinterpret_cast<float*>(to));
  else
    decode_to(file, from, count, row_of, reinterpret_cast<double*>(to));
}

template void decode(const FlatFile&, const char*, Index, FirstRow, char*);
template void decode(const FlatFile&, const char*, Index, ChosenRows, char*);

std::int64_t parameter_bytes(const FlatFile& file) {
  if (!file.codes.exist()) return 0;
  return 16 * file.columns * ((file.rows + file.codes.rows - 1) / file.codes.rows);
}

void check_codes(const FlatFile& file) {
  if (!file.codes.exist()) return;
  require(file.codes.rows > 0, file.path + ": codes of " + std::to_string(file.codes.rows) + " rows; must be > 0");
  const std::int64_t count = parameter_bytes(file) / 8;
  for (std::int64_t k = 0; k < count; ++k)
    require(std::isfinite(file.codes.parameters[k]), file.path + ": the parameters of its codes are not finite");
}

}  // namespace svmgsu
