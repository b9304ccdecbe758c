#include "bounds/implicit/ascent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/poll.hpp"
#include "core/vec.hpp"

namespace gm::implicit {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double top = 300;  // weights are e^300 and less, so that costs up to 1000 temperatures more still count

// x = e^(top - (x - low) / temperature), entries of +inf give 0; n is padded to four. Returns the sum.
GM_CLONES double to_weights(double* x, std::size_t n, double low, double temperature) {
  const double factor = -1 / temperature;
  vec::Four total{}, y;
  for (std::size_t k = 0; k < n; k += 4) {
    vec::load(x + k, y);
    y = (y - low) * factor + top;
    vec::exp(y, y);
    total += y;
    vec::store(x + k, y);
  }
  return vec::sum(total);
}

// x = -temperature ln(x e^-top), n padded to four.
GM_CLONES void to_costs(double* x, std::size_t n, double temperature) {
  for (std::size_t k = 0; k < n; k += 4) {
    vec::Four y;
    vec::load(x + k, y);
    y = y < 1e-290 ? vec::Four{1e-290, 1e-290, 1e-290, 1e-290} : y;
    vec::log(y, y);
    y = (y - top) * -temperature;
    vec::store(x + k, y);
  }
}

}  // namespace

void Ascent::run(Split& split, double temperature, int sweeps) {
  temperature_ = temperature;
  for (const int which : {0, 1}) {
    soft_least_[which].assign(split.side[which].n, 0.0);
    log_odds_[which].assign(split.side[which].u.size(), 0.0);
  }
  for (int k = 0; k < sweeps; ++k) {
    for (int i = 0; i < split.side[0].n; ++i) star(split.side[0], 0, i);
    tie_nodes(split);
    for (int j = 0; j < split.side[1].n; ++j) star(split.side[1], 1, j);
    tie_terms(split);
    tie_nodes(split);
  }
}

// What a table's lines cross and its entries, as weights.
void Ascent::weigh(const Lines& v) {
  const int first = v.begin[0], size = v.begin[v.count] - first;
  const std::size_t padded = vec::padded(v.crossing), padded_size = vec::padded(size);
  if (across_.size() < padded) across_.resize(padded);
  if (entry_.size() < padded_size) entry_.resize(padded_size);
  std::copy_n(v.across, v.crossing, across_.begin());
  std::fill(across_.begin() + v.crossing, across_.begin() + padded, inf);
  low_ = inf;
  for (int k = 0; k < size; ++k) {
    const Entry& e = v.entry(first + k);
    entry_[k] = v.across[v.crossed(e)] + e.cost;
    low_ = std::min(low_, entry_[k]);
  }
  std::fill(entry_.begin() + size, entry_.begin() + padded_size, inf);
  lowest_.find(v.crossing, v.across);
  low_ = std::min(low_, lowest_.value[0]);
  if (low_ == inf) low_ = 0;  // all is removed: weights are 0
  to_weights(entry_.data(), padded_size, low_, temperature_);
  to_weights(across_.data(), padded, low_, temperature_);
}

// Sums are made so that nothing large is taken off again: a line may be unable to use the lowest offsets, and what is
// left can be many orders of magnitude less.
void Ascent::line_marginals(const Lines& v, double* out) {
  weigh(v);
  for (int t = 0; t < lowest_.count; ++t) {
    lowest_weight_[t] = across_[lowest_.at[t]];
    across_[lowest_.at[t]] = 0;
  }
  double rest = 0;
  for (int c = 0; c < v.crossing; ++c) rest += across_[c];
  const int first = v.begin[0];
  excluded_.start(v);
  for (int line = 0; line < v.count; ++line) {
    out[line] = 0;
    if (v.offset[line] == inf) continue;
    excluded_.next(v, line);
    double listed = 0, less = 0, lowest = 0;
    for (int k = v.begin[line]; k < v.begin[line + 1]; ++k) {
      listed += entry_[k - first];
      less += across_[v.crossed(v.entry(k))];
    }
    if (excluded_.same() >= 0) less += across_[excluded_.same()];
    int used = 0;
    for (int t = 0; t < lowest_.count; ++t)
      if (!excluded_.has(lowest_.at[t])) {
        lowest += lowest_weight_[t];
        ++used;
      }
    double others = std::max(0.0, rest - less);
    if (used == 0) {
      others = 0;
      for (int c = 0; c < v.crossing; ++c)
        if (!excluded_.has(c)) others += across_[c];
    }
    out[line] = listed + (lowest + others);
  }
  std::fill(out + v.count, out + vec::padded(v.count), 1.0);
  to_costs(out, vec::padded(v.count), temperature_);
  for (int line = 0; line < v.count; ++line) out[line] += v.offset[line] + low_;
}

// The soft-min marginals of all tables at a node and the node's own vector are averaged; each gets the average back.
void Ascent::star(Side& s, int which, int node) {
  const auto& incident = s.incident[node];
  if (incident.empty()) return;
  const int labels = s.labels[node];
  const std::size_t width = vec::padded(labels);
  if (marginals_.size() < incident.size() * width) marginals_.resize(incident.size() * width);
  double* marginal = marginals_.data();
  for (const Incident& e : incident) {
    const Lines view = s.lines(s.tables[e.table], e.as_row);
    poll(8 * static_cast<std::int64_t>(view.count + view.crossing));
    line_marginals(view, marginal);
    marginal += width;
  }
  double* own = s.u.data() + s.node_at[node];
  const double share = 1.0 / (static_cast<double>(incident.size()) + 1);
  double least = inf;
  for (int l = 0; l < labels; ++l) {
    if (own[l] == inf) continue;
    double average = own[l];
    for (std::size_t e = 0; e < incident.size(); ++e) average += marginals_[e * width + l];
    average *= share;
    own[l] = average;
    least = std::min(least, average);
    for (std::size_t e = 0; e < incident.size(); ++e) {
      const Table& table = s.tables[incident[e].table];
      double* offset = incident[e].as_row ? &s.row_offset[table.row_at] : &s.column_offset[table.column_at];
      offset[l] += average - marginals_[e * width + l];
    }
  }
  std::copy_n(own, width, marginals_.begin());
  const double total = to_weights(marginals_.data(), width, least, temperature_);
  soft_least_[which][node] = least - temperature_ * (std::log(total) - top);
}

}  // namespace gm::implicit
