// How the coupled dual splits the costs where its tables are implicit, and which labels are left.
#pragma once

#include <cstdint>

#include "bbgm_solver/problem.hpp"
#include "bounds/coupled/labels.hpp"
#include "bounds/implicit/side.hpp"
#include "core/memory.hpp"

namespace gm::implicit {

struct Split : coupled::Labels<Side> {
  Array<int> link;  // of an entry of graph 1, the entry of the same term of graph 2

  explicit Split(const Problem& problem);
  // Frees the memory and the time that removed labels take.
  void compact();
  // Work of a sweep, in entries that it looks at.
  std::int64_t work() const;
};

}  // namespace gm::implicit
