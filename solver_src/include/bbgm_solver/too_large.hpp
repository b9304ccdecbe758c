// What ends a solve, or the making of a problem, that the memory does not hold.
#pragma once

#include <new>
#include <string>

namespace gm {

// Says how large the problem is and what it needs. Python sees a MemoryError.
class TooLarge : public std::bad_alloc {
 public:
  explicit TooLarge(std::string text) : text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

}  // namespace gm
