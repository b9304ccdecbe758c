// Greedy insertion and descent on large problems: what is best in each row is remembered, and found again only where
// something has changed. The moves are those of a scan of all rows, to the last bit.
#include <algorithm>
#include <limits>

#include "core/poll.hpp"
#include "search/local_search.hpp"

namespace gm {

namespace {

constexpr std::int64_t always = std::numeric_limits<std::int64_t>::max();  // no move is tabu

}  // namespace

void LocalSearch::greedy_by_rows() {
  const Problem& p = problem_;
  std::vector<int> least(p.n1, -1);  // cheapest assignment of a free node to a free node, if it pays
  const auto scan = [&](int i) {
    least[i] = -1;
    if (at1_[i] >= 0) return;
    double gain = 0;
    for (int a = p.row_start[i]; a < p.row_start[i + 1]; ++a)
      if (gain_[a] < gain && at2_[p.right[a]] < 0) {
        gain = gain_[a];
        least[i] = a;
      }
  };
  for (int i = 0; i < p.n1; ++i) scan(i);
  std::vector<int> changed;
  for (;;) {
    int best = -1;
    for (const int a : least)
      if (a >= 0 && (best < 0 || gain_[a] < gain_[best])) best = a;
    if (best < 0) break;
    insert(best);
    changed.assign(1, p.left[best]);
    const int j = p.right[best];
    for (int k = p.col_start[j]; k < p.col_start[j + 1]; ++k)
      if (least[p.left[p.col[k]]] == p.col[k]) changed.push_back(p.left[p.col[k]]);
    for (int k = p.adj_start[best]; k < p.adj_start[best + 1]; ++k) changed.push_back(p.left[p.adj[k].a]);
    std::sort(changed.begin(), changed.end());
    changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
    for (const int i : changed) {
      poll(p.row_start[i + 1] - p.row_start[i]);
      scan(i);
    }
    poll(p.n1);
  }
  keep_if_best();
}

void LocalSearch::descend_by_rows() {
  const Problem& p = problem_;
  constexpr double inf = std::numeric_limits<double>::infinity();
  const double least = -1e-12 * (1e-300 + p.largest_cost);
  row_move_.assign(p.n1, Move{inf});
  touched_.assign(p.n1, 0);
  touched_rows_.clear();
  for (int i = 0; i < p.n1; ++i) touch_row(i);
  watched_ = true;
  for (;;) {
    for (const int i : touched_rows_) {
      poll(8 * (p.row_start[i + 1] - p.row_start[i]));
      for (int a = p.row_start[i]; a < p.row_start[i + 1]; ++a) {
        const int b0 = at2_[p.right[a]];
        column_[p.right[a]] = b0 >= 0 ? -gain_[b0] : 0.0;
      }
      row_move_[i] = Move{inf};
      scan_row(i, always, -inf, row_move_[i]);
      touched_[i] = 0;
    }
    touched_rows_.clear();
    int best = -1;
    for (int i = 0; i < p.n1; ++i)
      if (best < 0 || row_move_[i].delta < row_move_[best].delta) best = i;
    poll(p.n1);
    if (best < 0 || !(row_move_[best].delta < least)) break;
    apply(row_move_[best]);
  }
  watched_ = false;
  keep_if_best();
}

// After an assignment has entered or left: whose moves look at it, or at a gain that it has changed.
void LocalSearch::touch(int a) {
  const Problem& p = problem_;
  touch_row(p.left[a]);
  touch_column(p.right[a]);
  for (int k = p.adj_start[a]; k < p.adj_start[a + 1]; ++k) {
    const int b = p.adj[k].a;
    touch_row(p.left[b]);
    if (at1_[p.left[b]] == b)
      touch_column(p.right[b]);  // every move to this column pays its gain back
    else if (const int holder = at2_[p.right[b]]; holder >= 0)
      touch_row(p.left[holder]);  // may swap with b's node
  }
}

void LocalSearch::touch_row(int i) {
  if (touched_[i]) return;
  touched_[i] = 1;
  touched_rows_.push_back(i);
}

void LocalSearch::touch_column(int j) {
  for (int k = problem_.col_start[j]; k < problem_.col_start[j + 1]; ++k) touch_row(problem_.left[problem_.col[k]]);
}

}  // namespace gm
