// How a long computation learns that it shall stop: Ctrl-C, a time limit, a callback.
//
// A solver says by a Watch what there is to ask, and what runs below it in the same thread (passes, matrix products,
// factorisations) polls between blocks. Nobody in between needs to know; where there is no Watch, a poll is one test.
#pragma once

#include <exception>
#include <functional>

namespace svmgsu {

// Thrown by poll(): go back to whoever has set up the Watch.
struct Interrupted {};

// While it lives, poll() in this thread asks `goes_on`. Watches nest; the innermost is asked.
class Watch {
 public:
  explicit Watch(std::function<bool()> goes_on);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  friend void poll();
  std::function<bool()> goes_on_;
  std::exception_ptr failure_;
  Watch* outer_;
  bool over_ = false, asking_ = false;
};

// Throws Interrupted (or what `goes_on` has thrown) if the computation must stop, and does so again ever after. In
// other threads than the Watch's it does nothing.
void poll();

}  // namespace svmgsu
