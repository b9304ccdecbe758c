// Cycle consistency of two nodes, as a factor of the dual of several graphs: node i of one graph and k of another, seen
// from a third graph, the middle. Variables: x and y, the nodes of the middle that i and k match, or none; z, whether i
// matches k. Allowed: (none, none, 0), (none, none, 1), (j, none, 0), (none, j, 0), (j, j', 0) with j != j', (j, j, 1).
// The factor holds costs of x, y (beyond those of none) and z; all it is asked takes O(labels).
#pragma once

#include <vector>

#include "dual/message_passing.hpp"

namespace gm {

class Triplet {
 public:
  // A label of the vector of a node.
  struct Entry {
    NodeCosts node;
    int label;
  };

  // first, second: the vectors of i and of k over the middle, which match the nodes nodes1 (nx,) and nodes2 (ny,).
  // direct: i and k in each other's vectors; empty where they may not match.
  Triplet(NodeCosts first, NodeCosts second, const std::vector<int>& nodes1, const std::vector<int>& nodes2,
          const std::vector<Entry>& direct);

  // What the bound gains at least when this factor, which holds nothing yet, is added.
  double gain() const;
  // Takes all costs of its four vectors and gives them back so that the factor's least cost is none of its own.
  // Returns what the constant of the dual changes by.
  double update();
  // The least cost of what is allowed.
  double least() const;
  // Labels of x and y.
  int size() const { return x_.node.labels + y_.node.labels; }

 private:
  // One of x and y: its vector, costs, and for each label the other's label for the same node, or -1.
  struct Side {
    NodeCosts node;
    std::vector<double> costs;
    std::vector<int> same;
  };
  double take(Side& side);
  double give(Side& side, const Side& other, double part);
  void take_direct();
  void give_direct();

  Side x_, y_;
  double z_;
  std::vector<Entry> direct_;
};

}  // namespace gm
