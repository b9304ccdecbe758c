// The first split: half of each cost to either graph.
#include "bounds/coupled/split.hpp"

namespace gm::coupled {

Split::Split(const Problem& p) : Labels(p) {
  for (const int which : {0, 1}) side[which].build(p, which, local[which], places[which]);
  terms.reserve(p.terms.size());
  for (const Term& t : p.terms) terms.push_back({t.a, t.b});
}

}  // namespace gm::coupled
