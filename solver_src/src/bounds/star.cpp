#include "bounds/star.hpp"

#include <algorithm>
#include <limits>

#include "core/poll.hpp"
#include "core/vec.hpp"

namespace gm {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double moved = 0.8;    // part of what a star can spare that is moved
constexpr int quick_rounds = 6;  // linear assignments of quick_bound()
constexpr double kept = 0.1;     // part of a term's cost that a likely assignment's star has at first

}  // namespace

StarBound::StarBound(const Problem& p, const StarLayout& layout, const std::vector<int>& matching)
    : problem_(p), layout_(layout), part_(p.adj.size()), alive_(p.size(), 1), costs_(p.size(), inf), size_(p.size()) {
  forced_[0].assign(p.n1, 0);
  forced_[1].assign(p.n2, 0);
  for (int i = 0; i < p.n1; ++i) labels_[0].push_back(p.row_start[i + 1] - p.row_start[i]);
  for (int j = 0; j < p.n2; ++j) labels_[1].push_back(p.col_start[j + 1] - p.col_start[j]);
  potential_.resize(layout_.nodes.size());
  split(matching);
}

// Half of a term's cost to either assignment. Of a term that the matching does not pay, an assignment of the matching
// gets less: in its star nothing shall look better than the matching, or its value is too low.
void StarBound::split(const std::vector<int>& matching) {
  const Problem& p = problem_;
  for (std::size_t k = 0; k < part_.size(); ++k) part_[k] = 0.5 * p.adj[k].cost;
  for (int i = 0; i < p.n1; ++i) {
    if (matching[i] < 0) continue;
    const int a = p.find(i, matching[i]);
    for (int k = p.adj_start[a]; k < p.adj_start[a + 1]; ++k) {
      const int b = p.adj[k].a;
      if (matching[p.left[b]] == p.right[b]) continue;
      part_[k] = kept * p.adj[k].cost;
      part_[layout_.cells[k].mirror] = p.adj[k].cost - part_[k];
    }
  }
}

// The cost of an assignment and the least that its star can add; the potentials of its nodes with it.
double StarBound::value(int a) {
  const Problem& p = problem_;
  const Star& star = layout_.stars[a];
  const int begin = p.adj_start[a], end = p.adj_start[a + 1];
  if (begin == end) return p.cost[a];
  poll(8 * (end - begin));
  matrix_.assign(static_cast<std::size_t>(star.rows) * star.width, inf);
  for (int k = begin; k < end; ++k) matrix_[layout_.cells[k].row * star.width + layout_.cells[k].column] = part_[k];
  const double rewards = any_forced_ ? force(a) : 0;
  solve_lap(star.rows, star.width, matrix_.data(), star_lap_);
  double* potential = potential_.data() + star.nodes;
  for (int r = 0; r < star.rows; ++r) potential[r] = star_lap_.row[r] + (any_forced_ ? reward_[0][r] : 0);
  potential += star.rows;
  for (int c = 0; c < star.columns; ++c) potential[c] = star_lap_.column[c] + (any_forced_ ? reward_[1][c] : 0);
  return p.cost[a] + star_lap_.value + rewards;
}

// A neighbour that must be matched and all of whose labels are in the star is matched in the star: a reward for that,
// in the matrix. Returns the sum of the rewards, which the value of the star then lacks.
double StarBound::force(int a) {
  const Problem& p = problem_;
  const Star& star = layout_.stars[a];
  // Any reward gives a bound. It must stay the same from pass to pass, or stars could lose what was spent on them.
  const double reward = 16 * p.largest_cost;
  double sum = 0;
  for (int which = 0; which < 2; ++which) {
    const int n = which == 0 ? star.rows : star.columns;
    const int* nodes = layout_.nodes.data() + star.nodes + (which == 0 ? 0 : star.rows);
    reward_[which].assign(n, 0.0);
    for (int k = 0; k < n; ++k) {
      const int node = nodes[k];
      if (!forced_[which][node]) continue;
      const int excluded = which == 0 ? p.find(node, p.right[a]) : p.find(p.left[a], node);
      int missing = labels_[which][node] - (excluded >= 0 && alive_[excluded]);
      double* x = which == 0 ? matrix_.data() + static_cast<std::size_t>(k) * star.width : matrix_.data() + k;
      const int step = which == 0 ? 1 : star.width, others = which == 0 ? star.columns : star.rows;
      for (int l = 0; l < others; ++l) missing -= x[l * step] < inf;
      if (missing > 0) continue;
      for (int l = 0; l < others; ++l) x[l * step] -= reward;
      reward_[which][k] = reward;
      sum += reward;
    }
  }
  return sum;
}

namespace {

// Minima of the rows and of the columns of a (rows, columns) table, or 0 where that is less.
GM_CLONES void minima(int rows, int columns, const double* x, double* of_rows, double* of_columns) {
  for (int r = 0; r < rows; ++r, x += columns) {
    double least = 0;
    int c = 0;
    for (; c + 4 <= columns; c += 4) {
      vec::Four row, column;
      vec::load(x + c, row);
      vec::load(of_columns + c, column);
      vec::min(row, column, column);
      vec::store(of_columns + c, column);
      const vec::Four swapped = {row[2], row[3], row[0], row[1]};
      vec::min(row, swapped, row);
      least = std::min(least, std::min(row[0], row[1]));
    }
    for (; c < columns; ++c) {
      of_columns[c] = std::min(of_columns[c], x[c]);
      least = std::min(least, x[c]);
    }
    of_rows[r] = least;
  }
}

// Lowers the entries of a (rows, columns) table by what pass() moves; removed ones stay.
GM_CLONES void lower(int rows, int columns, const double* of_rows, const double* of_columns, double each, double* x) {
  for (int r = 0; r < rows; ++r, x += columns) {
    int c = 0;
    for (; c + 4 <= columns; c += 4) {
      vec::Four part, column;
      vec::load(x + c, part);
      vec::load(of_columns + c, column);
      const vec::Four less = part - moved * (part - (of_rows[r] + column - each));
      part = part < inf ? less : part;
      vec::store(x + c, part);
    }
    for (; c < columns; ++c)
      if (x[c] < inf) x[c] -= moved * (x[c] - (of_rows[r] + of_columns[c] - each));
  }
}

}  // namespace

