#include "svmgsu/support/poll.hpp"

#include <utility>

namespace svmgsu {
namespace {

thread_local Watch* innermost = nullptr;

}  // namespace

Watch::Watch(std::function<bool()> goes_on) : goes_on_(std::move(goes_on)), outer_(innermost) { innermost = this; }

Watch::~Watch() { innermost = outer_; }

bool must_stop() noexcept {
  Watch* watch = innermost;
  if (!watch || watch->asking_) return false;  // the one who is asked may compute, too
  if (watch->over_) return true;
  watch->asking_ = true;
  try {
    watch->over_ = !watch->goes_on_();
  } catch (...) {
    watch->failure_ = std::current_exception();
    watch->over_ = true;
  }
  watch->asking_ = false;
  return watch->over_;
}

void poll() {
  if (!must_stop()) return;
  if (innermost->failure_) std::rethrow_exception(innermost->failure_);
  throw Interrupted();
}

}  // namespace svmgsu
