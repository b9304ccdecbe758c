// The smallest of a list of numbers.
#pragma once

namespace gm::implicit {

// More than the terms that an assignment has with another node, where edges are few: one that a line may use is nearly
// always among them.
struct Lowest {
  static constexpr int most = 12;
  int count = 0;
  int at[most];  // by increasing value; of equal ones the first comes first
  double value[most];

  void find(int n, const double* x) {
    count = 0;
    for (int k = 0; k < n; ++k) {
      if (count == most && !(x[k] < value[most - 1])) continue;
      int place = count < most ? count++ : most - 1;
      for (; place > 0 && x[k] < value[place - 1]; --place) {
        value[place] = value[place - 1];
        at[place] = at[place - 1];
      }
      value[place] = x[k];
      at[place] = k;
    }
  }
};

}  // namespace gm::implicit
