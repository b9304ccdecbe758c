// The move that swaps nodes between two objects.
#pragma once

#include <vector>

#include "multi/state.hpp"
#include "multi/swap_choice.hpp"

namespace gm {

class Swap {
 public:
  explicit Swap(CliqueState& state) : state_(state) {}
  Swap(const Swap&) = delete;
  Swap& operator=(const Swap&) = delete;

  // Chooses for each graph whether two objects, of which one may be empty, swap their nodes. True if that pays.
  bool swap(int first, int second);
  // The same for every two objects, and for each with an empty one.
  bool swap_all();

 private:
  CliqueState& state_;
  SwapChoice choice_;  // scratch, as are the next
  std::vector<int> graphs_, nodes_;
  std::vector<char> swapped_;
};

}  // namespace gm
