// Every file of the corpus decodes; cut short or with bits turned it gives an error or a value, never a crash.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/fuzz/decoder_cases.h"
#include "weir/io/file.h"

namespace weir {
namespace {

constexpr char kFolder[] = WEIR_SOURCE_DIR "/tests/fuzz/corpus/decoders";
constexpr size_t kMaxChanges = 600;  // of each sort, a file

std::vector<std::string> Corpus() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

// "jpeg_gray" is of the kind "jpeg".
std::string KindOf(const std::string& name) { return name.substr(0, name.find('_')); }

class DecoderCorpus : public testing::TestWithParam<std::string> {};

TEST_P(DecoderCorpus, Decodes) {
  EXPECT_EQ(Decode(KindOf(GetParam()), ReadFile(Cat(kFolder, "/", GetParam())).value()), OkStatus());
}

TEST_P(DecoderCorpus, SurvivesDamage) {
  const std::string good = ReadFile(Cat(kFolder, "/", GetParam())).value(), kind = KindOf(GetParam());
  const size_t step = good.size() / kMaxChanges + 1;
  for (size_t at = 0; at < good.size(); at += step) {
    SCOPED_TRACE(at);
    EXPECT_NE(Decode(kind, good.substr(0, at)).code(), absl::StatusCode::kInternal);
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << at % 8));
    EXPECT_NE(Decode(kind, bad).code(), absl::StatusCode::kInternal);
    bad[at] = '\xff';
    EXPECT_NE(Decode(kind, bad).code(), absl::StatusCode::kInternal);
  }
}

INSTANTIATE_TEST_SUITE_P(All, DecoderCorpus, testing::ValuesIn(Corpus()), [](const auto& info) { return info.param; });

// A header alone must not cost the memory of the picture it promises.
TEST(HugeImages, AreRefused) {
  std::string bmp("BM", 2);
  bmp.resize(64);
  bmp[10] = 54;
  bmp[20] = bmp[24] = '\x7f';  // 8,323,072 pixels wide and high
  bmp[28] = 24;
  EXPECT_EQ(Decode("bmp", bmp).code(), absl::StatusCode::kInvalidArgument);
  std::string png = ReadFile(Cat(kFolder, "/png_gray")).value();
  png[16] = png[20] = '\x01';
  EXPECT_EQ(Decode("png", png).code(), absl::StatusCode::kInvalidArgument);
  const std::string gif("GIF89a\xff\xff\xff\xff\0\0\0,\0\0\0\0\xff\xff\xff\xff\0\x02\x02\x44\x01\0;", 29);
  EXPECT_EQ(Decode("gif", gif).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weir
