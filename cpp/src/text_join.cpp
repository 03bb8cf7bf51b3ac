// Rows of several files brought together by their ids, and laid out as dense arrays.
#include "svmgsu/parallel.hpp"
#include "svmgsu/text_io.hpp"

namespace svmgsu {
namespace {

constexpr Index kRowsABlock = 256;

// The authors write `doc_3:` in one file and `doc_3` in another.
std::string_view bare_id(std::string_view id) {
  if (id.size() > 1 && id.back() == ':') id.remove_suffix(1);
  return id;
}

// Ids to rows: open addressing, at most half full.
class IdTable {
 public:
  explicit IdTable(const TextRows& rows) : rows_(rows) {
    std::size_t size = 16;
    while (size < 2 * rows.ids.size()) size *= 2;
    mask_ = size - 1;
    slots_.assign(size, Slot{-1, 0});
    for (std::size_t i = 0; i < rows.ids.size(); ++i) {
      const std::string_view id = bare_id(rows.ids[i]);
      const std::size_t hash = std::hash<std::string_view>()(id);
      Slot& slot = slots_[place(id, hash)];
      if (slot.row >= 0)
        throw FormatError(rows.name + ":" + std::to_string(rows.line[i]) + ": the id \"" + std::string(rows.ids[i]) +
                          "\" is also on line " + std::to_string(rows.line[static_cast<std::size_t>(slot.row)]));
      slot = {static_cast<Index>(i), hash};
    }
  }

  // The row of an id, -1 if there is none. `guess` is tried first: files mostly have the same order.
  Index find(std::string_view id, Index guess) const {
    if (guess < rows_.examples() && bare_id(rows_.ids[static_cast<std::size_t>(guess)]) == id) return guess;
    return slots_[place(id, std::hash<std::string_view>()(id))].row;
  }

 private:
  struct Slot {
    Index row;
    std::size_t hash;  // spares a look at most other ids, which are far away in memory
  };

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

}  // namespace

std::vector<std::vector<Index>> join(const std::vector<const TextRows*>& files) {
  std::vector<IdTable> tables;
  for (const TextRows* file : files) tables.emplace_back(*file);
  std::vector<std::vector<Index>> out(files.size());
  std::vector<Index> found(files.size());
  std::vector<Index> next(files.size(), 0);
  for (Index i = 0; i < files[0]->examples(); ++i) {
    found[0] = i;
    const std::string_view id = bare_id(files[0]->ids[static_cast<std::size_t>(i)]);
    bool everywhere = true;
    for (std::size_t f = 1; f < files.size() && everywhere; ++f) {
      found[f] = tables[f].find(id, next[f]);
      everywhere = found[f] >= 0;
      if (everywhere) next[f] = found[f] + 1;
    }
    if (!everywhere) continue;
    for (std::size_t f = 0; f < files.size(); ++f) out[f].push_back(found[f]);
  }
  return out;
}

void fill_dense(const TextRows& rows, const std::vector<Index>& select, Index features, int threads, double* out) {
  for_rows(select, threads, [&](Index i, std::size_t row) {
    for (Index k = rows.start[row]; k < rows.start[row + 1]; ++k) {
      const auto entry = static_cast<std::size_t>(k);
      out[i * features + rows.column[entry]] = rows.value[entry];
    }
  });
}

void fill_packed(const TextRows& rows, const std::vector<Index>& select, Index features, int threads, double* out) {
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
