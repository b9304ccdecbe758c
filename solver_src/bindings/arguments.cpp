#include "arguments.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace check {

namespace {

// Position of the first entry that is no cost, n if there is none. Whole blocks are looked at at once.
template <class T>
py::ssize_t first_bad(const T* x, py::ssize_t n) {
  constexpr T limit = sizeof(T) == 8 ? static_cast<T>(1e150) : std::numeric_limits<T>::max();
  constexpr py::ssize_t block = 512;
  py::ssize_t begin = 0;
  for (; begin + block <= n; begin += block) {
    int good = 1;
    for (py::ssize_t k = begin; k < begin + block; ++k) good &= std::fabs(x[k]) <= limit;
    if (!good) break;
  }
  while (begin < n && std::fabs(x[begin]) <= limit) ++begin;
  return begin;
}

// At an address that is a multiple of the item's size.
bool aligned(const py::array& a) {
  const std::size_t item = static_cast<std::size_t>(std::max<py::ssize_t>(a.itemsize(), 1));
  return reinterpret_cast<std::uintptr_t>(a.data()) % item == 0;
}

std::string shape_text(const py::array& a) {
  std::string text = "(";
  for (py::ssize_t k = 0; k < a.ndim(); ++k) text += (k ? ", " : "") + std::to_string(a.shape(k));
  return text + (a.ndim() == 1 ? ",)" : ")");
}

// Position of the second of two equal rows (each row a pair below 2^31), or -1; `first` is where the first one is.
py::ssize_t repeated(const std::int64_t* nodes, py::ssize_t rows, py::ssize_t& first, std::int64_t n1,
                     std::int64_t n2) {
  if (n1 * n2 <= 64 * rows) {  // a table is faster than sorting
    std::vector<std::int32_t> row(static_cast<std::size_t>(n1 * n2), -1);
    for (py::ssize_t k = 0; k < rows; ++k) {
      std::int32_t& at = row[static_cast<std::size_t>(nodes[2 * k] * n2 + nodes[2 * k + 1])];
      if (at >= 0) {
        first = at;
        return k;
      }
      at = static_cast<std::int32_t>(k);
    }
    return -1;
  }
  std::vector<std::pair<std::int64_t, py::ssize_t>> keys(rows);
  for (py::ssize_t k = 0; k < rows; ++k) keys[k] = {nodes[2 * k] << 31 | nodes[2 * k + 1], k};
  std::sort(keys.begin(), keys.end());
  for (std::size_t k = 1; k < keys.size(); ++k)
    if (keys[k].first == keys[k - 1].first) {
      first = keys[k - 1].second;
      return keys[k].second;
    }
  return -1;
}

std::string pair_text(const std::int64_t* nodes, py::ssize_t k) {
  return "(" + std::to_string(nodes[2 * k]) + ", " + std::to_string(nodes[2 * k + 1]) + ")";
}

void in_range(const std::int64_t* nodes, py::ssize_t rows, const std::string& name, std::int64_t limit1,
              std::int64_t limit2) {
  for (py::ssize_t k = 0; k < 2 * rows; ++k) {
    const std::int64_t limit = k % 2 ? limit2 : limit1, node = nodes[k];
    if (node < 0 || node >= limit)
      throw py::value_error(position(name, {k / 2, k % 2}) + " is " + std::to_string(node) + ", outside 0 <= index < " +
                            std::to_string(limit));
  }
}

void unlike(const std::int64_t* nodes, py::ssize_t rows, const std::string& name, std::int64_t n1, std::int64_t n2) {
  py::ssize_t first = 0;
  const py::ssize_t k = repeated(nodes, rows, first, n1, n2);
  if (k >= 0)
    throw py::value_error(position(name, {k}) + " = " + pair_text(nodes, k) + " repeats " + position(name, {first}) +
                          "; each pair may occur once");
}

// What is wrong with a cost.
[[noreturn]] void refuse(const std::string& where, double cost) {
  throw py::value_error(where + " is " + py::repr(py::float_(cost)).cast<std::string>() +
                        "; costs must be finite, at most 1e150 in magnitude (forbid a match by `allowed`, or leave it "
                        "out of `assignments`)");
}

}  // namespace

std::string position(const std::string& name, std::initializer_list<py::ssize_t> index) {
  std::string text = name + "[";
  for (const py::ssize_t k : index) text += (text.back() == '[' ? "" : ", ") + std::to_string(k);
  return text + "]";
}

py::array as_array(const py::handle& value, const std::string& name) {
  try {
    return py::array(py::reinterpret_borrow<py::object>(value));
  } catch (const py::error_already_set& error) {
    if (error.matches(PyExc_MemoryError)) throw;
    const py::object explain = py::module_::import("bbgm_solver.foreign").attr("why_not_an_array");
    throw py::type_error(explain(name, value, py::str(error.value())).cast<std::string>());
  }
}

