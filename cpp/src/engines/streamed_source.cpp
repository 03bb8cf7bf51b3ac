#include "engines/streamed_source.hpp"

#include <limits>

#include "data/faults.hpp"
#include "support/parallel.hpp"
#include "support/poll.hpp"
#include "svmgsu/kinds/covariance.hpp"

namespace svmgsu {
namespace {

// How many numbers of the file a sample has.
Index columns_of(const FlatTerm& term, Index n) {
  switch (term.layout) {
    case Covariance::Layout::isotropic:
      return 1;
    case Covariance::Layout::diagonal:
      return n;
    case Covariance::Layout::full:
      return n * (n + 1) / 2;
    case Covariance::Layout::low_rank:
      break;
  }
  return std::max<Index>(n, term.file.columns / n * n);
}

Rows rows_at(const FlatFile& file, const char* array, Index count, Index columns) {
  if (file.narrow) return {reinterpret_cast<const float*>(array), count, columns};
  return {reinterpret_cast<const double*>(array), count, columns};
}

// "sample 3 has ..." of a window or of chosen rows, with the number that the sample has in the files.
std::string renumbered(const std::string& message, const std::vector<Index>* positions, Index first) {
  const std::string mark = "sample ";
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
    if (term.shared) continue;
    open(term.file);
    const Index columns = columns_of(term, n);
    require(term.file.columns == columns, term.file.path + ": " + std::to_string(term.file.columns) +
                                              " numbers per row, but " + std::to_string(n) + " features want " +
                                              std::to_string(columns));
  }
  std::vector<const char*> arrays;
  for (const auto& file : files_) {
    zeros_.emplace_back(static_cast<std::size_t>((file->file().row_bytes() + 7) / 8), 0.0);
    arrays.push_back(reinterpret_cast<const char*>(zeros_.back().data()));
  }
  like_ = std::make_unique<Gaussians>(at(arrays, 1, [](const Covariance& kind) { return kind.groups(); }));
}

// The samples whose numbers these arrays hold; `group_of(kind)` are the groups of those that share covariances.
template <class Groups>
Gaussians StreamedSource::at(const std::vector<const char*>& arrays, Index rows, Groups group_of) const {
  const Index n = set_.means.columns;
  std::vector<CovarianceSum::Term> terms;
  std::size_t next = 1;
  for (const FlatTerm& term : set_.terms) {
    if (term.shared) {
      terms.push_back(
          {term.shared->groups() ? term.shared->shared(group_of(*term.shared), rows) : *term.shared, term.scale});
      continue;
    }
    const Index rank = term.layout == Covariance::Layout::low_rank ? term.file.columns / n : 0;
    const Index count = rank > 0 ? rank * rows : rows, columns = rank > 0 ? n : term.file.columns;
    terms.push_back({Covariance(term.layout, rows_at(term.file, arrays[next++], count, columns), rank), term.scale});
  }
  return Gaussians(rows_at(set_.means, arrays[0], rows, n), CovarianceSum(std::move(terms)));
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
    if (term.kind.is_shared()) {
      const std::string fault = term.kind.fault(data.ids(), data.features(), threads_);
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
    const Gaussians piece =
        at(arrays, bounds[k + 1] - first, [&](const Covariance& kind) { return kind.groups() + first; });
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
  Gaussians data = at(arrays, count, [&](const Covariance& kind) {
    owned->groups.emplace_back();
    for (const Index i : positions) owned->groups.back().push_back(kind.groups()[i]);
    return owned->groups.back().data();
  });
  const auto result = std::make_shared<MemorySource>(std::move(data), owned);
  look(*result->whole(), &positions, 0);
  return result;
}

}  // namespace svmgsu
