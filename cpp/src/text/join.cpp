// Rows of several files brought together by their ids, and laid out as dense arrays.
#include <unordered_map>

#include "support/parallel.hpp"
#include "svmgsu/text/io.hpp"

namespace svmgsu {
namespace {

constexpr Index kRowsABlock = 256;

// The authors write `doc_3:` in one file and `doc_3` in another.
std::string_view bare_id(std::string_view id) {
  if (id.size() > 1 && id.back() == ':') id.remove_suffix(1);
  return id;
}

// The row of each id. An id that is there twice is refused.
std::unordered_map<std::string_view, Index> rows_by_id(const TextRows& rows) {
  std::unordered_map<std::string_view, Index> out;
  out.reserve(rows.ids.size());
  for (std::size_t i = 0; i < rows.ids.size(); ++i) {
    const auto [at, is_new] = out.emplace(bare_id(rows.ids[i]), static_cast<Index>(i));
    if (!is_new)
      throw FormatError(rows.name + ":" + std::to_string(rows.line[i]) + ": the id \"" + std::string(rows.ids[i]) +
                        "\" is also on line " + std::to_string(rows.line[static_cast<std::size_t>(at->second)]));
  }
  return out;
}

template <class Body>
void for_rows(const std::vector<Index>& select, int threads, Body body) {
  const auto count = static_cast<Index>(select.size());
  parallel_for((count + kRowsABlock - 1) / kRowsABlock, threads, [&](Index block) {
    const Index last = std::min(count, (block + 1) * kRowsABlock);
    for (Index i = block * kRowsABlock; i < last; ++i)
      body(i, static_cast<std::size_t>(select[static_cast<std::size_t>(i)]));
  });
}

// Refuses rows that are not all there any more, places outside, and an array that the entries do not fit.
void require_fits(const TextRows& rows, const std::vector<Index>& select, Index features, const double* out) {
  const auto samples = static_cast<std::size_t>(rows.samples());
  require(rows.start.size() == samples + 1 && rows.start[samples] <= rows.entries() &&
              rows.column.size() == rows.value.size(),
          "rows: their entries were taken away");
  for (const Index row : select)
    if (row < 0 || row >= rows.samples())
      require(false, "select: " + std::to_string(row) + " is not one of " + std::to_string(samples) + " rows");
  require(features >= rows.features,
          "features: " + std::to_string(features) + ", but " + rows.name + " has " + std::to_string(rows.features));
  require(out || select.empty() || features == 0, "out: null pointer");
}

}  // namespace

std::vector<std::vector<Index>> join(const std::vector<const TextRows*>& files) {
  require(!files.empty(), "files: expected at least one");
  for (std::size_t f = 0; f < files.size(); ++f) {
    require(files[f] != nullptr, "files: number " + std::to_string(f) + " is a null pointer");
    require(files[f]->ids.size() == files[f]->line.size(),
            "files: " + files[f]->name + " has no ids to bring its samples together with others");
  }
  std::vector<std::unordered_map<std::string_view, Index>> found;
  for (const TextRows* file : files) found.push_back(rows_by_id(*file));
  std::vector<std::vector<Index>> out(files.size());
  std::vector<Index> row(files.size());
  for (const std::string_view id : files[0]->ids) {
    bool everywhere = true;
    for (std::size_t f = 0; f < files.size() && everywhere; ++f) {
      const auto at = found[f].find(bare_id(id));
      everywhere = at != found[f].end();
      if (everywhere) row[f] = at->second;
    }
    for (std::size_t f = 0; f < files.size() && everywhere; ++f) out[f].push_back(row[f]);
  }
  return out;
}

void fill_dense(const TextRows& rows, const std::vector<Index>& select, Index features, int threads, double* out) {
  require(!rows.packed, "rows: they are matrices; fill_packed lays them out");
  require_fits(rows, select, features, out);
  for_rows(select, threads, [&](Index i, std::size_t row) {
    for (Index k = rows.start[row]; k < rows.start[row + 1]; ++k) {
      const auto entry = static_cast<std::size_t>(k);
      out[i * features + rows.column[entry]] = rows.value[entry];
    }
  });
}

void fill_packed(const TextRows& rows, const std::vector<Index>& select, Index features, int threads, double* out) {
  require_fits(rows, select, features, out);
  require(features <= kMostTextFeatures,
          "features: at most " + std::to_string(kMostTextFeatures) + ", got " + std::to_string(features));
  const Index size = features * (features + 1) / 2;
  for_rows(select, threads, [&](Index i, std::size_t row) {
    double* const matrix = out + i * size;
    Index b = 0, below = 0;  // below = b(b+1)/2, the first column of (a, b); columns rise along the row
    for (Index k = rows.start[row]; k < rows.start[row + 1]; ++k) {
      const auto entry = static_cast<std::size_t>(k);
      Index a = rows.column[entry];
      if (rows.packed) {
        while (a - below > b) below += ++b;
        a -= below;
      } else {
        b = a;
      }
      matrix[a * features - a * (a - 1) / 2 + (b - a)] = rows.value[entry];
    }
  });
}

}  // namespace svmgsu
