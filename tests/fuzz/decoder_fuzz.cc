// The libFuzzer target of every decoder: `WEIR_DECODER=png decoder_fuzz ...` for one of them. Without a name the first
// byte chooses the decoder, and the rest are its bytes.
#include <cstdint>
#include <cstdlib>

#include "tests/fuzz/decoder_cases.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const char* const kind = std::getenv("WEIR_DECODER");
  if (kind != nullptr) {
    weir::Decode(kind, {reinterpret_cast<const char*>(data), size}).IgnoreError();
    return 0;
  }
  if (size == 0) return 0;
  const auto kinds = weir::DecoderKinds();
  weir::Decode(kinds[data[0] % kinds.size()], {reinterpret_cast<const char*>(data + 1), size - 1}).IgnoreError();
  return 0;
}
