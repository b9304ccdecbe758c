// DenseBatch for Python: problems whose costs lie in a few arrays, solved without an object for each.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "arguments.hpp"
#include "bbgm_solver/dense_batch.hpp"
#include "bind.hpp"
#include "signals.hpp"

namespace py = pybind11;

namespace {

using check::Doubles;
using check::Integers;
using gm::DenseGraphs;
using gm::DenseTask;

const char* const stop_reasons[] = {"optimal", "iteration limit", "work limit", "stalled"};

std::int8_t code_of(const char* reason) {
  const auto at = std::find_if(std::begin(stop_reasons), std::end(stop_reasons),
                               [reason](const char* one) { return std::strcmp(one, reason) == 0; });
  return static_cast<std::int8_t>(at - std::begin(stop_reasons));
}

std::string entry(const char* name, py::ssize_t b) { return check::position(name, {b}); }

// The edges of each problem of a batch: a list of (E, 2), or (B, E, 2) whose first counts[b] rows are those of b.
class EdgeLists {
 public:
  EdgeLists(const py::handle& value, const char* name, const Integers& counts, int column, py::ssize_t batch)
      : name_(name) {
    if (!counts) {
      list_ = py::reinterpret_borrow<py::object>(value);
      if (!py::isinstance<py::sequence>(value) || static_cast<py::ssize_t>(py::len(value)) != batch)
        throw py::value_error(std::string(name) + " must be a list of " + std::to_string(batch) +
                              " arrays (E, 2), one for each problem; give edge_counts with one array (B, E, 2)");
      return;
    }
    padded_ = Integers::ensure(check::as_array(value, name));
    if (!padded_) throw py::error_already_set();
    if (padded_.ndim() != 3 || padded_.shape(0) != batch || padded_.shape(2) != 2)
      throw py::value_error(std::string(name) + " is not (B, E, 2) with B = " + std::to_string(batch) +
                            ", as edge_counts wants it");
    for (py::ssize_t b = 0; b < batch; ++b) {
      const std::int64_t count = counts.data()[2 * b + column];
      if (count < 0 || count > padded_.shape(1))
        throw py::value_error(check::position("edge_counts", {b, column}) + " is " + std::to_string(count) +
                              ", outside 0 <= count <= " + std::to_string(padded_.shape(1)) + ", the rows of " + name);
      counts_.push_back(static_cast<int>(count));
    }
  }

  // The edges of problem b, checked.
  std::pair<const std::int64_t*, int> of(py::ssize_t b, std::int64_t n) {
    const std::string name = entry(name_, b);
    if (counts_.empty()) {
      own_ = check::edges(py::object(list_[py::int_(b)]), name.c_str(), n);
      return {own_.data(), static_cast<int>(own_.shape(0))};
    }
    const std::int64_t* first = padded_.data() + 2 * padded_.shape(1) * b;
    check::edges(first, counts_[b], name, n);
    return {first, counts_[b]};
  }

 private:
  const char* name_;
  py::object list_;
  Integers padded_, own_;
  std::vector<int> counts_;
};

class Batch {
 public:
  Batch(const py::handle& sizes, const py::handle& edges1, const py::handle& edges2, const py::handle& edge_counts) {
    const Integers n = table(sizes, "sizes", "(B, 2)");
    const py::ssize_t batch = n.shape(0);
    Integers counts;
    if (!edge_counts.is_none()) {
      counts = table(edge_counts, "edge_counts", "(B, 2)");
      check::shape(counts, "edge_counts", {batch, 2}, "(B, 2)");
    } else {
      counts = py::reinterpret_steal<Integers>(py::handle());
    }
    EdgeLists lists1(edges1, "edges1", counts, 0, batch), lists2(edges2, "edges2", counts, 1, batch);
    std::size_t unary = 0, quadratic = 0;
    for (py::ssize_t b = 0; b < batch; ++b) {
      const int n1 = check::count(n.data()[2 * b], check::position("sizes", {b, 0}));
      const int n2 = check::count(n.data()[2 * b + 1], check::position("sizes", {b, 1}));
      const auto [first1, e1] = lists1.of(b, n1);
      const auto [first2, e2] = lists2.of(b, n2);
      batch_.add(n1, n2, e1, first1, e2, first2);
      unary_at_.push_back(unary);
      quadratic_at_.push_back(quadratic);
      unary += static_cast<std::size_t>(n1) * n2;
      quadratic += static_cast<std::size_t>(e1) * e2;
    }
    for (std::size_t& at : quadratic_at_) at += unary;
    entries_ = unary + quadratic;
  }

