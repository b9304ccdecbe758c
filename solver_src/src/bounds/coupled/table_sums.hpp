// Sums and products over a table of weights, in the inner loop of the coupled dual. The order of the additions is part
// of the result: it is the same for every instruction set.
#pragma once

#include <cstddef>

#include "core/vec.hpp"

namespace gm {

// Sums of the rows of a table, four rows at a time, so that four chains of additions are under way.
GM_INLINE void sum_rows(const double* w, int rows, int width, double* sums) {
  int r = 0;
  for (; r + 4 <= rows; r += 4, w += 4 * static_cast<std::size_t>(width)) {
    vec::Four s0{}, s1{}, s2{}, s3{}, y;
    for (int c = 0; c < width; c += 4) {
      vec::load(w + c, y);
      s0 += y;
      vec::load(w + width + c, y);
      s1 += y;
      vec::load(w + 2 * width + c, y);
      s2 += y;
      vec::load(w + 3 * width + c, y);
      s3 += y;
    }
    sums[r] = vec::sum(s0);
    sums[r + 1] = vec::sum(s1);
    sums[r + 2] = vec::sum(s2);
    sums[r + 3] = vec::sum(s3);
  }
  for (; r < rows; ++r, w += width) {
    vec::Four total{}, y;
    for (int c = 0; c < width; c += 4) {
      vec::load(w + c, y);
      total += y;
    }
    sums[r] = vec::sum(total);
  }
  for (; r % 4 != 0; ++r) sums[r] = 0;
}

// Sums of the columns, sixteen at a time.
GM_INLINE void sum_columns(const double* w, int rows, int width, double* sums) {
  int c = 0;
  for (; c + 16 <= width; c += 16) {
    vec::Four s0{}, s1{}, s2{}, s3{}, y;
    const double* x = w + c;
    for (int r = 0; r < rows; ++r, x += width) {
      vec::load(x, y);
      s0 += y;
      vec::load(x + 4, y);
      s1 += y;
      vec::load(x + 8, y);
      s2 += y;
      vec::load(x + 12, y);
      s3 += y;
    }
    vec::store(sums + c, s0);
    vec::store(sums + c + 4, s1);
    vec::store(sums + c + 8, s2);
    vec::store(sums + c + 12, s3);
  }
  for (; c + 8 <= width; c += 8) {
    vec::Four s0{}, s1{}, y;
    const double* x = w + c;
    for (int r = 0; r < rows; ++r, x += width) {
      vec::load(x, y);
      s0 += y;
      vec::load(x + 4, y);
      s1 += y;
    }
    vec::store(sums + c, s0);
    vec::store(sums + c + 4, s1);
  }
  for (; c < width; c += 4) {
    vec::Four total{}, y;
    const double* x = w + c;
    for (int r = 0; r < rows; ++r, x += width) {
      vec::load(x, y);
      total += y;
    }
    vec::store(sums + c, total);
  }
}

// Multiplies each row, or each column, by its factor; returns the sum of the table.
GM_INLINE double scale_rows(double* w, int rows, int width, const double* factors) {
  vec::Four even{}, odd{}, y;
  for (int r = 0; r < rows; ++r, w += width) {
    const double f = factors[r];
    int c = 0;
    for (; c + 8 <= width; c += 8) {
      vec::load(w + c, y);
      y = y * f;
      even += y;
      vec::store(w + c, y);
      vec::load(w + c + 4, y);
      y = y * f;
      odd += y;
      vec::store(w + c + 4, y);
    }
    if (c == width) continue;
    vec::load(w + c, y);
    y = y * f;
    odd += y;
    vec::store(w + c, y);
  }
  return vec::sum(even + odd);
}

GM_INLINE double scale_columns(double* w, int rows, int width, const double* factors) {
  vec::Four even{}, odd{}, y, f;
  for (int r = 0; r < rows; ++r, w += width) {
    int c = 0;
    for (; c + 8 <= width; c += 8) {
      vec::load(w + c, y);
      vec::load(factors + c, f);
      y = y * f;
      even += y;
      vec::store(w + c, y);
      vec::load(w + c + 4, y);
      vec::load(factors + c + 4, f);
      y = y * f;
      odd += y;
      vec::store(w + c + 4, y);
    }
    if (c == width) continue;
    vec::load(w + c, y);
    vec::load(factors + c, f);
    y = y * f;
    odd += y;
    vec::store(w + c, y);
  }
  return vec::sum(even + odd);
}

}  // namespace gm
