// Hostile bytes for every decoder and parser. Shared by the libFuzzer target and the corpus test.
#ifndef TESTS_FUZZ_DECODER_CASES_H_
#define TESTS_FUZZ_DECODER_CASES_H_

#include <span>
#include <string_view>

#include "weir/base/status.h"

namespace weir {

// The kinds of input: "png", "jpeg", "gif", "bmp", "webp", "example", "sequence", "record", "table", "csv", "json",
// "tensor".
std::span<const std::string_view> DecoderKinds();

// Decodes the bytes in every way the kind knows. Whatever they are, it must return; the status is that of the plainest
// way. REQUIRES: one of DecoderKinds().
Status Decode(std::string_view kind, std::string_view bytes);

}  // namespace weir

#endif  // TESTS_FUZZ_DECODER_CASES_H_
