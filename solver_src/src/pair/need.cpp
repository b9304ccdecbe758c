#include "pair/need.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "core/available.hpp"
#include "core/vec.hpp"

namespace gm {

namespace {

using memory::size_text;

std::string remaining() {
  const std::size_t left = memory::available();
  return left == static_cast<std::size_t>(-1) ? std::string()
                                              : ", " + size_text(static_cast<double>(left)) + " are free";
}

std::string nodes(int n1, int n2) { return std::to_string(n1) + " x " + std::to_string(n2) + " nodes"; }

const char* const remedy =
    ": forbid unlikely matches, use graphs with fewer edges or nodes, or a machine with more memory";

}  // namespace

double table_bytes(const Problem& p, int which) {
  const std::vector<int>& node = which == 0 ? p.left : p.right;
  const std::vector<int>& start = which == 0 ? p.row_start : p.col_start;
  const std::size_t n = static_cast<std::size_t>(which == 0 ? p.n1 : p.n2);
  std::vector<bool> seen(n * n, false);
  double entries = 0;
  for (const Term& t : p.terms) {
    const std::size_t i = static_cast<std::size_t>(std::min(node[t.a], node[t.b]));
    const std::size_t k = static_cast<std::size_t>(std::max(node[t.a], node[t.b]));
    if (seen[i * n + k]) continue;
    seen[i * n + k] = true;
    entries += static_cast<double>(start[i + 1] - start[i] + 1) *
               static_cast<double>(vec::padded(start[k + 1] - start[k] + 1));
  }
  return entries * sizeof(double);
}

TooLarge too_large_to_solve(const Problem& p, Method method) {
  const double left = table_bytes(p, 0), right = table_bytes(p, 1);
  const bool dual = method == Method::dual;
  std::string text = "a problem of " + nodes(p.n1, p.n2) + " with " + std::to_string(p.size()) + " assignments and " +
                     std::to_string(p.terms.size()) + " terms is too large for the memory: method '" +
                     (dual ? "dual" : "best") + "' needs about " + size_text(dual ? left : left + right) +
                     " for its tables";
  if (!dual) text += ", 'dual' about " + size_text(left);
  return TooLarge(text + remaining() + remedy);
}

TooLarge too_large_to_solve(const std::vector<const Problem*>& problems, int n_graphs) {
  double need = 0;
  int largest = 0;
  for (const Problem* p : problems) {
    need += table_bytes(*p, 0) + table_bytes(*p, 1);
    largest = std::max({largest, p->n1, p->n2});
  }
  return TooLarge("a problem of " + std::to_string(n_graphs) + " graphs, " + std::to_string(problems.size()) +
                  " pairs and up to " + std::to_string(largest) +
                  " nodes is too large for the memory: it needs up to " + size_text(need) + " for its tables" +
                  remaining() + remedy);
}

TooLarge too_large_to_make(int n1, int n2, int e1, int e2, double n_neighbours) {
  const double cells = static_cast<double>(n1) * n2 * (3 * sizeof(int) + sizeof(double));
  const double need = cells + n_neighbours * (sizeof(Neighbour) + 0.5 * sizeof(Term));
  std::string text = "a problem of " + nodes(n1, n2) + " with " + std::to_string(e1) + " x " + std::to_string(e2) +
                     " edges is too large";
  if (n_neighbours > max_neighbours)
    text += ": its edges make up to " + std::to_string(static_cast<long long>(n_neighbours / 2)) + " terms, " +
            std::to_string(static_cast<long long>(max_neighbours) / 2) + " are supported";
  else
    text += " for the memory";
  return TooLarge(text + ": it needs about " + size_text(need) + remaining() + remedy);
}

}  // namespace gm
