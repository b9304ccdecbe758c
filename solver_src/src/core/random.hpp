// Random numbers that are the same on every machine.
#pragma once

#include <cstdint>

namespace gm {

// A number below n; splitmix64. `state` is the seed, and moves on.
inline std::uint64_t draw(std::uint64_t& state, std::uint64_t n) {
  std::uint64_t z = state += 0x9E3779B97F4A7C15ull;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  return (z ^ z >> 31) % n;
}

}  // namespace gm
