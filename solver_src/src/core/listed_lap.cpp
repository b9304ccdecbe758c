// Linear assignment over lists of pairs: the shortest augmenting paths of lap.cpp, with a heap.
#include <algorithm>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "core/lap.hpp"
#include "core/poll.hpp"

namespace gm {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

class ListedLap {
 public:
  ListedLap(int n1, int n2, const int* row_start, const int* column, const double* cost, LapResult& result)
      : row_start_(row_start), column_(column), cost_(cost), result_(result), distance_(n2, inf), from_(n2, -1) {
    result.row.assign(n1, 0.0);
    result.column.assign(n2, 0.0);
    result.match.assign(n1, -1);
    result.owner.assign(n2, -1);
  }

  void add_row(int s) {
    double least = 0;
    int j = -1;
    for (int k = row_start_[s]; k < row_start_[s + 1]; ++k)
      if (const double reduced = cost_[k] - result_.column[column_[k]]; reduced < least) {
        least = reduced;
        j = column_[k];
      }
    result_.row[s] = least;
    if (j < 0) return;
    if (result_.owner[j] < 0) {
      result_.owner[j] = s;
      result_.match[s] = j;
      return;
    }
    grow(s);
    for (const int seen : seen_) {
      distance_[seen] = inf;
      from_[seen] = -1;
    }
    seen_.clear();
    heap_.clear();
  }

 private:
  using Entry = std::pair<double, int>;  // distance and column; of equal distances the smaller column comes first

  // Distances over row i, which the path reaches at distance d.
  void scan(int i, double d) {
    poll(row_start_[i + 1] - row_start_[i]);
    const double offset = d - result_.row[i];
    for (int k = row_start_[i]; k < row_start_[i + 1]; ++k) {
      const int j = column_[k];
      const double reached = cost_[k] - result_.column[j] + offset;
      if (!(reached < distance_[j])) continue;
      if (distance_[j] == inf) seen_.push_back(j);
      distance_[j] = reached;
      from_[j] = i;
      heap_.push_back({reached, j});
      std::push_heap(heap_.begin(), heap_.end(), std::greater<Entry>());
    }
  }

  void grow(int s) {
    auto& reached = result_.reached;
    reached.clear();
    scan(s, 0);
    double end = -result_.row[s];  // length of the shortest complete path so far
    int end_column = -1, end_row = s;
    while (!heap_.empty()) {
      const auto [d, j] = heap_.front();
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<Entry>());
      heap_.pop_back();
      if (d > distance_[j]) continue;  // a shorter way was found later
      if (!(d < end)) break;
      const int i = result_.owner[j];
      if (i < 0) {
        end = d;
        end_column = j;
        break;
      }
      reached.push_back({j, d});
      distance_[j] = -inf;  // passed: nothing is nearer
      if (d - result_.row[i] < end) {
        end = d - result_.row[i];
        end_row = i;
      }
      scan(i, d);
    }
    result_.row[s] += end;
    for (const auto& [column, distance] : reached) {
      result_.row[result_.owner[column]] += end - distance;
      result_.column[column] -= end - distance;
    }
    shift(s, end_column, end_row);
  }

  // Moves the matches along the path, from its end back to s.
  void shift(int s, int end_column, int end_row) {
    int j = end_column;
    if (j < 0) {
      j = result_.match[end_row];
      result_.match[end_row] = -1;
      result_.row[end_row] = 0;
      if (end_row == s) return;
    }
    for (;;) {
      const int i = from_[j];
      result_.owner[j] = i;
      std::swap(result_.match[i], j);
      if (i == s) return;
    }
  }

  const int *row_start_, *column_;
  const double* cost_;
  LapResult& result_;
  std::vector<double> distance_;  // of a column, -inf when the path has passed it
  std::vector<int> from_, seen_;  // the row before a column on its path; columns with a distance
  std::vector<Entry> heap_;
};

}  // namespace

void solve_listed_lap(int n1, int n2, const int* row_start, const int* column, const double* cost, LapResult& result) {
  ListedLap lap(n1, n2, row_start, column, cost, result);
  for (int s = 0; s < n1; ++s) lap.add_row(s);
  double value = 0;
  for (const double u : result.row) value += u;
  for (const double v : result.column) value += v;
  result.value = value;
}

}  // namespace gm
