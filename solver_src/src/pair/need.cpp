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

struct TableSizes {
  double entries = 0, lines = 0;  // lines: rows and columns
};

// Of the tables of a graph: one for each two nodes with a common term.
TableSizes table_sizes(const Problem& p, int which) {
  const std::vector<int>& node = which == 0 ? p.left : p.right;
  const std::vector<int>& start = which == 0 ? p.row_start : p.col_start;
  const std::size_t n = static_cast<std::size_t>(which == 0 ? p.n1 : p.n2);
  std::vector<bool> seen(n * n, false);
  TableSizes sizes;
  for (const Term& t : p.terms) {
    const std::size_t i = static_cast<std::size_t>(std::min(node[t.a], node[t.b]));
    const std::size_t k = static_cast<std::size_t>(std::max(node[t.a], node[t.b]));
    if (seen[i * n + k]) continue;
    seen[i * n + k] = true;
    const int rows = start[i + 1] - start[i] + 1, columns = start[k + 1] - start[k] + 1;
    sizes.entries += static_cast<double>(rows) * static_cast<double>(vec::padded(columns));
    sizes.lines += rows + columns;
  }
  return sizes;
}

}  // namespace

double table_bytes(const Problem& p, int which) { return table_sizes(p, which).entries * sizeof(double); }

bool implicit_tables(const Problem& p) {
  constexpr double large = 16'000'000;   // entries of both graphs; keypoint-size problems have fewer
  constexpr double mostly_without = 16;  // entries for each term
  // First a bound that needs no look at the terms: a table for every two nodes.
  double most = 0;
  for (const double n : {static_cast<double>(p.n1), static_cast<double>(p.n2)})
    most += 0.5 * (p.size() + n) * (p.size() + 4 * n);
  if (most <= large) return false;
  const double entries = table_sizes(p, 0).entries + table_sizes(p, 1).entries;
  return entries > large && entries > mostly_without * static_cast<double>(p.terms.size());
}

double coupled_bytes(const Problem& p) {
  if (!implicit_tables(p)) return table_bytes(p, 0) + table_bytes(p, 1);
  // A term: its entry and its place by column for each graph, the link between the two, and a copy for one of them. A
  // row or column: an offset and where its entries begin.
  return 60 * static_cast<double>(p.terms.size()) + 12 * (table_sizes(p, 0).lines + table_sizes(p, 1).lines);
}

TooLarge too_large_to_solve(const Problem& p, Method method) {
  const double left = table_bytes(p, 0), best = coupled_bytes(p);
  const bool dual = method == Method::dual;
  std::string text = "a problem of " + nodes(p.n1, p.n2) + " with " + std::to_string(p.size()) + " assignments and " +
                     std::to_string(p.terms.size()) + " terms is too large for the memory: method '" +
                     (dual ? "dual" : "best") + "' needs about " + size_text(dual ? left : best) + " for its tables";
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