  int size() const { return batch_.size(); }
  std::size_t entries() const { return entries_; }

  // unary (B, N1, N2), quadratic (B, E1, E2), as large as the largest problem or larger.
  py::tuple solve(const py::handle& unary_given, const py::handle& quadratic_given, gm::Options options, int threads) {
    const check::CostArray unary = check::cost_table(unary_given, "unary", 3);
    const check::CostArray quadratic = check::cost_table(quadratic_given, "quadratic", 3);
    fits(unary.array, "unary", [](const DenseGraphs& g) { return std::pair(g.n1, g.n2); });
    fits(quadratic.array, "quadratic", [](const DenseGraphs& g) { return std::pair(g.e1, g.e2); });
    const py::ssize_t batch = size(), width = unary.array.shape(1);
    py::array_t<std::int32_t> assignment({batch, width});
    std::fill_n(assignment.mutable_data(), assignment.size(), -1);
    std::vector<DenseTask> tasks(batch);
    for (int b = 0; b < batch; ++b) {
      const DenseGraphs& g = batch_.graphs(b);
      tasks[b].problem = b;
      tasks[b].unary = rows(unary, "unary", b, g.n1, g.n2);
      tasks[b].quadratic = rows(quadratic, "quadratic", b, g.e1, g.e2);
      tasks[b].assignment = assignment.mutable_data() + b * width;
    }
    run(tasks, options, threads);
    py::array_t<double> objective(batch), bound(batch);
    py::array_t<bool> optimal(batch);
    py::array_t<std::int32_t> iterations(batch);
    py::array_t<std::int8_t> reason(batch);
    for (py::ssize_t b = 0; b < batch; ++b) {
      objective.mutable_data()[b] = tasks[b].objective;
      bound.mutable_data()[b] = tasks[b].lower_bound;
      optimal.mutable_data()[b] = tasks[b].optimal;
      iterations.mutable_data()[b] = tasks[b].iterations;
      reason.mutable_data()[b] = code_of(tasks[b].stop_reason);
    }
    return py::make_tuple(assignment, objective, bound, optimal, iterations, reason);
  }

  // costs (S, N): the costs of all problems in each row. known_costs, known (S, N): solved before, or None.
  py::tuple indicators(const py::handle& given, const py::handle& known_costs, const py::handle& known,
                       gm::Options options, int threads) {
    const Doubles costs = joined(given, "costs");
    Doubles before, result({costs.shape(0), costs.shape(1)});
    const bool again = !known_costs.is_none();
    if (again) {
      before = joined(known_costs, "known costs");
      const Doubles solved = joined(known, "known solutions");
      check::shape(before, "known costs", {costs.shape(0), costs.shape(1)}, "(S, N)");
      check::shape(solved, "known solutions", {costs.shape(0), costs.shape(1)}, "(S, N)");
      std::copy_n(solved.data(), solved.size(), result.mutable_data());
    }
    py::array_t<bool> changed({costs.shape(0), static_cast<py::ssize_t>(size())});
    std::fill_n(changed.mutable_data(), changed.size(), false);
    std::vector<DenseTask> tasks;
    for (py::ssize_t s = 0; s < costs.shape(0); ++s)
      for (int b = 0; b < size(); ++b) {
        const DenseGraphs& g = batch_.graphs(b);
        const std::size_t n_unary = static_cast<std::size_t>(g.n1) * g.n2;
        const std::size_t n_quadratic = static_cast<std::size_t>(g.e1) * g.e2;
        const std::size_t row = static_cast<std::size_t>(s) * entries_;
        const std::size_t unary = row + unary_at_[b], quadratic = row + quadratic_at_[b];
        const double* c = costs.data();
        if (again) {
          const double* old = before.data();
          if (std::equal(c + unary, c + unary + n_unary, old + unary) &&
              std::equal(c + quadratic, c + quadratic + n_quadratic, old + quadratic))
            continue;
        }
        for (const auto& [start, n] : {std::pair(unary, n_unary), std::pair(quadratic, n_quadratic)})
          check::finite(c, start, static_cast<py::ssize_t>(n), [&, start = start](py::ssize_t k) {
            return check::position("costs", {s, static_cast<py::ssize_t>(start - row) + k}) + " (of problem " +
                   std::to_string(b) + ")";
          });
        DenseTask task;
        task.problem = b;
        task.unary = {c + unary, static_cast<std::size_t>(g.n2)};
        task.quadratic = {c + quadratic, static_cast<std::size_t>(g.e2)};
        task.matched = result.mutable_data() + unary;
        task.matched_edges = result.mutable_data() + quadratic;
        tasks.push_back(task);
        changed.mutable_data()[s * size() + b] = true;
      }
    run(tasks, options, threads);
    return py::make_tuple(result, changed);
  }