// The same, without solving the star: the minima of its rows, or of its columns, are potentials too.
double StarBound::least_value(int a) {
  const Problem& p = problem_;
  const Star& star = layout_.stars[a];
  const int begin = p.adj_start[a], end = p.adj_start[a + 1];
  if (begin == end) return p.cost[a];
  poll(2 * (end - begin));
  double* rows = potential_.data() + star.nodes;
  double* columns = rows + star.rows;
  std::fill_n(rows, star.rows + star.columns, 0.0);
  if (star.rows * star.columns == end - begin) {  // a table without gaps, as it lies there
    minima(star.rows, star.columns, part_.data() + begin, rows, columns);
  } else {
    for (int k = begin; k < end; ++k) {
      const StarCell& cell = layout_.cells[k];
      rows[cell.row] = std::min(rows[cell.row], part_[k]);
      columns[cell.column] = std::min(columns[cell.column], part_[k]);
    }
  }
  double of_rows = 0, of_columns = 0;
  for (int r = 0; r < star.rows; ++r) of_rows += rows[r];
  for (int c = 0; c < star.columns; ++c) of_columns += columns[c];
  if (of_rows >= of_columns) {
    std::fill_n(columns, star.columns, 0.0);
    return p.cost[a] + of_rows;
  }
  std::fill_n(rows, star.rows, 0.0);
  return p.cost[a] + of_columns;
}

double StarBound::bound() {
  const Problem& p = problem_;
  for (int a = 0; a < p.size(); ++a) costs_[a] = alive_[a] ? value(a) : inf;
  return solve_costs();
}

double StarBound::quick_bound() {
  const Problem& p = problem_;
  for (int a = 0; a < p.size(); ++a) costs_[a] = alive_[a] ? least_value(a) : inf;
  solved_.assign(p.size(), 0);
  double bound = solve_costs();
  for (int round = 0; round < quick_rounds; ++round) {
    bool all = true;
    for (int i = 0; i < p.n1; ++i) {
      const int j = linear_.last().match[i];
      if (j < 0) continue;
      const int a = p.find(i, j);
      if (solved_[a]) continue;
      solved_[a] = 1;
      all = false;
      costs_[a] = value(a);
    }
    if (all) break;
    bound = solve_costs();
  }
  return bound;
}

// The linear assignment over the stars' values.
double StarBound::solve_costs() {
  const double value = linear_.solve(problem_, costs_).value;
  for (int which = 0; which < 2; ++which)
    for (std::size_t i = 0; i < forced_[which].size(); ++i)
      if (forced_[which][i] && labels_[which][i] == 0) return inf;
  return value;
}

int StarBound::pass(double upper, bool forward) {
  const Problem& p = problem_;
  const LapResult& lap = linear_.last();
  const int before = size_;
  for (int which = 0; which < 2; ++which)
    for (std::size_t i = 0; i < forced_[which].size(); ++i)
      if (lap.value - (which == 0 ? lap.row : lap.column)[i] >= upper) forced_[which][i] = any_forced_ = true;
  nearest_ = 0;
  // The values and potentials are those of the last bound(): parts that have come since can only raise them.
  for (int step = 0; step < p.size(); ++step) {
    const int a = forward ? step : p.size() - 1 - step;
    if (!alive_[a]) continue;
    const int i = p.left[a], j = p.right[a];
    const double value = costs_[a];
    const double spare = std::max(0.0, value - lap.row[i] - lap.column[j]);
    if (lap.value + spare >= upper) {
      remove(a);
      continue;
    }
    nearest_ = std::max(nearest_, spare);
    // Lowering every entry by this lowers a matching of the star by `spare` at most.
    const Star& star = layout_.stars[a];
    const double each = spare / std::max(1, std::min(star.rows, star.columns));
    const double *row = potential_.data() + star.nodes, *column = row + star.rows;
    const int begin = p.adj_start[a], end = p.adj_start[a + 1];
    if (star.rows * star.columns == end - begin)
      lower(star.rows, star.columns, row, column, each, part_.data() + begin);
    for (int k = begin; k < end; ++k) {
      if (part_[k] == inf) continue;
      const StarCell& cell = layout_.cells[k];
      if (star.rows * star.columns != end - begin)
        part_[k] -= moved * (part_[k] - (row[cell.row] + column[cell.column] - each));
      part_[cell.mirror] = p.adj[k].cost - part_[k];
    }
  }
  nearest_ /= std::max(upper - lap.value, 1e-300);
  return before - size_;
}

void StarBound::remove(int a) {
  alive_[a] = 0;
  --size_;
  --labels_[0][problem_.left[a]];
  --labels_[1][problem_.right[a]];
  for (int k = problem_.adj_start[a]; k < problem_.adj_start[a + 1]; ++k)
    part_[k] = part_[layout_.cells[k].mirror] = inf;
}

}  // namespace gm
