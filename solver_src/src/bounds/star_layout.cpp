#include "bounds/star_layout.hpp"

#include "core/poll.hpp"
#include "core/vec.hpp"

namespace gm {

StarLayout::StarLayout(const Problem& p) : stars(p.size()), cells(p.adj.size()) {
  // The same order as in Problem: partners below, then partners above.
  std::vector<int> next(p.adj_start.begin(), p.adj_start.end() - 1), low(p.terms.size());
  for (std::size_t t = 0; t < p.terms.size(); ++t) low[t] = next[p.terms[t].b]++;
  for (std::size_t t = 0; t < p.terms.size(); ++t) {
    const int high = next[p.terms[t].a]++;
    cells[high].mirror = low[t];
    cells[low[t]].mirror = high;
  }
  place_cells(p);
}

void StarLayout::place_cells(const Problem& p) {
  std::vector<int> column_of(p.n2, -1);
  for (int a = 0; a < p.size(); ++a) {
    Star& star = stars[a];
    star = {0, 0, 0, nodes.size()};
    const int begin = p.adj_start[a], end = p.adj_start[a + 1];
    poll(8 * (end - begin));
    for (int k = begin; k < end; ++k) {
      const int i = p.left[p.adj[k].a];
      if (k == begin || i != p.left[p.adj[k - 1].a]) {
        nodes.push_back(i);
        ++star.rows;
      }
      cells[k].row = star.rows - 1;
    }
    for (int k = begin; k < end; ++k) {
      int& column = column_of[p.right[p.adj[k].a]];
      if (column < 0) {
        nodes.push_back(p.right[p.adj[k].a]);
        column = star.columns++;
      }
      cells[k].column = column;
    }
    star.width = static_cast<int>(vec::padded(star.columns));
    for (int c = 0; c < star.columns; ++c) column_of[nodes[star.nodes + star.rows + c]] = -1;
  }
}

}  // namespace gm
