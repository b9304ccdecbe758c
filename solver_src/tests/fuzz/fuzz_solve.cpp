// Fuzz target (libFuzzer): cmake -DBBGM_SOLVER_FUZZ=ON with clang, then gm_fuzz_solve CORPUS_FOLDER -max_total_time=60
#include <cstdio>
#include <cstdlib>

#include "fuzz/check_solve.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string what = gm::fuzz::check(data, size);
  if (what.empty()) return 0;
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}
