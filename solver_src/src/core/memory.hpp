// Large arrays whose memory stays with the thread: giving it back to the system and asking for it again costs more than
// an easy solve does.
#pragma once

#include <cstddef>
#include <vector>

namespace gm {

namespace memory {

// A block of at least `bytes`, from those that this thread gave back or from the system.
void* take(std::size_t bytes);
void give_back(void* block, std::size_t bytes) noexcept;

}  // namespace memory

// Elements without an initial value are left as they are: resize() costs nothing, assign() fills.
template <class T>
struct KeptMemory {
  using value_type = T;
  KeptMemory() = default;
  template <class U>
  KeptMemory(const KeptMemory<U>&) noexcept {}

  T* allocate(std::size_t n) { return static_cast<T*>(memory::take(n * sizeof(T))); }
  void deallocate(T* block, std::size_t n) noexcept { memory::give_back(block, n * sizeof(T)); }
  template <class U>
  void construct(U* element) noexcept {
    ::new (static_cast<void*>(element)) U;
  }
  template <class U, class... Args>
  void construct(U* element, Args&&... args) {
    ::new (static_cast<void*>(element)) U(static_cast<Args&&>(args)...);
  }
  friend bool operator==(const KeptMemory&, const KeptMemory&) { return true; }
  friend bool operator!=(const KeptMemory&, const KeptMemory&) { return false; }
};

template <class T>
using Array = std::vector<T, KeptMemory<T>>;

}  // namespace gm
