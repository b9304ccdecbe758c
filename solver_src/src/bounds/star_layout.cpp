#include "bounds/star_layout.hpp"

#include <cstdint>

#include "core/poll.hpp"
#include "core/vec.hpp"

namespace gm {

namespace {

// Columns of the star of an assignment whose cells begin .. end - 1 are a table without gaps, row by row; 0 if they are
// not. Where every match is allowed, assignment (i, j) is number i n2 + j.
int columns_of_table(const Problem& p, int begin, int end) {
  const Neighbour* cell = p.adj.data() + begin;
  const int count = end - begin, first = cell[0].a, next_row = (p.left[first] + 1) * p.n2;
  int columns = 1;
  while (columns < count && cell[columns].a < next_row) ++columns;
  if (count % columns != 0) return 0;
  for (const Neighbour* row = cell + columns; row < cell + count; row += columns) {
    const int shift = row[0].a - first;
    bool same = shift % p.n2 == 0;
    for (int c = 1; c < columns; ++c) same &= row[c].a - cell[c].a == shift;
    if (!same) return 0;
  }
  return columns;
}

}  // namespace

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
  const bool complete = static_cast<std::int64_t>(p.n1) * p.n2 == p.size();
  for (int a = 0; a < p.size(); ++a) {
    Star& star = stars[a];
    star = {0, 0, 0, nodes.size()};
    const int begin = p.adj_start[a], end = p.adj_start[a + 1];
    poll(8 * (end - begin));
    if (const int columns = complete && begin < end ? columns_of_table(p, begin, end) : 0; columns > 0) {
      star.rows = (end - begin) / columns;
      star.columns = columns;
      star.width = static_cast<int>(vec::padded(columns));
      for (int r = 0; r < star.rows; ++r) nodes.push_back(p.left[p.adj[begin + r * columns].a]);
      for (int c = 0; c < columns; ++c) nodes.push_back(p.right[p.adj[begin + c].a]);
      StarCell* cell = cells.data() + begin;
      for (int r = 0; r < star.rows; ++r)
        for (int c = 0; c < columns; ++c, ++cell) {
          cell->row = r;
          cell->column = c;
        }
      continue;
    }
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
