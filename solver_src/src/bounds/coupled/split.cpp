// The first split, which labels are left, and removal.
#include "bounds/coupled/split.hpp"

namespace gm::coupled {

Split::Split(const Problem& p) : problem(p), alive(p.size(), 1) {
  local[0].resize(p.size());
  local[1].resize(p.size());
  for (int a = 0; a < p.size(); ++a) local[0][a] = a - p.row_start[p.left[a]];
  for (int j = 0; j < p.n2; ++j)
    for (int k = p.col_start[j]; k < p.col_start[j + 1]; ++k) local[1][p.col[k]] = k - p.col_start[j];
  for (const int which : {0, 1}) side[which].build(p, which, local[which], places[which]);
  terms.reserve(p.terms.size());
  for (const Term& t : p.terms) terms.push_back({t.a, t.b});
}

void Split::remove(int a) {
  alive[a] = 0;
  side[0].forbid(problem.left[a], local[0][a]);
  side[1].forbid(problem.right[a], local[1][a]);
}

void Split::remove_idle(int which, int node) {
  Side& s = side[which];
  s.may_be_idle[node] = 0;
  s.forbid(node, s.labels[node] - 1);
}

void Split::choose(int i, int assignment) {
  if (assignment >= 0) {
    isolate(assignment);
  } else {
    for (int a = problem.row_start[i]; a < problem.row_start[i + 1]; ++a)
      if (alive[a]) remove(a);
  }
  propagate();
}

// A node with one label left takes that label from its partner in the other graph; repeated until nothing changes.
void Split::propagate() {
  const Problem& p = problem;
  const auto exhausted = [this] { return side[0].exhausted() || side[1].exhausted(); };
  empty = empty || exhausted();
  for (bool changed = true; changed && !empty;) {
    changed = false;
    for (int which = 0; which < 2; ++which)
      for (int i = 0; i < side[which].n; ++i) {
        if (side[which].may_be_idle[i]) continue;
        const std::vector<int>& start = which == 0 ? p.row_start : p.col_start;
        int only = -1, count = 0;
        for (int k = start[i]; k < start[i + 1]; ++k)
          if (const int a = which == 0 ? k : p.col[k]; alive[a]) {
            only = a;
            ++count;
          }
        if (count == 1) changed |= isolate(only);
      }
    empty = empty || exhausted();
  }
}

// Removes all labels that exclude an assignment. True when there were any.
bool Split::isolate(int assignment) {
  const Problem& p = problem;
  bool changed = false;
  const auto drop = [&](int a) {
    if (a == assignment || !alive[a]) return;
    remove(a);
    changed = true;
  };
  const int node[2] = {p.left[assignment], p.right[assignment]};
  for (int a = p.row_start[node[0]]; a < p.row_start[node[0] + 1]; ++a) drop(a);
  for (int k = p.col_start[node[1]]; k < p.col_start[node[1] + 1]; ++k) drop(p.col[k]);
  for (int which = 0; which < 2; ++which)
    if (side[which].may_be_idle[node[which]]) {
      remove_idle(which, node[which]);
      changed = true;
    }
  return changed;
}

std::vector<int> Split::labels_left(int i) const {
  std::vector<int> left;
  for (int a = problem.row_start[i]; a < problem.row_start[i + 1]; ++a)
    if (alive[a]) left.push_back(a);
  if (side[0].may_be_idle[i]) left.push_back(-1);
  return left;
}

int Split::label_count(int i) const {
  int n = side[0].may_be_idle[i];
  for (int a = problem.row_start[i]; a < problem.row_start[i + 1]; ++a) n += alive[a];
  return n;
}

int Split::only_match(int i) const {
  for (int a = problem.row_start[i]; a < problem.row_start[i + 1]; ++a)
    if (alive[a]) return problem.right[a];
  return -1;
}

}  // namespace gm::coupled
