// The scan of all moves where all assignments are allowed: (i, j) is number i n2 + j, and rows are scanned four at a
// time.
#include <algorithm>
#include <limits>

#include "core/vec.hpp"
#include "search/local_search.hpp"

namespace gm {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

// Calls of(j) for fours of 0 .. n - 1 that cover them all; the last may overlap the one before. n is 4 at least.
template <class Of>
GM_INLINE void in_fours(int begin, int n, const Of& of) {
  int j = begin;
  for (; j + 4 <= n; j += 4) of(j);
  if (j < n) of(n - 4);
}

GM_INLINE double least_of(const vec::Four& x) { return std::min(std::min(x[0], x[1]), std::min(x[2], x[3])); }

}  // namespace

// The terms between chosen assignments, and those that a swap would bring, are kept by insert() and remove(): they
// change at the neighbours of two or three nodes a move.
GM_CLONES LocalSearch::Move LocalSearch::best_move_complete(bool use_tabu) {
  const Problem& p = problem_;
  const int n1 = p.n1, n2 = p.n2;
  const double* gain = gain_.data();
  double* column = column_.data();
  double* enter = enter_.data();
  double* swap = swap_.data();
  int* place = place_.data();
  vec::Four infinite;
  vec::fill(inf, infinite);
  Move best{inf};
  const double aspiration = best_value_ - value_ - 1e-12 * p.largest_cost;
  const std::int64_t now = use_tabu ? time_ : std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < n1; ++i) place[i] = at1_[i] >= 0 ? at1_[i] - i * n2 : n2;
  enter[n2] = inf;  // no swap with a node that is not matched
  for (int j = 0; j < n2; ++j) column[j] = at2_[j] >= 0 ? -gain[at2_[j]] : 0.0;
  for (int i = 0; i < n1; ++i) {
    const int j0 = place[i], first = i * n2;
    const bool held = j0 < n2;
    const double row = held ? -gain[first + j0] : 0.0;
    const double* g = gain + first;
    const double* paid = paid_.data() + first;
    const std::int64_t* barred = tabu_in_.data() + first;
    if (held) {
      const double delta = g[j0] + column[j0] + row;
      if (delta < best.delta && !(tabu_out_[i] > now && delta >= aspiration)) best = {delta, -1, -1, i};
    }
    double smallest = best.delta;
    if (n2 >= 4) {
      vec::Four least;
      vec::fill(best.delta, least);
      in_fours(0, n2, [&](int j) {
        vec::Four x, y, z;
        vec::FourBits until;
        vec::load(g + j, x);
        vec::load(column + j, y);
        vec::load(paid + j, z);
        vec::load(barred + j, until);
        x = x + (y + z) + row;
        vec::store(enter + j, x);
        x = ((until > now) & (x >= aspiration)) ? infinite : x;
        vec::min(x, least, least);
      });
      smallest = least_of(least);
    } else {
      for (int j = 0; j < n2; ++j) {
        enter[j] = g[j] + (column[j] + paid[j]) + row;
        if (!(barred[j] > now && enter[j] >= aspiration)) smallest = std::min(smallest, enter[j]);
      }
    }
    if (smallest < best.delta) {
      int j = 0;
      while (enter[j] != smallest || (barred[j] > now && enter[j] >= aspiration)) ++j;
      best = {smallest, first + j, -1, -1};
    }
    if (!held) continue;
    const double *swapped = swapped_.data() + static_cast<std::size_t>(i) * n1, *other = gain + j0;
    int from = i + 1;  // each swap once
    if (n1 - from >= 4) {
      vec::Four least;
      vec::fill(inf, least);
      in_fours(from, n1, [&](int k) {
        vec::Four x = {enter[place[k]], enter[place[k + 1]], enter[place[k + 2]], enter[place[k + 3]]}, y;
        const double* o = other + k * n2;
        const vec::Four z = {o[0], o[n2], o[2 * n2], o[3 * n2]};
        vec::load(swapped + k, y);
        x = x + z + y;
        vec::store(swap + k, x);
        vec::min(x, least, least);
      });
      if (!(least_of(least) < best.delta)) from = n1;
    } else {
      for (int k = from; k < n1; ++k) swap[k] = enter[place[k]] + other[k * n2] + swapped[k];
    }
    for (int k = from; k < n1; ++k) {
      const double delta = swap[k];
      if (delta >= best.delta) continue;
      const int a = first + place[k], b = k * n2 + j0;
      if (tabu_in_[a] > now && tabu_in_[b] > now && delta >= aspiration) continue;
      best = {delta, a, b, -1};
    }
  }
  return best;
}

}  // namespace gm
