// Which graphs swap their nodes between two objects: a cut of least cost over the graphs.
#pragma once

#include <cstddef>
#include <vector>

namespace gm {

class SwapChoice {
 public:
  void reset(int graphs);
  // `cost` is paid when just one of g and h swaps; if that is not allowed it never happens.
  void set(int g, int h, double cost, bool allowed);
  // The least cost, 0 or below, and the graphs that swap. Exact for `enumerated` graphs or fewer.
  double solve(std::vector<char>& swapped) const;

  static constexpr int enumerated = 11;

 private:
  void flip(std::vector<char>& swapped, int g, double& value, int& bars) const;
  double enumerate(std::vector<char>& best) const;
  double descend(std::vector<char>& best) const;

  int n_ = 0;
  std::vector<double> cost_;  // (n, n)
  std::vector<char> barred_;  // (n, n)
};

}  // namespace gm
