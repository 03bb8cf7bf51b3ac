#include "support/poll.hpp"

#include <utility>

#include "svmgsu/support/types.hpp"

namespace svmgsu {
namespace {

thread_local Watch* innermost = nullptr;

}  // namespace

Watch::Watch(std::function<bool()> goes_on) : goes_on_(std::move(goes_on)), outer_(innermost) {
  require(goes_on_ != nullptr, "goes_on: there is nothing to ask");
  innermost = this;
}

Watch::~Watch() { innermost = outer_; }

void poll() {
  Watch* watch = innermost;
  if (!watch || watch->asking_) return;  // the one who is asked may compute, too
  if (!watch->over_) {
    watch->asking_ = true;
    try {
      watch->over_ = !watch->goes_on_();
    } catch (...) {
      watch->failure_ = std::current_exception();
      watch->over_ = true;
    }
    watch->asking_ = false;
  }
  if (watch->failure_) std::rethrow_exception(watch->failure_);
  if (watch->over_) throw Interrupted();
}

}  // namespace svmgsu
