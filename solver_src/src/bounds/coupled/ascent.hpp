// Soft-min coordinate ascent on the split of the coupled dual: sweeps over the nodes at one temperature. Meanwhile the
// costs c are kept as weights e^(-c / temperature), so that a sweep is sums and products.
#pragma once

#include <vector>

#include "bounds/coupled/split.hpp"
#include "core/memory.hpp"

namespace gm::coupled {

class Ascent {
 public:
  Ascent() = default;
  Ascent(const Ascent&) {}  // all that it holds is scratch of run()
  Ascent& operator=(const Ascent&) = delete;

  void run(Split& split, double temperature, int sweeps);

 private:
  // The costs of one side during run().
  struct Weights {
    Array<double> table;             // like Side::x
    std::vector<double> total;       // (tables,) sum of a table's weights
    Array<double> move;              // log factors applied to the rows and columns of the tables
    std::vector<double> log_vector;  // like Side::u: -cost / temperature, plus a constant for each node
    std::vector<double> least;       // (n,) that constant, times the temperature
    std::vector<double> log_odds;    // like Side::u, scratch of tie_nodes
  };

  void start(const Side& side, Weights& w, double temperature);
  void finish(Side& side, const Weights& w, double temperature);
  void star(const Side& side, Weights& w, int node);
  void tie_terms(const Split& split);
  void tie_nodes(const Split& split);

  // Weights start at e^300 and less, so that costs up to 1000 temperatures above the minimum still count.
  static constexpr double top_log_weight = 300;

  Weights weights_[2];
  Array<double> term_factor_;  // (T,) product of the factors of the terms
  std::vector<double> buffer_;
};

}  // namespace gm::coupled
