#include "core/eigen.hpp"

#include <cmath>
#include <cstddef>

#include "core/poll.hpp"

namespace gm {

namespace {

constexpr int most_sweeps = 60;

}  // namespace

void eigenvectors(int n, std::vector<double>& a, std::vector<double>& vectors) {
  vectors.assign(static_cast<std::size_t>(n) * n, 0.0);
  for (int k = 0; k < n; ++k) vectors[static_cast<std::size_t>(k) * n + k] = 1;
  const auto at = [n](std::vector<double>& m, int r, int c) -> double& {
    return m[static_cast<std::size_t>(r) * n + c];
  };
  for (int sweep = 0; sweep < most_sweeps; ++sweep) {
    bool done = true;
    for (int r = 0; r < n; ++r) {
      poll(n);
      for (int c = r + 1; c < n; ++c) {
        const double off = at(a, r, c);
        if (std::fabs(off) < 1e-13) continue;
        done = false;
        const double theta = (at(a, c, c) - at(a, r, r)) / (2 * off);
        const double t = (theta < 0 ? -1 : 1) / (std::fabs(theta) + std::sqrt(theta * theta + 1));
        const double cosine = 1 / std::sqrt(t * t + 1), sine = t * cosine;
        for (int k = 0; k < n; ++k) {
          const double x = at(a, k, r), y = at(a, k, c);
          if (x == 0 && y == 0) continue;
          at(a, k, r) = cosine * x - sine * y;
          at(a, k, c) = sine * x + cosine * y;
        }
        for (int k = 0; k < n; ++k) {
          const double x = at(a, r, k), y = at(a, c, k);
          if (x == 0 && y == 0) continue;
          at(a, r, k) = cosine * x - sine * y;
          at(a, c, k) = sine * x + cosine * y;
        }
        for (int k = 0; k < n; ++k) {
          const double x = at(vectors, k, r), y = at(vectors, k, c);
          if (x == 0 && y == 0) continue;
          at(vectors, k, r) = cosine * x - sine * y;
          at(vectors, k, c) = sine * x + cosine * y;
        }
      }
    }
    if (done) break;
  }
}

}  // namespace gm
