#include "core/poll.hpp"

namespace gm {

namespace {

constexpr std::int64_t work_between = 1'000'000;

// Of this thread, so that the inner loops need not be handed a way to their caller.
thread_local const GiveUp* asked = nullptr;
thread_local std::int64_t work_done = 0;

}  // namespace

PollScope::PollScope(const GiveUp* give_up) : outer_(asked) { asked = give_up; }
PollScope::~PollScope() { asked = outer_; }

void poll(std::int64_t work) {
  if (asked == nullptr || (work_done += work) < work_between) return;
  work_done = 0;
  if ((*asked)()) throw Interrupted();
}

}  // namespace gm