Mask mask(const py::handle& value, const char* name) {
  const py::array a = as_array(value, name);
  if (a.dtype().kind() != 'b')
    throw py::type_error(std::string(name) + " has dtype " + py::str(a.dtype()).cast<std::string>() +
                         ", expected bool");
  return a;
}

int count(py::ssize_t n, const std::string& name) {
  if (n < 0 || n > 10000) throw py::value_error(name + ": " + std::to_string(n) + " nodes; 0 to 10000 are supported");
  return static_cast<int>(n);
}

void shape(const py::array& a, const std::string& name, std::vector<py::ssize_t> want, const char* symbols) {
  if (a.ndim() == static_cast<py::ssize_t>(want.size()) && std::equal(want.begin(), want.end(), a.shape())) return;
  std::string text = "(";
  for (std::size_t k = 0; k < want.size(); ++k) text += (k ? ", " : "") + std::to_string(want[k]);
  throw py::value_error(name + " has shape " + shape_text(a) + ", expected " + symbols + " = " + text +
                        (want.size() == 1 ? ",)" : ")"));
}

CostArray cost_table(const py::handle& value, const char* name, py::ssize_t ndim) {
  CostArray result{as_array(value, name), {}};
  py::array& a = result.array;
  if (std::string("biuf").find(a.dtype().kind()) == std::string::npos)
    throw py::type_error(std::string(name) + " has dtype " + py::str(a.dtype()).cast<std::string>() +
                         ", expected real numbers");
  if (a.ndim() != ndim)
    throw py::value_error(std::string(name) + " has shape " + shape_text(a) + ", expected " + std::to_string(ndim) +
                          (ndim == 1 ? " dimension" : " dimensions"));
  if (py::isinstance<py::array_t<float, py::array::c_style>>(a) && aligned(a)) {
    result.data = static_cast<const float*>(a.data());
    return result;
  }
  if (!py::isinstance<py::array_t<double, py::array::c_style>>(a) || !aligned(a)) {
    a = Doubles::ensure(a);
    if (!a) throw py::error_already_set();
  }
  result.data = static_cast<const double*>(a.data());
  return result;
}

CostArray cost_array(const py::handle& value, const char* name, py::ssize_t ndim) {
  CostArray result = cost_table(value, name, ndim);
  const py::ssize_t width = ndim == 2 ? result.array.shape(1) : 1;
  finite(result.data, 0, result.array.size(),
         [&](py::ssize_t k) { return ndim == 2 ? position(name, {k / width, k % width}) : position(name, {k}); });
  return result;
}

Doubles costs(const py::handle& value, const char* name, py::ssize_t ndim) {
  return Doubles::ensure(cost_array(value, name, ndim).array);
}

Integers pairs(const py::handle& value, const char* name, std::int64_t limit1, std::int64_t limit2) {
  const py::array a = as_array(value, name);
  if (a.size() == 0 && (a.ndim() == 1 || (a.ndim() == 2 && a.shape(1) == 2)))
    return Integers(std::vector<py::ssize_t>{0, 2});
  if (a.dtype().kind() != 'i' && a.dtype().kind() != 'u')
    throw py::type_error(std::string(name) + " has dtype " + py::str(a.dtype()).cast<std::string>() +
                         ", expected integers");
  if (a.ndim() != 2 || a.shape(1) != 2)
    throw py::value_error(std::string(name) + " has shape " + shape_text(a) + ", expected two columns");
  Integers pairs = Integers::ensure(a);
  if (!pairs) throw py::error_already_set();
  in_range(pairs.data(), pairs.shape(0), name, limit1, limit2);
  return pairs;
}

void no_repeats(const Integers& pairs, const char* name, std::int64_t n1, std::int64_t n2) {
  unlike(pairs.data(), pairs.shape(0), name, n1, n2);
}

void edges(const std::int64_t* nodes, py::ssize_t rows, const std::string& name, std::int64_t n) {
  in_range(nodes, rows, name, n, n);
  for (py::ssize_t k = 0; k < rows; ++k)
    if (nodes[2 * k] == nodes[2 * k + 1])
      throw py::value_error(position(name, {k}) + " = " + pair_text(nodes, k) + " is a self-loop; leave it out");
  unlike(nodes, rows, name, n, n);
}

Integers edges(const py::handle& value, const char* name, std::int64_t n) {
  const Integers e = pairs(value, name, n, n);
  edges(e.data(), e.shape(0), name, n);
  return e;
}

void finite(const gm::Costs& costs, std::size_t start, py::ssize_t n,
            const std::function<std::string(py::ssize_t)>& where) {
  std::visit(
      [&](const auto* x) {
        const py::ssize_t bad = first_bad(x + start, n);
        if (bad < n) refuse(where(bad), static_cast<double>(x[start + bad]));
      },
      costs);
}

}  // namespace check
