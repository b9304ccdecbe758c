#include "pair/restrict.hpp"

#include <utility>

namespace gm {

Problem restricted(const Problem& p, const std::vector<char>& kept) {
  std::vector<int> left, right, index(p.size(), -1);
  std::vector<double> cost;
  std::vector<Term> terms;
  for (int a = 0; a < p.size(); ++a) {
    if (!kept[a]) continue;
    index[a] = static_cast<int>(cost.size());
    left.push_back(p.left[a]);
    right.push_back(p.right[a]);
    cost.push_back(p.cost[a]);
  }
  for (const Term& t : p.terms)
    if (kept[t.a] && kept[t.b]) terms.push_back({index[t.a], index[t.b], t.cost});
  return Problem(p.n1, p.n2, std::move(left), std::move(right), std::move(cost), std::move(terms));
}

}  // namespace gm
