#include "best/limits.hpp"

#include <limits>

namespace gm {

Limits limits(Effort effort) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  switch (effort) {
    case Effort::fast: return {5, 3, 0.35, 2, 200, 600, 0, 0.5, 2000, 1e-6, false};
    case Effort::thorough:
      return {30, 10, 0.85, 100, 10'000, 600'000, 4'000'000'000, inf, std::numeric_limits<int>::max(), 0, false};
    default: return {6, 7, 0.6, 20, 300, 60'000, 4'000'000, 2.5, 2000, 0, true};
  }
}

}  // namespace gm
