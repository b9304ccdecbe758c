// Four doubles at a time, with an exponential and a logarithm that give the same bits on every machine.
// They are accurate to about 1e-10: enough to steer the dual, whose bound is evaluated without them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

// Builds a function for several instruction sets and picks one when the program starts. Every variant does the same
// IEEE operations in the same order (no fused multiply-add), so the results agree bit by bit.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__)
#define GM_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define GM_CLONES
#endif
#define GM_INLINE inline __attribute__((always_inline))

namespace gm::vec {

typedef double Four __attribute__((vector_size(32)));
typedef std::int64_t FourBits __attribute__((vector_size(32)));

// Length of a vector in memory, rounded up to whole fours.
inline std::size_t padded(int n) { return static_cast<std::size_t>(n + 3) / 4 * 4; }

GM_INLINE void load(const double* p, Four& x) { std::memcpy(&x, p, sizeof x); }
GM_INLINE void load(const std::int64_t* p, FourBits& x) { std::memcpy(&x, p, sizeof x); }
GM_INLINE void store(double* p, const Four& x) { std::memcpy(p, &x, sizeof x); }
GM_INLINE void fill(double c, Four& x) { x = Four{c, c, c, c}; }

// y = e^x, 0 below -700; x must not exceed 700.
GM_INLINE void exp(const Four& x_in, Four& y) {
  const Four x = x_in < -700.0 ? Four{-700.0, -700.0, -700.0, -700.0} : x_in;
  constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer in the low bits
  const Four shifted = x * 1.4426950408889634 + magic;
  const Four n = shifted - magic;
  const Four r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
  Four p = r * (1.0 / 40320) + (1.0 / 5040);
  p = p * r + (1.0 / 720);
  p = p * r + (1.0 / 120);
  p = p * r + (1.0 / 24);
  p = p * r + (1.0 / 6);
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  const FourBits bits = ((FourBits)shifted << 52) + (FourBits)p;
  y = x_in < -700.0 ? Four{0, 0, 0, 0} : (Four)bits;
}

// y = ln x for normal positive x.
GM_INLINE void log(const Four& x, Four& y) {
  const FourBits bits = (FourBits)x;
  const FourBits offset = bits - 0x3fe6a09e667f3bcdLL;  // so that the mantissa lies in [sqrt(1/2), sqrt(2))
  const FourBits exponent = offset >> 52;
  const Four m = (Four)(bits - (exponent << 52));
  constexpr double magic = 6755399441055744.0;
  const FourBits magic_bits = (FourBits)Four{magic, magic, magic, magic};
  const Four e = (Four)(exponent + magic_bits) - magic;
  const Four s = (m - 1.0) / (m + 1.0);
  const Four q = s * s;
  Four p = q * (2.0 / 11) + (2.0 / 9);
  p = p * q + (2.0 / 7);
  p = p * q + (2.0 / 5);
  p = p * q + (2.0 / 3);
  p = p * q + 2.0;
  y = p * s + e * 0.69314718055994530942;
}

GM_INLINE double sum(const Four& x) { return (x[0] + x[1]) + (x[2] + x[3]); }

GM_INLINE void min(const Four& x, const Four& y, Four& z) { z = x < y ? x : y; }

}  // namespace gm::vec
