#include "lap.hpp"

#include <algorithm>
#include <limits>

namespace gm {

// Every row also has a column of its own, "unmatched", at cost 0. A path that grows from row s may end at a free
// column or at the "unmatched" column of any row it has reached.
void solve_lap(int n1, int n2, const double* cost, LapResult& result) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  auto& u = result.row;
  auto& v = result.column;
  auto& match = result.match;
  u.assign(n1, 0.0);
  v.assign(n2, 0.0);
  match.assign(n1, -1);
  auto& owner = result.owner;
  auto& from = result.from;
  auto& reached = result.reached;
  auto& dist = result.distance;
  auto& done = result.done;
  owner.assign(n2, -1);
  from.resize(n2);
  dist.resize(n2);
  done.resize(n2);

  for (int s = 0; s < n1; ++s) {
    // Cheap cases first: the smallest reduced cost is at a free column, or staying unmatched is as good.
    const double* w = cost + static_cast<std::size_t>(s) * n2;
    double least = 0;
    int at = -1;
    for (int j = 0; j < n2; ++j)
      if (const double c = w[j] - v[j]; c < least) {
        least = c;
        at = j;
      }
    u[s] = least;
    if (at < 0) continue;
    if (owner[at] < 0) {
      owner[at] = s;
      match[s] = at;
      continue;
    }

    std::fill(done.begin(), done.end(), 0);
    std::fill(from.begin(), from.end(), s);
    reached.clear();
    for (int j = 0; j < n2; ++j) dist[j] = w[j] - v[j] - u[s];
    double end = -u[s];  // length of the shortest complete path so far
    int end_column = -1, end_row = s;
    for (;;) {
      double d = inf;
      int j = -1;
      for (int k = 0; k < n2; ++k)
        if (!done[k] && dist[k] < d) {
          d = dist[k];
          j = k;
        }
      if (j < 0 || d >= end) break;
      if (owner[j] < 0) {
        end = d;
        end_column = j;
        break;
      }
      done[j] = 1;
      reached.push_back(j);
      const int i = owner[j];
      if (d - u[i] < end) {
        end = d - u[i];
        end_row = i;
      }
      const double* wi = cost + static_cast<std::size_t>(i) * n2;
      const double offset = d - u[i];
      for (int k = 0; k < n2; ++k) {
        if (done[k]) continue;
        const double through = wi[k] - v[k] + offset;
        if (through < dist[k]) {
          dist[k] = through;
          from[k] = i;
        }
      }
    }
    u[s] += end;
    for (const int j : reached) {
      u[owner[j]] += end - dist[j];
      v[j] -= end - dist[j];
    }
    // Shift the matches along the path, from its end back to s.
    int j = end_column;
    if (j < 0) {
      j = match[end_row];
      match[end_row] = -1;
      u[end_row] = 0;
      if (end_row == s) continue;
    }
    for (;;) {
      const int i = from[j];
      owner[j] = i;
      std::swap(match[i], j);
      if (i == s) break;
    }
  }
  double value = 0;
  for (int i = 0; i < n1; ++i) value += u[i];
  for (int j = 0; j < n2; ++j) value += v[j];
  result.value = value;
}

}  // namespace gm
