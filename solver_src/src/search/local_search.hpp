// Local search over matchings: insert, drop, replace and swap moves with incrementally kept gains; tabu search on top.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "bbgm_solver/problem.hpp"
#include "core/memory.hpp"
#include "search/pair_costs.hpp"

namespace gm {

class LocalSearch {
 public:
  // How large problems are kept; any choice gives the same results.
  struct Storage {
    std::size_t table_entries = 8'000'000;  // of PairCosts, at most
    int rows_from = 5'000;                  // assignments from which on the best of each row is remembered
  };

  explicit LocalSearch(const Problem& problem) : LocalSearch(problem, Storage()) {}
  LocalSearch(const Problem& problem, const Storage& storage);

  // Starts from a matching: assignment[i] = j or -1.
  void start(const std::vector<int>& assignment);
  // Best insertion after best insertion, from the present matching, until none pays.
  void greedy();
  // Best move after best move until none pays.
  void descend();
  // Takes over from another matching whatever pays.
  void fuse(const std::vector<int>& other);
  // Tabu search: `moves` moves, each the best that is not tabu. Ends early when the best value reaches `goal`.
  // Keeps the best matching found since start() in best(). Returns the number of moves made.
  std::int64_t tabu(std::int64_t moves, std::uint64_t seed, double goal);

  // Enters each assignment in turn, lets what lies around it adapt, and keeps what pays; until a whole round brought
  // nothing, or `trials` were made. Returns their number.
  std::int64_t force_all(std::int64_t trials);

  bool complete() const { return complete_; }
  double value() const { return value_; }
  double best_value() const { return best_value_; }
  std::vector<int> assignment() const;
  const std::vector<int>& best() const { return best_; }

 private:
  struct Move {
    double delta;
    int insert1 = -1, insert2 = -1;  // assignments that enter
    int drop = -1;                   // node of graph 1 that is freed, for a pure drop
  };
  Move best_move(bool use_tabu);
  Move best_move_listed(bool use_tabu);
  void scan_row(int i, std::int64_t now, double aspiration, Move& best);
  void greedy_by_rows();
  void descend_by_rows();
  void touch(int a);
  void touch_row(int i);
  void touch_column(int j);
  Move best_move_complete(bool use_tabu);
  void apply(const Move& move);
  Move best_move_of(int node, int fixed) const;
  void apply_and_note(const Move& move);
  void settle(int fixed);
  bool force(int a);
  void enter_pairs(int a);
  void leave_pairs(int a);
  void insert(int a);
  void remove(int a);
  void keep_if_best();
  std::int64_t scan_work() const;  // of a scan of all moves, as poll() counts

  const Problem& problem_;
  const PairCosts pair_costs_;
  std::vector<int> at1_, at2_;  // chosen assignment of a node of graph 1 / 2, or -1
  std::vector<double> gain_;    // (A,) cost of a plus its terms with the chosen assignments
  const bool complete_;         // every pair of nodes is an assignment
  const bool by_rows_;          // the problem is large
  std::vector<double> column_;  // (n2,) scratch of best_move
  // Where every pair of nodes is an assignment:
  std::vector<double> enter_;    // (n2 + 1,) scratch: change by the moves of a row that enter
  std::vector<int> place_;       // (n1,) scratch: chosen node of graph 2, n2 if there is none
  std::vector<double> swap_;     // (n1,) scratch: change by the swaps of a row
  std::vector<double> paid_;     // (n1, n2) the term between the chosen assignments of i and of j, +inf if they are one
  Array<double> matrix_;         // (A, A) the terms, where there are many; else empty
  std::vector<double> swapped_;  // (n1, n1) the term that two matched nodes would pay if they swapped
  double value_ = 0, best_value_ = 0;
  std::vector<int> best_;
  std::vector<std::int64_t> tabu_in_, tabu_out_;  // (A,) first move at which a may enter, (n1,) may be dropped
  std::int64_t time_ = 0;
  // Of descend_by_rows(): the best move of each row, and the rows for which something has changed since.
  bool watched_ = false;
  std::vector<Move> row_move_;
  std::vector<char> touched_;
  std::vector<int> touched_rows_;
  // Of force_all(): nodes whose moves are to be looked at, and what a trial changed: nodes, with their assignments
  // before.
  std::vector<int> queue_;
  std::vector<char> awake_, changed_;  // (n1,)
  std::vector<std::pair<int, int>> log_;
};

}  // namespace gm
