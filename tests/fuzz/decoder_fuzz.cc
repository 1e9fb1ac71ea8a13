// The libFuzzer target: the first byte chooses the decoder, the rest are its bytes.
#include <cstdint>

#include "tests/fuzz/decoder_cases.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto kinds = weir::DecoderKinds();
  weir::Decode(kinds[data[0] % kinds.size()], {reinterpret_cast<const char*>(data + 1), size - 1}).IgnoreError();
  return 0;
}
