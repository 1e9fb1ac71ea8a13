#include "weir/io/record_reader.h"

#include <gtest/gtest.h>

#include "weir/io/coding.h"
#include "weir/io/crc32c.h"
#include "weir/io/damage_fixture.h"

namespace weir {
namespace {

const std::string kFolder = WEIR_SOURCE_DIR "/tests/fixtures/records/";

struct Contents {
  std::vector<size_t> sizes;
  Status end;
};

Contents ReadAll(const std::string& path, Compression compression) {
  Contents out;
  auto reader = RecordReader::Open(path, compression);
  if (!reader.ok()) return {{}, reader.status()};
  std::string record;
  while ((out.end = (*reader)->Read(&record)).ok()) out.sizes.push_back(record.size());
  return out;
}

TEST(RecordReader, ReadsWhatTensorFlowWrote) {
  const std::vector<size_t> sizes = {49, 64, 68, 72, 76, 0};
  for (auto [name, compression] :
       {std::pair("plain.tfrecord", Compression::kNone), std::pair("gzip.tfrecord", Compression::kGzip),
        std::pair("zlib.tfrecord", Compression::kZlib)}) {
    Contents contents = ReadAll(kFolder + name, compression);
    EXPECT_EQ(contents.sizes, sizes) << name;
    EXPECT_TRUE(absl::IsOutOfRange(contents.end)) << contents.end;
    EXPECT_EQ(GuessCompression(kFolder + name).value(), compression);
  }
}

TEST(RecordReader, ACutHeadIsTheEnd) {
  Contents contents = ReadAll(kFolder + "cut_in_header.tfrecord", Compression::kNone);
  EXPECT_EQ(contents.sizes, (std::vector<size_t>{49, 64, 68, 72, 76}));
  EXPECT_TRUE(absl::IsOutOfRange(contents.end)) << contents.end;
}

TEST(RecordReader, DamageIsDataLoss) {
  Contents cut = ReadAll(kFolder + "cut_in_data.tfrecord", Compression::kNone);
  EXPECT_EQ(cut.sizes, (std::vector<size_t>{49, 64, 68, 72}));
  EXPECT_TRUE(absl::IsDataLoss(cut.end)) << cut.end;
  Contents data = ReadAll(kFolder + "corrupt_data.tfrecord", Compression::kNone);
  EXPECT_EQ(data.sizes, (std::vector<size_t>{49}));
  EXPECT_EQ(Message(data.end), "corrupted record at 65");
  Contents length = ReadAll(kFolder + "corrupt_length.tfrecord", Compression::kNone);
  EXPECT_TRUE(length.sizes.empty());
  EXPECT_EQ(Message(length.end), "corrupted record at 0");
  EXPECT_TRUE(absl::IsDataLoss(ReadAll(kFolder + "plain.tfrecord", Compression::kGzip).end));
  EXPECT_TRUE(absl::IsDataLoss(ReadAll(kFolder + "plain.tfrecord", Compression::kZlib).end));
  EXPECT_TRUE(absl::IsDataLoss(ReadAll(kFolder + "gzip.tfrecord", Compression::kNone).end));
}

TEST(RecordReader, AHugeLengthTakesNoMemory) {
  std::string head;
  AppendFixed64(&head, UINT64_MAX - 3);
  AppendFixed32(&head, MaskCrc(Crc32c(head)));
  std::string path = testing::TempDir() + "/huge.tfrecord";
  WriteBytes(path, head + "some bytes");
  EXPECT_TRUE(absl::IsDataLoss(ReadAll(path, Compression::kNone).end));
}

TEST(RecordReader, EveryTurnedBitIsFound) {
  std::string path = testing::TempDir() + "/damaged.tfrecord";
  WriteBytes(path, ReadFile(kFolder + "plain.tfrecord").value());
  ForEachDamage(path, 3, [&](bool cut, size_t at) {
    Contents contents = ReadAll(path, Compression::kNone);
    EXPECT_TRUE(absl::IsDataLoss(contents.end) || (cut && absl::IsOutOfRange(contents.end))) << at << contents.end;
  });
  WriteBytes(path, ReadFile(kFolder + "gzip.tfrecord").value());
  ForEachDamage(path, 3, [&](bool, size_t) { EXPECT_FALSE(ReadAll(path, Compression::kGzip).end.ok()); });
}

TEST(RecordReader, NamesOfCompressions) {
  EXPECT_EQ(ParseCompression("GZIP").value(), Compression::kGzip);
  EXPECT_EQ(ParseCompression("").value(), Compression::kNone);
  EXPECT_TRUE(absl::IsInvalidArgument(ParseCompression("LZ4").status()));
  EXPECT_TRUE(absl::IsNotFound(RecordReader::Open("/no/such/file").status()));
}

}  // namespace
}  // namespace weir
