#include "core/lap.hpp"

#include <algorithm>
#include <limits>

#include "core/poll.hpp"
#include "core/vec.hpp"

namespace gm {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

GM_INLINE double least_of(const vec::Four& x) { return std::min(std::min(x[0], x[1]), std::min(x[2], x[3])); }

// The first place of a value that is there.
GM_INLINE int place_of(double value, const double* x) {
  int k = 0;
  while (x[k] != value) ++k;
  return k;
}

// Shortest augmenting paths on rows of a width that is a multiple of four. Every row also has a column of its own,
// "unmatched", at cost 0. A path that grows from row s may end at a free column or at the "unmatched" column of any row
// it has reached.
GM_CLONES void augment_rows(int n1, int width, const double* cost, LapResult& result) {
  double* u = result.row.data();
  double* v = result.column.data();
  int* match = result.match.data();
  int* owner = result.owner.data();
  double* open = result.open.data();    // distance of a column that the path has not passed, +inf for the others
  double* block = result.block.data();  // +inf for columns that the path has passed, otherwise 0
  double* from = result.from.data();    // the row before a column on its path
  auto& reached = result.reached;

  for (int s = 0; s < n1; ++s) {
    // Cheap cases first: the smallest reduced cost is at a free column, or staying unmatched is as good.
    const double* w = cost + static_cast<std::size_t>(s) * width;
    vec::Four x, y, least;
    vec::fill(0, least);
    for (int k = 0; k < width; k += 4) {
      vec::load(w + k, x);
      vec::load(v + k, y);
      x -= y;
      vec::store(open + k, x);
      vec::min(x, least, least);
    }
    u[s] = least_of(least);
    if (!(u[s] < 0)) continue;
    int j = place_of(u[s], open);
    if (owner[j] < 0) {
      owner[j] = s;
      match[s] = j;
      continue;
    }

    vec::Four start;
    vec::fill(s, start);
    vec::fill(0, x);
    for (int k = 0; k < width; k += 4) {
      vec::load(open + k, y);
      y -= u[s];
      vec::store(open + k, y);
      vec::store(from + k, start);
      vec::store(block + k, x);
    }
    reached.clear();
    double d = 0;        // distance of column j
    double end = -u[s];  // length of the shortest complete path so far
    int end_column = -1, end_row = s;
    while (d < end) {
      if (owner[j] < 0) {
        end = d;
        end_column = j;
        break;
      }
      reached.push_back({j, d});
      open[j] = block[j] = inf;
      const int i = owner[j];
      if (d - u[i] < end) {
        end = d - u[i];
        end_row = i;
      }
      const double* wi = cost + static_cast<std::size_t>(i) * width;
      const double offset = d - u[i];
      vec::Four row, blocked, now, before;
      vec::fill(i, row);
      vec::fill(inf, least);
      for (int k = 0; k < width; k += 4) {
        vec::load(wi + k, x);
        vec::load(v + k, y);
        vec::load(block + k, blocked);
        vec::load(open + k, now);
        vec::load(from + k, before);
        x = (x - y + offset) + blocked;
        before = x < now ? row : before;
        vec::min(x, now, now);
        vec::min(now, least, least);
        vec::store(open + k, now);
        vec::store(from + k, before);
      }
      d = least_of(least);
      if (!(d < end)) break;
      j = place_of(d, open);
    }
    if (width >= 256) poll(static_cast<std::int64_t>(reached.size()) * width);
    u[s] += end;
    for (const auto& [column, distance] : reached) {
      u[owner[column]] += end - distance;
      v[column] -= end - distance;
    }
    // Shift the matches along the path, from its end back to s.
    j = end_column;
    if (j < 0) {
      j = match[end_row];
      match[end_row] = -1;
      u[end_row] = 0;
      if (end_row == s) continue;
    }
    for (;;) {
      const int i = static_cast<int>(from[j]);
      owner[j] = i;
      std::swap(match[i], j);
      if (i == s) break;
    }
  }
}

}  // namespace

void solve_lap(int n1, int n2, const double* cost, LapResult& result) {
  const int width = static_cast<int>(vec::padded(n2));
  result.row.assign(n1, 0.0);
  result.column.assign(width, 0.0);
  result.match.assign(n1, -1);
  result.owner.assign(width, -1);
  for (auto* scratch : {&result.open, &result.block, &result.from})
    if (scratch->size() < static_cast<std::size_t>(width)) scratch->resize(width);
  if (width != n2) {
    result.padded.assign(static_cast<std::size_t>(n1) * width, inf);
    double* row = result.padded.data();
    for (int i = 0; i < n1; ++i, cost += n2, row += width) std::copy_n(cost, n2, row);
    cost = result.padded.data();
  }
  augment_rows(n1, width, cost, result);
  result.column.resize(n2);
  result.owner.resize(n2);
  double value = 0;
  for (const double u : result.row) value += u;
  for (const double v : result.column) value += v;
  result.value = value;
}

}  // namespace gm
