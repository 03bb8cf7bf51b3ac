// Samples in files, a window of them in memory at a time.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "engines/read_ahead.hpp"
#include "engines/source.hpp"

namespace svmgsu {

class StreamedSource final : public Source {
 public:
  StreamedSource(const FlatSet& set, int threads);

  Index samples() const override { return set_.means.rows; }
  const Gaussians& like() const override { return *like_; }
  double numbers() const override { return like_->numbers_per_sample(); }
  double rank() const override { return like_->mean_rank(); }
  bool has_room(Index rows) const override { return rows * row_bytes_ <= spare_; }
  void all(const Cuts& cuts, const Use& use) const override;
  void some(const std::vector<Index>& positions, const Cuts& cuts, const Use& use) const override;
  std::shared_ptr<const Source> take(const std::vector<Index>& positions) const override;

  std::int64_t row_bytes() const { return row_bytes_; }
  std::uint64_t bytes_read() const { return bytes_read_; }
  // Rows of a window, and bytes for chosen rows.
  void allot(Index window, std::int64_t spare) {
    window_ = window;
    spare_ = spare;
  }
  Index window() const { return window_; }
  Meeting& meeting() const { return meeting_; }
  // Of whoever works on the windows, for what is done to them before.
  void set_threads(int threads) { threads_ = threads; }

 private:
  template <class Groups>
  Gaussians at(const std::vector<const char*>& arrays, Index rows, Groups group_of) const;
  void look(const Gaussians& data, const std::vector<Index>* positions, Index first) const;
  void look_at_shared(const Gaussians& data) const;
  void require_unchanged() const {
    for (const auto& file : files_) file->require_unchanged();
  }

  FlatSet set_;
  std::atomic<int> threads_;
  mutable std::atomic<std::uint64_t> bytes_read_{0};
  mutable std::atomic<bool> checked_{false};
  mutable Meeting meeting_;
  OpenFiles files_;  // of the means and of each term that has one
  std::int64_t row_bytes_ = 0, spare_ = 0;
  Index window_ = 1;
  std::vector<std::vector<double>> zeros_;  // a sample
  std::unique_ptr<Gaussians> like_;
};

}  // namespace svmgsu
