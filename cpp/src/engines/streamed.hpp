// The objective of samples that lie in files of plain numbers, row after row, and never in memory as a whole.
//
// A pass reads the files once from their beginning to their end, a window at a time: each thread reads the rows that it
// is about to work on, and the system is told which it will want next. The sums are those of samples in memory: the
// same bits, whatever the windows are. Samples that are chosen (for estimates of the Hessian, a sample to start from)
// are read in the order of the file. The first pass looks for what is no number.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "svmgsu/data/training_set.hpp"
#include "svmgsu/engines/objective.hpp"

namespace svmgsu {

// `rows` × `columns` numbers of this machine's byte order from byte `offset` on. A .npy file is one, after its header.
struct FlatFile {
  std::string path;
  std::int64_t offset = 0;
  bool narrow = false;  // float, and not double
  Index rows = 0, columns = 0;

  std::int64_t number_bytes() const { return narrow ? 4 : 8; }
  std::int64_t row_bytes() const { return columns * number_bytes(); }
};

// A term of the covariances: a file whose rows are what the layout takes (covariance.hpp; of factors, rank × n
// numbers), or a matrix in memory that all rows of the files share.
struct FlatTerm {
  Covariance::Layout layout = Covariance::Layout::diagonal;
  FlatFile file;
  double scale = 1;
  std::optional<Covariance> shared;
};

struct FlatSet {
  FlatFile means;
  std::vector<FlatTerm> terms;
  std::shared_ptr<const Targets> targets;
  std::size_t memory = 0;  // bytes that windows and all that is kept of the samples may take; 0: windows of 32 MB
  Index window = 0;        // rows of a window; 0: as memory allows
  bool check = true;       // look for NaN, negative variances and the like in the first pass
};

class StreamedSource;

class Streamed {
 public:
  // Opens the files. Too little memory is an InvalidArgument that tells the least that would do; so are files that are
  // too short, or that change later on.
  explicit Streamed(const FlatSet& set, int threads = 0);

  Objective objective(double lambda, int threads = 0, bool intercept = true,
                      std::shared_ptr<const Loss> loss = nullptr) const;
  Index samples() const;
  Index features() const;
  std::uint64_t bytes() const;       // of the numbers in the files
  std::uint64_t bytes_read() const;  // so far
  std::size_t least_memory() const { return least_; }
  Index window() const;  // rows

 private:
  std::shared_ptr<const Targets> targets_;
  std::shared_ptr<StreamedSource> source_;
  std::size_t least_ = 0;
};

}  // namespace svmgsu
