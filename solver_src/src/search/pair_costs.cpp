#include "search/pair_costs.hpp"

#include <cstdint>

#include "core/poll.hpp"

namespace gm {

PairCosts::PairCosts(const Problem& p) : of(static_cast<std::size_t>(p.n1) * p.n1, -1) {
  const auto labels = [&p](int i) { return static_cast<std::size_t>(p.row_start[i + 1] - p.row_start[i]); };
  std::size_t total = 0;
  std::vector<std::size_t> table_at;  // (links,) start of a link's table
  for (const Term& t : p.terms) of[static_cast<std::size_t>(p.left[t.a]) * p.n1 + p.left[t.b]] = 0;
  start.assign(p.n1 + 1, 0);
  for (int i = 0; i < p.n1; ++i) {
    for (int k = 0; k < p.n1; ++k) {  // i < k: a table of its own; i > k: the one made for (k, i)
      int& link = of[static_cast<std::size_t>(i) * p.n1 + k];
      const int mirror = of[static_cast<std::size_t>(k) * p.n1 + i];
      if (i < k ? link < 0 : mirror < 0) continue;
      link = static_cast<int>(links.size());
      if (i < k) {
        links.push_back({k, nullptr, p.row_start[i], p.row_start[k], static_cast<int>(labels(k)), false});
        table_at.push_back(total);
        total += labels(i) * labels(k);
      } else {
        Link back = links[mirror];
        back.node = k;
        back.reversed = true;
        links.push_back(back);
        table_at.push_back(table_at[mirror]);
      }
    }
    start[i + 1] = static_cast<int>(links.size());
  }
  poll(4 * static_cast<std::int64_t>(p.terms.size()));
  table_.assign(total, 0.0);
  poll(static_cast<std::int64_t>(total));
  for (std::size_t e = 0; e < links.size(); ++e) links[e].table = table_.data() + table_at[e];
  for (const Term& t : p.terms) {  // the left node of t.a is below that of t.b, since assignments are sorted by it
    const Link& link = links[of[static_cast<std::size_t>(p.left[t.a]) * p.n1 + p.left[t.b]]];
    table_[static_cast<std::size_t>(link.table - table_.data()) +
           static_cast<std::size_t>(t.a - link.row) * link.width + (t.b - link.column)] = t.cost;
  }
  poll(4 * static_cast<std::int64_t>(p.terms.size()));
}

}  // namespace gm
