// Rows of several files brought together by their ids, and laid out as dense arrays.
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

inline void prefetch([[maybe_unused]] const void* address) {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#endif
}

std::vector<std::size_t> hashes(const TextRows& rows) {
  std::vector<std::size_t> out;
  out.reserve(rows.ids.size());
  for (const std::string_view id : rows.ids) out.push_back(std::hash<std::string_view>()(bare_id(id)));
  return out;
}

// Ids to rows: open addressing, at most half full. With many ids every look is a cache miss, or three (slot, id, text),
// so they are asked for some ids ahead.
class IdTable {
 public:
  IdTable(const TextRows& rows, const std::vector<std::size_t>& hash) : rows_(rows) {
    std::size_t size = 16;
    while (size < 2 * rows.ids.size()) size *= 2;
    mask_ = size - 1;
    slots_.assign(size, Slot{-1, 0});
    for (std::size_t i = 0; i < rows.ids.size(); ++i) {
      if (i + kAhead < hash.size()) prefetch(&slots_[hash[i + kAhead] & mask_]);
      Slot& slot = slots_[place(bare_id(rows.ids[i]), hash[i])];
      if (slot.row >= 0)
        throw FormatError(rows.name + ":" + std::to_string(rows.line[i]) + ": the id \"" + std::string(rows.ids[i]) +
                          "\" is also on line " + std::to_string(rows.line[static_cast<std::size_t>(slot.row)]));
      slot = {static_cast<Index>(i), hash[i]};
    }
  }

  // The rows that have the ids of another file, -1 where there is none.
  std::vector<Index> find(const TextRows& other, const std::vector<std::size_t>& hash) const {
    std::vector<Index> out(hash.size());
    for (std::size_t i = 0; i < hash.size(); ++i) {
      if (i + 3 * kAhead < hash.size()) prefetch(&slots_[hash[i + 3 * kAhead] & mask_]);
      if (const std::string_view* id = likely(hash, i + 2 * kAhead)) prefetch(id);
      if (const std::string_view* id = likely(hash, i + kAhead)) prefetch(id->data());
      out[i] = slots_[place(bare_id(other.ids[i]), hash[i])].row;
    }
    return out;
  }

 private:
  static constexpr std::size_t kAhead = 8;

  struct Slot {
    Index row;
    std::size_t hash;  // spares a look at most other ids
  };

  const std::string_view* likely(const std::vector<std::size_t>& hash, std::size_t i) const {
    if (i >= hash.size()) return nullptr;
    const Index row = slots_[hash[i] & mask_].row;
    return row < 0 ? nullptr : &rows_.ids[static_cast<std::size_t>(row)];
  }

  std::size_t place(std::string_view id, std::size_t hash) const {
    std::size_t k = hash & mask_;
    while (slots_[k].row >= 0 &&
           (slots_[k].hash != hash || bare_id(rows_.ids[static_cast<std::size_t>(slots_[k].row)]) != id))
      k = (k + 1) & mask_;
    return k;
  }

  const TextRows& rows_;
  std::vector<Slot> slots_;
  std::size_t mask_ = 0;
};

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
  require(!files.empty(), "files: there are none");
  for (std::size_t f = 0; f < files.size(); ++f) {
    require(files[f] != nullptr, "files: number " + std::to_string(f) + " is a null pointer");
    require(files[f]->ids.size() == files[f]->line.size(),
            "files: " + files[f]->name + " has no ids to bring its samples together with others");
  }
  const TextRows& lead = *files[0];
  const std::vector<std::size_t> hash = hashes(lead);
  const IdTable unique(lead, hash);
  std::vector<std::vector<Index>> found(files.size());
  for (std::size_t f = 1; f < files.size(); ++f) found[f] = IdTable(*files[f], hashes(*files[f])).find(lead, hash);
  std::vector<std::vector<Index>> out(files.size());
  for (std::size_t i = 0; i < hash.size(); ++i) {
    bool everywhere = true;
    for (std::size_t f = 1; f < files.size(); ++f) everywhere &= found[f][i] >= 0;
    if (!everywhere) continue;
    out[0].push_back(static_cast<Index>(i));
    for (std::size_t f = 1; f < files.size(); ++f) out[f].push_back(found[f][i]);
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
