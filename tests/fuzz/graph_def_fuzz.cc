// The libFuzzer target: `make fuzz`.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tests/fuzz/graph_def_cases.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::Status status = weir::ImportAndRun(std::string_view(reinterpret_cast<const char*>(data), size));
  if (status.code() == absl::StatusCode::kInternal && weir::Message(status) == "a step outlived its session")
    std::abort();
  return 0;
}

// libFuzzer's own changes rarely leave a graph that imports; ours keep its structure, so both take turns.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  if (seed % 2 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::mt19937 random(seed);
  const std::string out = weir::Mutate(std::string_view(reinterpret_cast<const char*>(data), size), random);
  const size_t length = std::min(out.size(), max_size);
  std::memcpy(data, out.data(), length);
  return length;
}
