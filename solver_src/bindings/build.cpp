#include "build.hpp"

#include <algorithm>

#include "arguments.hpp"

namespace build {

using check::Doubles;
using check::Integers;

namespace {

// Costs of staying unmatched, (n,); none: nothing is given.
std::vector<double> unmatched(const py::handle& value, const char* name, const char* symbols, int n) {
  if (value.is_none()) return std::vector<double>(n, 0.0);
  const Doubles d = check::costs(value, name, 1);
  check::shape(d, name, {n}, symbols);
  return std::vector<double>(d.data(), d.data() + n);
}

gm::Problem from_lists(int n1, int n2, const Integers& a, const Doubles& c, const Integers& t, const Doubles& d) {
  check::no_repeats(a, "assignments", n1, n2);
  const std::size_t n = static_cast<std::size_t>(a.shape(0));
  std::vector<int> order(n), place(n), left(n), right(n);
  std::vector<double> cost(n);
  const std::int64_t* pair = a.data();
  for (std::size_t k = 0; k < n; ++k) order[k] = static_cast<int>(k);
  std::sort(order.begin(), order.end(), [pair](int s, int r) {
    return pair[2 * s] != pair[2 * r] ? pair[2 * s] < pair[2 * r] : pair[2 * s + 1] < pair[2 * r + 1];
  });
  for (std::size_t k = 0; k < n; ++k) {
    place[order[k]] = static_cast<int>(k);
    left[k] = static_cast<int>(pair[2 * order[k]]);
    right[k] = static_cast<int>(pair[2 * order[k] + 1]);
    cost[k] = c.data()[order[k]];
  }
  std::vector<gm::Term> terms;
  terms.reserve(static_cast<std::size_t>(t.shape(0)));
  for (py::ssize_t k = 0; k < t.shape(0); ++k) {
    const int p = place[t.data()[2 * k]], q = place[t.data()[2 * k + 1]];
    if (left[p] != left[q] && right[p] != right[q]) terms.push_back({p, q, d.data()[k]});
  }
  return gm::Problem(n1, n2, std::move(left), std::move(right), std::move(cost), gm::merge_terms(std::move(terms)));
}

}  // namespace

gm::Problem dense(const py::handle& unary, const py::handle& edges1, const py::handle& edges2,
                  const py::handle& quadratic, const py::handle& allowed, const py::handle& unmatched1,
                  const py::handle& unmatched2) {
  const check::CostArray u = check::cost_array(unary, "unary", 2);
  const int n1 = check::count(u.array.shape(0), "unary"), n2 = check::count(u.array.shape(1), "unary");
  const Integers e1 = check::edges(edges1, "edges1", n1), e2 = check::edges(edges2, "edges2", n2);
  const check::CostArray q = check::cost_array(quadratic, "quadratic", 2);
  check::shape(q.array, "quadratic", {e1.shape(0), e2.shape(0)}, "(E1, E2)");
  check::Mask mask;
  if (!allowed.is_none()) {
    mask = check::mask(allowed, "allowed");
    check::shape(mask, "allowed", {n1, n2}, "(n1, n2)");
  }
  std::vector<double> idle1 = unmatched(unmatched1, "unmatched1", "(n1,)", n1);
  std::vector<double> idle2 = unmatched(unmatched2, "unmatched2", "(n2,)", n2);
  const py::gil_scoped_release release;
  const int n_edges1 = static_cast<int>(e1.shape(0)), n_edges2 = static_cast<int>(e2.shape(0));
  gm::Problem p = gm::from_dense(n1, n2, u.data, n_edges1, e1.data(), n_edges2, e2.data(), q.data,
                                 allowed.is_none() ? nullptr : mask.data());
  p.set_unmatched(std::move(idle1), std::move(idle2));
  return p;
}

gm::Problem sparse(std::int64_t n1, std::int64_t n2, const py::handle& assignments, const py::handle& costs,
                   const py::handle& terms, const py::handle& term_costs, const py::handle& unmatched1,
                   const py::handle& unmatched2) {
  check::count(n1, "n1");
  check::count(n2, "n2");
  const Integers a = check::pairs(assignments, "assignments", n1, n2);
  const Doubles c = check::costs(costs, "costs", 1);
  check::shape(c, "costs", {a.shape(0)}, "(A,)");
  const Integers t = check::pairs(terms, "terms", a.shape(0), a.shape(0));
  const Doubles d = check::costs(term_costs, "term_costs", 1);
  check::shape(d, "term_costs", {t.shape(0)}, "(T,)");
  gm::Problem p = from_lists(static_cast<int>(n1), static_cast<int>(n2), a, c, t, d);
  p.set_unmatched(unmatched(unmatched1, "unmatched1", "(n1,)", p.n1),
                  unmatched(unmatched2, "unmatched2", "(n2,)", p.n2));
  return p;
}

std::vector<int> matching(const py::handle& value, const gm::Problem& p) {
  const py::array a = check::as_array(value, "assignment");
  if (a.size() > 0 && a.dtype().kind() != 'i' && a.dtype().kind() != 'u')
    throw py::type_error("assignment has dtype " + py::str(a.dtype()).cast<std::string>() + ", expected integers");
  check::shape(a, "assignment", {p.n1}, "(n1,)");
  const Integers j = Integers::ensure(a);
  std::vector<int> result(p.n1), holder(p.n2, -1);
  for (int i = 0; i < p.n1; ++i) {
    const std::int64_t node = j.data()[i];
    const std::string text = check::position("assignment", {i}) + " is " + std::to_string(node);
    if (node < -1 || node >= p.n2)
      throw py::value_error(text + ", outside 0 <= index < " + std::to_string(p.n2) + " and not -1 (unmatched)");
    result[i] = static_cast<int>(node);
    if (node < 0) continue;
    if (holder[node] >= 0)
      throw py::value_error(text + ", which " + check::position("assignment", {holder[node]}) + " already is");
    if (p.find(i, result[i]) < 0) throw py::value_error(text + ", but this match is forbidden by the problem");
    holder[node] = i;
  }
  return result;
}

}  // namespace build
