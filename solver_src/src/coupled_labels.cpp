// Labels of the coupled dual: what is left, and removal.
#include "coupled.hpp"

#include <algorithm>
#include <limits>

namespace gm {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

}  // namespace

int CoupledDual::remove_above(double upper) {
  if (empty_) return 0;
  const Problem& p = problem_;
  int removed = 0;
  const Side &s0 = side_[0], &s1 = side_[1];
  std::vector<int> doomed;
  for (int a = 0; a < p.size(); ++a) {
    if (!alive_[a]) continue;
    const int i = p.left[a], j = p.right[a];
    const double reduced = lap_costs_[static_cast<std::size_t>(i) * p.n2 + j] - lap_.row[i] - lap_.column[j];
    const double with = bound_ + std::max(0.0, reduced) + s0.node_marginal[s0.node_at[i] + local_[0][a]] +
                        s1.node_marginal[s1.node_at[j] + local_[1][a]];
    label_bound_[a] = with;
    if (with >= upper) doomed.push_back(a);
  }
  for (const int a : doomed) kill(a);
  removed += static_cast<int>(doomed.size());
  for (int which = 0; which < 2; ++which) {
    Side& s = side_[which];
    const std::vector<double>& potential = which == 0 ? lap_.row : lap_.column;
    for (int i = 0; i < s.n; ++i) {
      if (!s.dummy[i]) continue;
      const int last = s.labels[i] - 1;
      const double with = bound_ - potential[i] + s.node_marginal[s.node_at[i] + last];
      if (which == 0) idle_bound_[i] = with;
      if (with >= upper) {
        s.dummy[i] = 0;
        forbid(s, i, last);
        ++removed;
      }
    }
  }
  check_empty();
  propagate();
  return removed;
}

void CoupledDual::check_empty() {
  for (const Side& s : side_)
    for (int i = 0; i < s.n; ++i) {
      const auto begin = s.u.begin() + s.node_at[i];
      if (std::none_of(begin, begin + s.labels[i], [](double c) { return c < inf; })) empty_ = true;
    }
}

void CoupledDual::forbid(Side& s, int node, int label) {
  s.u[s.node_at[node] + label] = inf;
  for (const Incident& e : s.incident[node]) {
    const Table& table = s.tables[e.table];
    double* x = s.x.data() + table.start;
    if (e.as_row)
      std::fill_n(x + static_cast<std::size_t>(label) * table.width, table.width, inf);
    else
      for (int r = 0; r < table.rows; ++r) x[static_cast<std::size_t>(r) * table.width + label] = inf;
  }
}

void CoupledDual::kill(int a) {
  alive_[a] = 0;
  forbid(side_[0], problem_.left[a], local_[0][a]);
  forbid(side_[1], problem_.right[a], local_[1][a]);
}

void CoupledDual::choose(int i, int assignment) {
  if (assignment >= 0) {
    isolate(assignment);
  } else {
    for (int a = problem_.row_start[i]; a < problem_.row_start[i + 1]; ++a)
      if (alive_[a]) kill(a);
  }
  check_empty();
  propagate();
}

std::vector<int> CoupledDual::labels_left(int i) const {
  std::vector<int> left;
  for (int a = problem_.row_start[i]; a < problem_.row_start[i + 1]; ++a)
    if (alive_[a]) left.push_back(a);
  if (side_[0].dummy[i]) left.push_back(-1);
  return left;
}

double CoupledDual::label_bound(int i, int label) const { return label < 0 ? idle_bound_[i] : label_bound_[label]; }

int CoupledDual::label_count(int i) const {
  int n = side_[0].dummy[i];
  for (int a = problem_.row_start[i]; a < problem_.row_start[i + 1]; ++a) n += alive_[a];
  return n;
}

int CoupledDual::only_match(int i) const {
  for (int a = problem_.row_start[i]; a < problem_.row_start[i + 1]; ++a)
    if (alive_[a]) return problem_.right[a];
  return -1;
}

int CoupledDual::size() const {
  int n = 0;
  for (int i = 0; i < problem_.n1; ++i) n += label_count(i);
  return n;
}

// A node with one label left takes that label from its partner in the other graph; repeated until nothing changes.
void CoupledDual::propagate() {
  const Problem& p = problem_;
  for (bool changed = true; changed && !empty_;) {
    changed = false;
    for (int which = 0; which < 2; ++which)
      for (int i = 0; i < side_[which].n; ++i) {
        if (side_[which].dummy[i]) continue;
        const std::vector<int>& start = which == 0 ? p.row_start : p.col_start;
        int only = -1, count = 0;
        for (int k = start[i]; k < start[i + 1]; ++k)
          if (const int a = which == 0 ? k : p.col[k]; alive_[a]) {
            only = a;
            ++count;
          }
        if (count == 1) changed |= isolate(only);
      }
    check_empty();
  }
}

// Removes all labels that exclude an assignment. True when there were any.
bool CoupledDual::isolate(int assignment) {
  const Problem& p = problem_;
  bool changed = false;
  const auto drop = [&](int a) {
    if (a == assignment || !alive_[a]) return;
    kill(a);
    changed = true;
  };
  const int node[2] = {p.left[assignment], p.right[assignment]};
  for (int a = p.row_start[node[0]]; a < p.row_start[node[0] + 1]; ++a) drop(a);
  for (int k = p.col_start[node[1]]; k < p.col_start[node[1] + 1]; ++k) drop(p.col[k]);
  for (int which = 0; which < 2; ++which)
    if (Side& s = side_[which]; s.dummy[node[which]]) {
      s.dummy[node[which]] = 0;
      forbid(s, node[which], s.labels[node[which]] - 1);
      changed = true;
    }
  return changed;
}

}  // namespace gm
