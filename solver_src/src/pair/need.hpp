// What a problem needs of the memory, and the error that says so.
#pragma once

#include <vector>

#include "bbgm_solver/options.hpp"
#include "bbgm_solver/problem.hpp"
#include "bbgm_solver/too_large.hpp"

namespace gm {

// Entries of Problem::adj, which are counted as int.
constexpr double max_neighbours = 2147483647;

// Bytes of the tables of a graph (0: of left nodes, 1: of right nodes): one for each two nodes with a common term, over
// all their labels.
double table_bytes(const Problem& problem, int which);

// Whether the bound of method "best" keeps its tables implicit: they would be large and mostly without terms. By the
// problem alone: it never depends on how much memory there is.
bool implicit_tables(const Problem& problem);

// Bytes of the tables of that bound, in the form that it keeps them in.
double coupled_bytes(const Problem& problem);

// The error of a method that ran out of memory.
TooLarge too_large_to_solve(const Problem& problem, Method method);

// The error of a set of graphs: the problems of its pairs.
TooLarge too_large_to_solve(const std::vector<const Problem*>& problems, int n_graphs);

// The error of a problem in the dense form. n_neighbours: how many entries Problem::adj may get.
TooLarge too_large_to_make(int n1, int n2, int e1, int e2, double n_neighbours);

}  // namespace gm
