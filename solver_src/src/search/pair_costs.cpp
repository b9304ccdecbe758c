#include "search/pair_costs.hpp"

#include <algorithm>
#include <cstdint>

#include "core/poll.hpp"
#include "pair/need.hpp"

namespace gm {

PairCosts::PairCosts(const Problem& p, std::size_t most_entries) : problem_(p) {
  if (tables_fit(most_entries))
    make_tables();
  else
    list_links();
}

bool PairCosts::tables_fit(std::size_t most_entries) const {
  const Problem& p = problem_;
  // Two entries of `of_` are as large as one of a table.
  if (static_cast<std::size_t>(p.n1) * p.n1 > 2 * most_entries) return false;
  // Not more than this: every two nodes with a common term have a table.
  const double rows = p.n1 > 0 ? static_cast<double>(p.size()) / p.n1 : 0;
  if (0.5 * p.n1 * p.n1 * rows * rows <= 0.5 * static_cast<double>(most_entries)) return true;
  return table_bytes(p, 0) <= static_cast<double>(most_entries) * sizeof(double);
}

// By binary search: partners of an assignment are sorted.
double PairCosts::listed(int a, int b) const {
  const auto begin = problem_.adj.begin() + problem_.adj_start[a],
             end = problem_.adj.begin() + problem_.adj_start[a + 1];
  const auto at = std::lower_bound(begin, end, b, [](const Neighbour& n, int number) { return n.a < number; });
  return at != end && at->a == b ? at->cost : 0;
}

// In the order of make_tables(), in memory of the links only.
void PairCosts::list_links() {
  const Problem& p = problem_;
  std::vector<int> seen(p.n1, -1), nodes;
  start.assign(p.n1 + 1, 0);
  for (int i = 0; i < p.n1; ++i) {
    nodes.clear();
    const int begin = p.adj_start[p.row_start[i]], end = p.adj_start[p.row_start[i + 1]];
    poll(end - begin);
    for (int k = begin; k < end; ++k) {
      const int node = p.left[p.adj[k].a];
      if (seen[node] == i) continue;
      seen[node] = i;
      nodes.push_back(node);
    }
    std::sort(nodes.begin(), nodes.end());
    for (const int k : nodes) links.push_back({k, nullptr, 0, 0, 0, k < i});
    start[i + 1] = static_cast<int>(links.size());
  }
}

void PairCosts::make_tables() {
  const Problem& p = problem_;
  of_.assign(static_cast<std::size_t>(p.n1) * p.n1, -1);
  const auto labels = [&p](int i) { return static_cast<std::size_t>(p.row_start[i + 1] - p.row_start[i]); };
  std::size_t total = 0;
  std::vector<std::size_t> table_at;  // (links,) start of a link's table
  for (const Term& t : p.terms) of_[static_cast<std::size_t>(p.left[t.a]) * p.n1 + p.left[t.b]] = 0;
  start.assign(p.n1 + 1, 0);
  for (int i = 0; i < p.n1; ++i) {
    for (int k = 0; k < p.n1; ++k) {  // i < k: a table of its own; i > k: the one made for (k, i)
      int& link = of_[static_cast<std::size_t>(i) * p.n1 + k];
      const int mirror = of_[static_cast<std::size_t>(k) * p.n1 + i];
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
    const Link& link = links[of_[static_cast<std::size_t>(p.left[t.a]) * p.n1 + p.left[t.b]]];
    table_[static_cast<std::size_t>(link.table - table_.data()) +
           static_cast<std::size_t>(t.a - link.row) * link.width + (t.b - link.column)] = t.cost;
  }
  poll(4 * static_cast<std::int64_t>(p.terms.size()));
}

}  // namespace gm
