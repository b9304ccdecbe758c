// A long computation asks now and then whether its caller still waits for it. Asking changes nothing else.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>

namespace gm {

// Asked in the thread that solves, about once a millisecond. True: give up.
using GiveUp = std::function<bool()>;

class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "the solve was interrupted"; }
};

// While it lives, poll() in this thread asks `give_up`; null: nobody is asked.
class PollScope {
 public:
  explicit PollScope(const GiveUp* give_up);
  ~PollScope();
  PollScope(const PollScope&) = delete;
  PollScope& operator=(const PollScope&) = delete;

 private:
  const GiveUp* outer_;
};

// To be called where work is done: about `work` numbers were looked at since the last call.
// Throws Interrupted when the caller gives up.
void poll(std::int64_t work);

}  // namespace gm
