// An objective whose answers are written down, so that a solution that was cut short goes on to the same bits.
//
// Solvers are deterministic: given the same answers they take the same steps. The answers are sums, a few numbers for
// each feature, so a record of them is small. A solution that begins with the record of an earlier one gets its answers
// from there, without a look at the data, until they run out; what a later question wants to know of a point that was
// answered from the record (its margins, say) is read then.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "svmgsu/engines/objective.hpp"

namespace svmgsu {

class Journal {
 public:
  // `earlier` is what an earlier solution has written; a last entry that is cut short is left out. `write` gets the
  // entries after it, each whole.
  Journal(std::string earlier, std::function<void(const std::string& entry)> write);

  // The next answer of the record, to the same question; empty where there is none left. Another question is an
  // InvalidArgument: the record is of other data or settings.
  bool next(std::int32_t question, std::uint64_t key, std::string& answer);
  void add(std::int32_t question, std::uint64_t key, const std::string& answer);
  std::size_t entries() const { return entries_; }    // that were answered from the record
  std::size_t whole_bytes() const { return whole_; }  // of `earlier`, without what is cut short

 private:
  std::string earlier_;
  std::function<void(const std::string&)> write_;
  std::size_t at_ = 0, whole_ = 0, entries_ = 0;
};

// `of` and `journal` must outlive it.
std::unique_ptr<Objective> recorded(const Objective& of, Journal& journal);

}  // namespace svmgsu
