// A long computation asks now and then whether its caller still waits for it. Asking changes nothing else.
#pragma once

#include <cstdint>

#include "bbgm_solver/interrupt.hpp"

namespace gm {

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
