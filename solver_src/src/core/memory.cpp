#include "core/memory.hpp"

#include <new>

namespace gm::memory {

namespace {

// Blocks of 2^first to 2^last bytes are kept: smaller ones are cheap to get, larger ones belong to problems that take
// long anyway. A thread keeps 32 MB at most.
constexpr int first = 14, last = 21, most = 8;

struct Kept {
  void* blocks[last - first + 1][most];
  int count[last - first + 1] = {};
  ~Kept() {
    for (int k = 0; k <= last - first; ++k)
      while (count[k] > 0) ::operator delete(blocks[k][--count[k]]);
  }
};

thread_local Kept kept;

// Which list a block belongs to, -1 for none.
int list_of(std::size_t bytes) {
  if (bytes <= std::size_t(1) << (first - 1) || bytes > std::size_t(1) << last) return -1;
  int k = 0;
  while (bytes > std::size_t(1) << (first + k)) ++k;
  return k;
}

}  // namespace

void* take(std::size_t bytes) {
  const int k = list_of(bytes);
  if (k < 0) return ::operator new(bytes);
  if (kept.count[k] == 0) return ::operator new(std::size_t(1) << (first + k));
  return kept.blocks[k][--kept.count[k]];
}

void give_back(void* block, std::size_t bytes) noexcept {
  const int k = list_of(bytes);
  if (k < 0 || kept.count[k] == most) return ::operator delete(block);
  kept.blocks[k][kept.count[k]++] = block;
}

}  // namespace gm::memory
