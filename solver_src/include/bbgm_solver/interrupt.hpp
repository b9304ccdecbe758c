// How the caller of a long computation ends it.
#pragma once

#include <exception>
#include <functional>

namespace gm {

// Asked in the thread that calls, about once a millisecond. True: give up. Asking changes nothing else.
using GiveUp = std::function<bool()>;

// Thrown by a computation whose caller gave up.
class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "the solve was interrupted"; }
};

}  // namespace gm