 private:
  static Integers table(const py::handle& value, const char* name, const char* symbols) {
    const py::array a = check::as_array(value, name);
    if (a.size() > 0 && a.dtype().kind() != 'i' && a.dtype().kind() != 'u')
      throw py::type_error(std::string(name) + " has dtype " + py::str(a.dtype()).cast<std::string>() +
                           ", expected integers");
    if (a.size() == 0) return Integers(std::vector<py::ssize_t>{0, 2});
    if (a.ndim() != 2 || a.shape(1) != 2)
      throw py::value_error(std::string(name) + " must have two columns, " + symbols);
    return Integers::ensure(a);
  }

  template <class Size>
  void fits(const py::array& a, const char* name, const Size& size_of) const {
    if (a.shape(0) != size())
      throw py::value_error(std::string(name) + " is of " + std::to_string(a.shape(0)) + " problems, the batch of " +
                            std::to_string(size()));
    for (int b = 0; b < size(); ++b) {
      const auto [r, c] = size_of(batch_.graphs(b));
      if (r > a.shape(1) || c > a.shape(2))
        throw py::value_error(entry(name, b) + " is " + std::to_string(a.shape(1)) + " x " +
                              std::to_string(a.shape(2)) + ", problem " + std::to_string(b) + " needs " +
                              std::to_string(r) + " x " + std::to_string(c));
    }
  }

  // The costs of problem b in a padded array, checked; the padding is not looked at.
  static gm::CostRows rows(const check::CostArray& costs, const char* name, py::ssize_t b, int n_rows, int n_columns) {
    const std::size_t step = static_cast<std::size_t>(costs.array.shape(2));
    const std::size_t start = static_cast<std::size_t>(b) * static_cast<std::size_t>(costs.array.shape(1)) * step;
    for (int r = 0; r < n_rows; ++r)
      check::finite(costs.data, start + r * step, n_columns,
                    [&](py::ssize_t k) { return check::position(name, {b, r, k}); });
    return {std::visit([start](const auto* x) { return gm::Costs(x + start); }, costs.data), step};
  }

  Doubles joined(const py::handle& value, const char* name) const {
    const check::CostArray given = check::cost_table(value, name, 2);
    check::shape(given.array, name, {given.array.shape(0), static_cast<py::ssize_t>(entries_)}, "(S, N)");
    return Doubles::ensure(given.array);
  }

  void run(std::vector<DenseTask>& tasks, gm::Options options, int threads) const {
    without_gil([&](const gm::GiveUp& give_up) {
      options.give_up = &give_up;
      batch_.solve(tasks, options, threads);
      return 0;
    });
  }

  gm::DenseBatch batch_;
  std::vector<std::size_t> unary_at_, quadratic_at_;  // in a row of all costs
  std::size_t entries_ = 0;
};

}  // namespace

void bind_batch(py::module_& m) {
  py::list reasons;
  for (const char* reason : stop_reasons) reasons.append(reason);
  m.attr("STOP_REASONS") = py::tuple(reasons);
  py::class_<Batch>(m, "DenseBatch")
      .def(py::init<const py::handle&, const py::handle&, const py::handle&, const py::handle&>(), py::arg("sizes"),
           py::arg("edges1"), py::arg("edges2"), py::arg("edge_counts"))
      .def("__len__", &Batch::size)
      .def_property_readonly("entries", &Batch::entries)
      .def("solve", &Batch::solve)
      .def("indicators", &Batch::indicators);
}
