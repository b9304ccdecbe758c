// One graph of the coupled dual where its tables are implicit: a table's entry is an offset of its row plus an offset
// of its column, but for the entries of terms, which are listed with what they cost beyond that, and for pairs of
// labels that are the same node of the other graph, which are forbidden. The ascent moves costs by rows and columns and
// by terms, so this stays so, and memory and time are those of the terms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bbgm_solver/problem.hpp"
#include "bounds/coupled/side.hpp"
#include "bounds/implicit/lowest.hpp"
#include "core/memory.hpp"

namespace gm::implicit {

using coupled::Incident;

struct Table {
  int row_node, column_node, rows, columns;
  std::size_t row_at, column_at;  // of its rows and of its columns in the arrays of Side
};

// A term in the table of its two nodes.
struct Entry {
  double cost;  // beyond the offsets of its row and its column
  std::uint16_t row, column;
  int table;
};

// A table as its rows see it, or as its columns do: lines, and what they cross.
struct Lines {
  int count, crossing;
  double* offset;                 // (count,)
  const double* across;           // (crossing,) offsets of what they cross
  const int* begin;               // (count + 1,) of the entries of a line, as entry() counts
  const int *node, *node_across;  // (count,), (crossing,) ascending nodes of the other graph; "unmatched" is last
  const Entry* entries;
  const int* by_column;  // null for rows
  const Entry& entry(int k) const { return entries[by_column ? by_column[k] : k]; }
  int crossed(const Entry& e) const { return by_column ? e.row : e.column; }
};

// Which labels a line cannot be paired with outside its entries, one line after the other: those of its entries, and
// the node that is its own.
class Excluded {
 public:
  // For lines that are asked for in ascending order.
  void start(const Lines& lines);
  void next(const Lines& lines, int line);
  bool has(int across) const { return stamp_[across] == now_; }
  // The label across that is the same node of the other graph as the line, or -1.
  int same() const { return same_; }

 private:
  std::vector<std::int64_t> stamp_;
  std::int64_t now_ = 0;
  int at_ = 0, same_ = -1;
};

struct Side : coupled::Nodes {
  std::vector<int> other;                   // like u: node of the other graph, -1 for "unmatched"
  std::vector<Table> tables;                // by row node, then by column node
  Array<double> row_offset, column_offset;  // of all tables, one more than rows or columns for each
  Array<int> row_begin, column_begin;       // the same places: where the entries of a row or column begin
  Array<Entry> entries;                     // by table, row, column
  Array<int> by_column;                     // numbers of entries by table, column, row
  // From minima():
  std::vector<double> least;  // (tables,) minimum

  // Half of the problem's costs, as in coupled::Side. term_of: (2 T,) number of the term of an entry of Problem::adj;
  // place: (T,) gets the number of its entry.
  void build(const Problem& problem, int which, const std::vector<int>& local, const Array<int>& term_of,
             Array<int>& place);
  // Removes a label of a node.
  void forbid(int node, int label);
  void minima();
  Lines lines(const Table& table, bool rows);
  // Leaves out the labels that are removed, "unmatched" apart. kept: like u, which stay. moved: gets the new number of
  // each entry, -1 for those left out.
  void compact(const std::vector<char>& kept, Array<int>& moved);

 private:
  void make_tables(const Problem& problem, int which, const std::vector<int>& local, const Array<int>& term_of,
                   Array<int>& place);
  void sort_by_column();
  void line_minima(const Lines& lines, double* out);

  std::vector<double> line_least_;  // scratch of minima
  Excluded excluded_;
  Lowest lowest_;
};

}  // namespace gm::implicit
