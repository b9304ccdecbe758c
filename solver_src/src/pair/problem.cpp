#include "bbgm_solver/problem.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <string>

#include "pair/need.hpp"

namespace gm {

Problem::Problem(int n1_, int n2_, std::vector<int> left_, std::vector<int> right_, std::vector<double> cost_,
                 std::vector<Term> terms_)
    : n1(n1_), n2(n2_), left(std::move(left_)), right(std::move(right_)), cost(std::move(cost_)),
      terms(std::move(terms_)) {
  index_assignments();
  sort_terms();
}

Problem::Problem(int n1_, int n2_, std::vector<int> left_, std::vector<int> right_, std::vector<double> cost_,
                 std::vector<Term> terms_, std::vector<int> adj_start_, std::vector<Neighbour> adj_)
    : n1(n1_), n2(n2_), left(std::move(left_)), right(std::move(right_)), cost(std::move(cost_)),
      terms(std::move(terms_)), adj_start(std::move(adj_start_)), adj(std::move(adj_)) {
  index_assignments();
}

void Problem::index_assignments() {
  const int n_assignments = size();
  largest_cost = 0;
  row_start.assign(n1 + 1, 0);
  col_start.assign(n2 + 1, 0);
  for (int a = 0; a < n_assignments; ++a) {
    ++row_start[left[a] + 1];
    ++col_start[right[a] + 1];
    largest_cost = std::max(largest_cost, std::fabs(cost[a]));
  }
  for (const Term& t : terms) largest_cost = std::max(largest_cost, std::fabs(t.cost));
  for (int i = 0; i < n1; ++i) row_start[i + 1] += row_start[i];
  for (int j = 0; j < n2; ++j) col_start[j + 1] += col_start[j];
  col.resize(n_assignments);
  std::vector<int> next(col_start.begin(), col_start.end() - 1);
  for (int a = 0; a < n_assignments; ++a) col[next[right[a]]++] = a;
  const std::int64_t cells = static_cast<std::int64_t>(n1) * n2;
  dense_.clear();
  if (cells <= 4'000'000) {
    dense_.assign(static_cast<std::size_t>(cells), -1);
    for (int a = 0; a < n_assignments; ++a) dense_[static_cast<std::size_t>(left[a]) * n2 + right[a]] = a;
  }
}

void Problem::sort_terms() {
  if (2.0 * static_cast<double>(terms.size()) > max_neighbours)
    throw TooLarge("a problem of " + std::to_string(terms.size()) + " terms is too large: " +
                   std::to_string(static_cast<long long>(max_neighbours) / 2) + " are supported");
  adj_start.assign(size() + 1, 0);
  for (const Term& t : terms) {
    ++adj_start[t.a + 1];
    ++adj_start[t.b + 1];
  }
  for (int a = 0; a < size(); ++a) adj_start[a + 1] += adj_start[a];
  adj.resize(2 * terms.size());
  std::vector<int> next(adj_start.begin(), adj_start.end() - 1);
  // Terms are sorted by (a, b): the partners below a come first, in order, then those above, in order.
  for (const Term& t : terms) adj[next[t.b]++] = {t.a, t.cost};
  for (const Term& t : terms) adj[next[t.a]++] = {t.b, t.cost};
}

void Problem::set_unmatched(std::vector<double> of_graph1, std::vector<double> of_graph2) {
  unmatched1 = std::move(of_graph1);
  unmatched2 = std::move(of_graph2);
  for (auto* costs : {&unmatched1, &unmatched2})  // free after all
    if (std::all_of(costs->begin(), costs->end(), [](double c) { return c == 0; })) costs->clear();
}

double Problem::empty_objective() const {
  double sum = 0;
  for (const double c : unmatched1) sum += c;
  for (const double c : unmatched2) sum += c;
  return sum;
}

int Problem::find(int i, int j) const {
  if (!dense_.empty()) return dense_[static_cast<std::size_t>(i) * n2 + j];
  const auto begin = right.begin() + row_start[i], end = right.begin() + row_start[i + 1];
  const auto at = std::lower_bound(begin, end, j);
  return at != end && *at == j ? static_cast<int>(at - right.begin()) : -1;
}

double Problem::evaluate(const std::vector<int>& assignment) const {
  std::vector<char> chosen(size(), 0);
  std::vector<char> idle2(unmatched2.size(), 1);
  double unary = 0, pairs = 0, idle = 0;
  for (int i = 0; i < n1; ++i) {
    if (assignment[i] < 0) {
      if (!unmatched1.empty()) idle += unmatched1[i];
      continue;
    }
    const int a = find(i, assignment[i]);
    chosen[a] = 1;
    unary += cost[a];
    if (!idle2.empty()) idle2[assignment[i]] = 0;
  }
  for (std::size_t j = 0; j < idle2.size(); ++j)
    if (idle2[j]) idle += unmatched2[j];
  for (int i = 0; i < n1; ++i) {
    if (assignment[i] < 0) continue;
    const int a = find(i, assignment[i]);
    for (int k = adj_start[a]; k < adj_start[a + 1]; ++k)
      if (adj[k].a > a && chosen[adj[k].a]) pairs += adj[k].cost;
  }
  return unary + pairs + idle;
}

double Problem::magnitude() const {
  // Each node of graph 1 pays at most its dearest assignment, each term is counted in full.
  double bound = 0;
  for (int i = 0; i < n1; ++i) {
    double most = 0;
    for (int a = row_start[i]; a < row_start[i + 1]; ++a) {
      // Of the partners of a, one per node of graph 1; they are sorted by that node.
      double sum = 0, dearest = 0;
      for (int k = adj_start[a]; k < adj_start[a + 1]; ++k) {
        if (k > adj_start[a] && left[adj[k].a] != left[adj[k - 1].a]) {
          sum += dearest;
          dearest = 0;
        }
        dearest = std::max(dearest, std::fabs(adj[k].cost));
      }
      most = std::max(most, std::fabs(cost[a]) + 0.5 * (sum + dearest));
    }
    bound += most;
  }
  return bound;
}

std::vector<Term> merge_terms(std::vector<Term> terms) {
  for (Term& t : terms)
    if (t.a > t.b) std::swap(t.a, t.b);
  std::stable_sort(terms.begin(), terms.end(),
                   [](const Term& s, const Term& t) { return s.a != t.a ? s.a < t.a : s.b < t.b; });
  std::size_t kept = 0;
  for (std::size_t k = 0; k < terms.size(); ++k) {
    if (kept > 0 && terms[kept - 1].a == terms[k].a && terms[kept - 1].b == terms[k].b)
      terms[kept - 1].cost += terms[k].cost;
    else
      terms[kept++] = terms[k];
  }
  terms.resize(kept);
  return terms;
}

}  // namespace gm
