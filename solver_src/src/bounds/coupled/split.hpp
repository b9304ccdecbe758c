// How the coupled dual splits the costs, and which labels are left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "bbgm_solver/problem.hpp"
#include "bounds/coupled/labels.hpp"
#include "bounds/coupled/side.hpp"
#include "core/memory.hpp"

namespace gm::coupled {

struct Split : Labels<Side> {
  Array<std::pair<int, int>> terms;  // (T,) of those with both assignments left, as is `places`
  TermPlaces places[2];

  explicit Split(const Problem& problem);
  // Frees the memory and the time that removed labels take.
  void compact();
  // Work of a sweep, in table entries.
  std::int64_t work() const { return static_cast<std::int64_t>(side[0].x.size() + side[1].x.size()); }

 private:
  void compact_terms();
};

}  // namespace gm::coupled
