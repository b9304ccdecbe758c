// Soft-min coordinate ascent on implicit tables: the updates of coupled/ascent.hpp, of costs instead of weights. The
// soft-min of a line is that of its entries and of all offsets across, less those that it may not be paired with.
#pragma once

#include <vector>

#include "bounds/implicit/split.hpp"

namespace gm::implicit {

class Ascent {
 public:
  Ascent() = default;
  Ascent(const Ascent&) {}  // all that it holds is scratch of run()
  Ascent& operator=(const Ascent&) = delete;

  void run(Split& split, double temperature, int sweeps);

 private:
  void star(Side& side, int which, int node);
  void line_marginals(const Lines& lines, double* out);
  void weigh(const Lines& lines);
  void tie_terms(Split& split);
  void tie_table(Split& split, const Table& table);
  void tie_nodes(Split& split);

  double temperature_ = 1;
  // Of a table that line_marginals() looks at: e^(300 - (cost - low) / temperature) of what its lines cross, but for
  // the lowest ones, which are in `lowest_weight_`; and of its entries.
  double low_ = 0;
  std::vector<double> across_, entry_;
  double lowest_weight_[Lowest::most];
  Lowest lowest_;
  Excluded excluded_;
  std::vector<double> marginals_;      // of the tables at a node, one after the other, padded to four
  std::vector<double> soft_least_[2];  // (n,) soft-min of a node's labels after its last update: of its tables, too
  // Scratch of tie_terms().
  struct Shared {
    double cost;  // of an entry of graph 2, less the soft-min of its table; after its term: what it gets
    int table;
  };
  Array<Shared> shared_;             // like the entries of graph 2
  std::vector<double> total_;        // (tables,) weight of a table of graph 2, 1 at first
  std::vector<double> log_odds_[2];  // like Side::u, scratch of tie_nodes()
};

}  // namespace gm::implicit
