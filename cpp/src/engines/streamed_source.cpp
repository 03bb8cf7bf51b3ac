#include "engines/streamed_source.hpp"

#include <limits>

#include "svmgsu/data/check.hpp"
#include "svmgsu/kinds/kinds.hpp"
#include "svmgsu/support/parallel.hpp"
#include "svmgsu/support/poll.hpp"

namespace svmgsu {
namespace {

// How many numbers of the file an example has, or 0 where the kind has no file.
Index columns_of(const FlatTerm& term, Index n) {
  switch (term.kind) {
    case FlatTerm::Kind::isotropic:
      return 1;
    case FlatTerm::Kind::diagonal:
      return n;
    case FlatTerm::Kind::low_rank:
      return std::max<Index>(n, term.file.columns / n * n);
    case FlatTerm::Kind::full:
      return n * (n + 1) / 2;
    case FlatTerm::Kind::shared:
      break;
  }
  return 0;
}

template <class Scalar>
std::shared_ptr<const Covariance> kind_at(const FlatTerm& term, const char* array, Index rows, Index n) {
  const auto* const numbers = reinterpret_cast<const Scalar*>(array);
  switch (term.kind) {
    case FlatTerm::Kind::isotropic:
      return std::make_shared<Isotropic<Scalar>>(numbers, rows);
    case FlatTerm::Kind::diagonal:
      return std::make_shared<Diagonal<Scalar>>(numbers, rows, n);
    case FlatTerm::Kind::low_rank:
      return std::make_shared<LowRank<Scalar>>(numbers, rows, term.file.columns / n, n);
    case FlatTerm::Kind::full:
      return std::make_shared<Full<Scalar>>(numbers, rows, n);
    case FlatTerm::Kind::shared:
      break;
  }
  return nullptr;
}

// "example 3 has ..." of a window or of chosen rows, with the number that the example has in the files.
std::string renumbered(const std::string& message, const std::vector<Index>* positions, Index first) {
  const std::string mark = "example ";
  const std::size_t at = message.find(mark);
  if (at == std::string::npos) return message;
  std::size_t end = at + mark.size();
  Index number = 0;
  for (; end < message.size() && message[end] >= '0' && message[end] <= '9'; ++end)
    number = 10 * number + (message[end] - '0');
  const Index global = positions ? (*positions)[static_cast<std::size_t>(number)] : number + first;
  return message.substr(0, at + mark.size()) + std::to_string(global) + message.substr(end);
}

}  // namespace

StreamedSource::StreamedSource(const FlatSet& set, int threads) : set_(set), threads_(threads) {
  const Index n = set.means.columns;
  const auto open = [&](const FlatFile& file) {
    files_.push_back(std::make_unique<OpenFile>(file, bytes_read_));
    row_bytes_ += file.row_bytes();
    require(file.rows == set.means.rows, file.path + ": " + std::to_string(file.rows) + " rows, but the means have " +
                                             std::to_string(set.means.rows));
  };
  open(set.means);
  for (const FlatTerm& term : set.terms) {
    require(term.scale >= 0 && term.scale < std::numeric_limits<double>::infinity(),
            "covariance: a factor must be >= 0 and finite, got " + to_text(term.scale));
    const Index columns = columns_of(term, n);
    if (columns == 0) continue;
    open(term.file);
    require(term.file.columns == columns, term.file.path + ": " + std::to_string(term.file.columns) +
                                              " numbers per row, but " + std::to_string(n) + " features want " +
                                              std::to_string(columns));
  }
  std::vector<const char*> arrays;
  for (const auto& file : files_) {
    zeros_.emplace_back(static_cast<std::size_t>((file->file().row_bytes() + 7) / 8), 0.0);
    arrays.push_back(reinterpret_cast<const char*>(zeros_.back().data()));
  }
  like_ = std::make_unique<Gaussians>(at(arrays, 1, [](const FlatTerm& term) { return term.group; }));
}

double StreamedSource::rank() const {
  double sum = 0;
  for (const auto& term : like_->covariance()) sum += term.kind->mean_rank();
  return sum;
}

// The examples whose numbers these arrays hold; `group_of(term)` are the groups of those that share covariances.
template <class Groups>
Gaussians StreamedSource::at(const std::vector<const char*>& arrays, Index rows, Groups group_of) const {
  const Index n = set_.means.columns;
  std::shared_ptr<const Means> means;
  if (set_.means.narrow)
    means = std::make_shared<DenseMeans<float>>(reinterpret_cast<const float*>(arrays[0]), rows, n);
  else
    means = std::make_shared<DenseMeans<double>>(reinterpret_cast<const double*>(arrays[0]), rows, n);
  std::vector<CovarianceSum::Term> terms;
  std::size_t next = 1;
  for (const FlatTerm& term : set_.terms) {
    std::shared_ptr<const Covariance> kind;
    if (term.kind == FlatTerm::Kind::shared)
      kind = std::make_shared<Shared>(term.packed, term.count, n, term.diagonal, term.group ? group_of(term) : nullptr,
                                      rows);
    else if (term.file.narrow)
      kind = kind_at<float>(term, arrays[next++], rows, n);
    else
      kind = kind_at<double>(term, arrays[next++], rows, n);
    terms.push_back({std::move(kind), term.scale});
  }
  return Gaussians(std::move(means), CovarianceSum(std::move(terms)));
}

void StreamedSource::look(const Gaussians& data, const std::vector<Index>* positions, Index first) const {
  if (!set_.check || checked_) return;
  try {
    check(data, threads_);
  } catch (const InvalidArgument& fault) {
    throw InvalidArgument(renumbered(fault.what(), positions, first));
  }
}

void StreamedSource::look_at_shared(const Gaussians& data) const {
  if (!set_.check || checked_) return;
  for (const auto& term : data.covariance())
    if (dynamic_cast<const Shared*>(term.kind.get())) {
      const std::string fault = term.kind->fault(data.ids(), data.features(), threads_);
      require(fault.empty(), "covariance: " + fault);
    }
}

void StreamedSource::all(const Cuts& cuts, const Use& use) const {
  require_unchanged();
  const Index blocks = std::max<Index>(1, window_ / cuts.block);
  std::vector<Index> bounds;
  for (Index k = 0; k < cuts.blocks; k += blocks) bounds.push_back(cuts.first(k));
  bounds.push_back(cuts.count);
  const bool checks = set_.check && !checked_;
  ReadAhead::Reader ahead(meeting_.join(files_, bounds));
  for (std::size_t k = 0; k + 1 < bounds.size(); ++k) {
    const std::vector<const char*>& arrays = ahead.wait();
    const Index first = bounds[k];
    const Gaussians piece = at(arrays, bounds[k + 1] - first, [&](const FlatTerm& term) { return term.group + first; });
    look_at_shared(piece);
    // Each block is checked by the thread that is about to work on it, so that its numbers are read from memory once.
    const std::function<void(Index, Index)> look_at_block = [&](Index at, Index count) {
      const auto begin = piece.ids().begin() + at;
      const std::string fault = fault_of(piece, {begin, begin + count});
      if (!fault.empty()) throw InvalidArgument(renumbered(fault, nullptr, first));
    };
    use({piece, piece.ids(), first, checks ? &look_at_block : nullptr});
    poll();
    ahead.release();
  }
  checked_ = true;
}

void StreamedSource::some(const std::vector<Index>& positions, const Cuts& cuts, const Use& use) const {
  const Index most = std::max<Index>(1, spare_ / std::max<std::int64_t>(1, row_bytes_));
  for (Index k = 0; k < cuts.blocks;) {
    Index end = k + 1;
    while (end < cuts.blocks && cuts.end(end) - cuts.first(k) <= most) ++end;
    const Index first = cuts.first(k);
    const std::vector<Index> rows(positions.begin() + first, positions.begin() + cuts.end(end - 1));
    const std::shared_ptr<const Source> piece = take(rows);
    use({*piece->whole(), piece->whole()->ids(), first});
    poll();
    k = end;
  }
}

std::shared_ptr<const Source> StreamedSource::take(const std::vector<Index>& positions) const {
  struct Owned {
    std::vector<PageBuffer> arrays;
    std::vector<std::vector<std::int32_t>> groups;
  };
  require_unchanged();
  const auto owned = std::make_shared<Owned>();
  std::vector<const char*> arrays;
  const auto count = static_cast<Index>(positions.size());
  for (const auto& file : files_) {
    PageBuffer rows(file->file().row_bytes() * count);
    file->gather(positions, rows.data());
    owned->arrays.push_back(std::move(rows));
    arrays.push_back(owned->arrays.back().data());
  }
  require_unchanged();
  Gaussians data = at(arrays, count, [&](const FlatTerm& term) {
    owned->groups.emplace_back();
    for (const Index i : positions) owned->groups.back().push_back(term.group[i]);
    return owned->groups.back().data();
  });
  const auto result = std::make_shared<MemorySource>(std::move(data), owned);
  look(*result->whole(), &positions, 0);
  return result;
}

}  // namespace svmgsu
