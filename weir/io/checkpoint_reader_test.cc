#include "weir/io/checkpoint_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "weir/io/checkpoint_v1_writer.h"
#include "weir/io/damage_fixture.h"

namespace weir {
namespace {

const std::string kFolder = WEIR_SOURCE_DIR "/tests/fixtures/checkpoint_v2/";

std::string Copy(const std::string& name) {
  std::string to = testing::TempDir() + "/checkpoint_" + std::to_string(getpid()) + "_" + name;
  std::filesystem::remove_all(to);
  std::filesystem::copy(kFolder + name, to);
  for (const auto& file : std::filesystem::directory_iterator(to)) {
    std::filesystem::permissions(file.path(), std::filesystem::perms::owner_all);
  }
  return to;
}

// Reads everything; the first error, or what the tensors print.
StatusOr<std::string> Print(const std::string& prefix) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<CheckpointReader> reader, CheckpointReader::Open(prefix));
  std::string out;
  for (const auto& [name, info] : reader->tensors()) {
    WEIR_ASSIGN_OR_RETURN(Tensor tensor, reader->Read(name));
    out += Cat(name, " ", tensor.ToString(1000), "\n");
  }
  return out;
}

TEST(CheckpointReader, SlicesOfPartitionedAndWholeTensors) {
  auto reader = CheckpointReader::Open(kFolder + "saver/model.ckpt-7");
  ASSERT_TRUE(reader.ok()) << reader.status();
  const CheckpointTensor* info = (*reader)->Find("by_rows").value();
  EXPECT_GT(info->slices.size(), 1u);
  for (const char* name : {"by_rows", "by_columns", "matrix"}) {
    Tensor whole = (*reader)->Read(name).value();
    ASSERT_EQ(whole.rank(), 2);
    auto part = (*reader)->ReadSlice(name, TensorSlice::Parse("1,1:1,2").value());
    ASSERT_TRUE(part.ok()) << part.status();
    EXPECT_EQ(part->shape(), Shape({1, 2}));
    for (int i = 0; i < 2; ++i) EXPECT_EQ(part->data<float>()[i], whole.data<float>()[whole.dim(1) + 1 + i]) << name;
  }
  EXPECT_TRUE(absl::IsInvalidArgument((*reader)->ReadSlice("matrix", TensorSlice::Parse("3,1:-").value()).status()));
  EXPECT_TRUE(absl::IsInvalidArgument((*reader)->ReadSlice("matrix", TensorSlice::Parse("-").value()).status()));
  EXPECT_EQ(Message((*reader)->Read("nobody").status()), "Key nobody not found in checkpoint");
}

TEST(CheckpointReader, FindsTheLatest) {
  EXPECT_EQ(LatestCheckpoint(kFolder + "object").value(), kFolder + "object/ckpt-1");
  EXPECT_TRUE(absl::IsNotFound(LatestCheckpoint(kFolder).status()));
  EXPECT_TRUE(absl::IsNotFound(CheckpointReader::Open(kFolder + "nothing").status()));
}

// What a sharded Saver of the first format writes, one file a task, and restores by this pattern.
TEST(CheckpointReader, APatternNamesTheFilesOfTheFirstFormat) {
  const std::string prefix = testing::TempDir() + "/sharded_v1_" + std::to_string(getpid());
  const Tensor row = Tensor::FromSpan<float>(std::vector<float>{1, 2}, Shape({1, 2}));
  for (int i = 0; i < 2; ++i) {
    CheckpointV1Writer writer(Cat(prefix, "-0000", i, "-of-00002"));
    const TensorSlice part = ParseShapeAndSlice(Cat("2 2 ", i, ",1:-"))->slice;
    ASSERT_TRUE(writer.Add("in_parts", Shape({2, 2}), part, row).ok());
    ASSERT_TRUE(writer.Add(Cat("whole_", i), Shape({1, 2}), TensorSlice::Full(2), row).ok());
    ASSERT_TRUE(writer.Finish().ok());
  }
  auto reader = CheckpointReader::Open(prefix +
                                       "-?????"
                                       "-of-00002");
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->tensors().size(), 3u);
  StatusOr<Tensor> joined = (*reader)->Read("in_parts");
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ(joined->ToString(), Tensor::FromSpan<float>(std::vector<float>{1, 2, 1, 2}, Shape({2, 2})).ToString());
  EXPECT_TRUE((*reader)->Read("whole_0").ok());
  EXPECT_TRUE((*reader)->Read("whole_1").ok());
  EXPECT_TRUE(absl::IsNotFound(CheckpointReader::Open(prefix + "-?????"
                                                               "-of-00003")
                                   .status()));
}

TEST(CheckpointReader, ATurnedBitInTheDataIsFound) {
  for (const char* name : {"saver/model.ckpt-7", "object/ckpt-1"}) {
    std::string folder = Copy(std::string(name).substr(0, std::string(name).find('/')));
    std::string prefix = folder + std::string(name).substr(std::string(name).find('/'));
    ForEachDamage(prefix + ".data-00000-of-00001", 29, [&](bool cut, size_t at) {
      StatusOr<std::string> printed = Print(prefix);
      EXPECT_TRUE(absl::IsDataLoss(printed.status())) << printed.status() << " cut " << cut << " at " << at;
    });
  }
}

TEST(CheckpointReader, ADamagedIndexGivesAnErrorOrTheSameTensors) {
  for (const char* file : {"saver/model.ckpt-7.index", "sharded/model.index", "format_v1/model.ckpt"}) {
    std::string name = file;
    std::string folder = Copy(name.substr(0, name.find('/')));
    std::string path = folder + name.substr(name.find('/'));
    std::string prefix = path.substr(0, path.rfind(".index"));
    StatusOr<std::string> good = Print(prefix);
    ASSERT_TRUE(good.ok()) << good.status();
    ForEachDamage(path, 5, [&](bool, size_t at) {
      StatusOr<std::string> printed = Print(prefix);
      if (printed.ok()) {
        EXPECT_EQ(*printed, *good) << at;
      }
    });
  }
}

TEST(TensorSlice, ParsesShapesAndSlices) {
  auto part = ParseShapeAndSlice("4 5 1,2:-");
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_EQ(part->shape, Shape({4, 5}));
  EXPECT_EQ(part->slice.ToString(), "1,2:-");
  for (const char* bad :
       {"", " ", "4", "4 5 1,2", "4 5 1,9:-", "x 5 -:-", "-4 5 -:-", "4 5 1,:-", "4 5 -1,2:-",
        "9223372036854775807 9223372036854775807 -:-", "4 5 9223372036854775807,9223372036854775807:-"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseShapeAndSlice(bad).status())) << bad;
  }
}

}  // namespace
}  // namespace weir
