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

// Rows of `size` numbers; place(entry) is where in its row an entry goes.
template <class Place>
void fill(const TextRows& rows, const std::vector<Index>& select, Index features, Index size, int threads, double* out,
          Place place) {
  require_fits(rows, select, features, out);
  const auto count = static_cast<Index>(select.size());
  parallel_for((count + kRowsABlock - 1) / kRowsABlock, threads, [&](Index block) {
    for (Index i = block * kRowsABlock; i < std::min(count, (block + 1) * kRowsABlock); ++i) {
      const auto row = static_cast<std::size_t>(select[static_cast<std::size_t>(i)]);
      for (auto entry = static_cast<std::size_t>(rows.start[row]);
           entry < static_cast<std::size_t>(rows.start[row + 1]); ++entry)
        out[i * size + place(entry)] = rows.value[entry];
    }
  });
}

}  // namespace

std::vector<std::vector<Index>> join(const std::vector<const TextRows*>& files) {
  require(!files.empty(), "files: expected at least one");
  for (std::size_t f = 0; f < files.size(); ++f)
    require(files[f] != nullptr, "files: number " + std::to_string(f) + " is a null pointer");
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
  require(!rows.full, "rows: they are matrices; fill_packed lays them out");
  fill(rows, select, features, features, threads, out, [&](std::size_t entry) { return Index{rows.column[entry]}; });
}

void fill_packed(const TextRows& rows, const std::vector<Index>& select, Index features, int threads, double* out) {
  require(features <= kMostTextFeatures,
          "features: at most " + std::to_string(kMostTextFeatures) + ", got " + std::to_string(features));
  require(rows.row.size() == rows.value.size(), "rows: they are not covariances");
  fill(rows, select, features, features * (features + 1) / 2, threads, out, [&](std::size_t entry) {
    const Index a = rows.row[entry], b = rows.column[entry];
    return a * features - a * (a - 1) / 2 + (b - a);
  });
}

}  // namespace svmgsu
