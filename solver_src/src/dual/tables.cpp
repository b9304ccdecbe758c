#include "dual/tables.hpp"

#include <algorithm>
#include <limits>

#include "core/available.hpp"
#include "pair/need.hpp"

namespace gm {

DualTables::DualTables(const Problem& p, double part) : incident_(p.n1) {
  const auto labels = [&p](int i) { return p.row_start[i + 1] - p.row_start[i] + 1; };
  std::vector<int> id(static_cast<std::size_t>(p.n1) * p.n1, -1);
  int widest = 0;
  for (int i = 0; i < p.n1; ++i) widest = std::max(widest, labels(i));
  if (static_cast<double>(p.terms.size()) * widest * widest > 1e7) {  // it may be large: count, and make it in one go
    const std::size_t bytes = static_cast<std::size_t>(table_bytes(p, 0));
    memory::demand(bytes);
    x_.reserve(bytes / sizeof(double));
  }
  for (const Term& term : p.terms) {
    const int i = p.left[term.a], k = p.left[term.b];
    int& table = id[static_cast<std::size_t>(i) * p.n1 + k];
    const auto at = [&](int a, int b) -> double& {
      const Table& t = tables_[table];
      return x_[t.start + static_cast<std::size_t>(a - p.row_start[i]) * t.columns + (b - p.row_start[k])];
    };
    if (table < 0) {
      table = static_cast<int>(tables_.size());
      tables_.push_back({labels(i), labels(k), x_.size()});
      x_.resize(x_.size() + static_cast<std::size_t>(labels(i)) * labels(k), 0.0);
      incident_[i].push_back({table, true});
      incident_[k].push_back({table, false});
      for (int a = p.row_start[i]; a < p.row_start[i + 1]; ++a)  // both nodes matched to the same one
        if (const int b = p.find(k, p.right[a]); b >= 0) at(a, b) = std::numeric_limits<double>::infinity();
    }
    at(term.a, term.b) = part * term.cost;
  }
  int most = 0;
  for (int i = 0; i < p.n1; ++i) most = std::max(most, labels(i));
  marginal_.resize(most);
}

void DualTables::receive(const Incident& e, double* costs) {
  const Table& t = tables_[e.table];
  double* x = x_.data() + t.start;
  if (e.as_row) {
    for (int r = 0; r < t.rows; ++r, x += t.columns) {
      const double m = *std::min_element(x, x + t.columns);
      costs[r] += m;
      for (int c = 0; c < t.columns; ++c) x[c] -= m;
    }
    return;
  }
  std::copy(x, x + t.columns, marginal_.begin());
  for (int r = 1; r < t.rows; ++r)
    for (int c = 0; c < t.columns; ++c)
      marginal_[c] = std::min(marginal_[c], x[static_cast<std::size_t>(r) * t.columns + c]);
  for (int c = 0; c < t.columns; ++c) costs[c] += marginal_[c];
  for (int r = 0; r < t.rows; ++r, x += t.columns)
    for (int c = 0; c < t.columns; ++c) x[c] -= marginal_[c];
}

void DualTables::send(const Incident& e, const double* message) {
  const Table& t = tables_[e.table];
  double* x = x_.data() + t.start;
  for (int r = 0; r < t.rows; ++r, x += t.columns)
    for (int c = 0; c < t.columns; ++c) x[c] += message[e.as_row ? r : c];
}

double DualTables::sum_of_minima() const {
  double sum = 0;
  for (const Table& t : tables_) {
    const double* x = x_.data() + t.start;
    sum += *std::min_element(x, x + static_cast<std::size_t>(t.rows) * t.columns);
  }
  return sum;
}

}  // namespace gm
