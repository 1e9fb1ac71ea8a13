// Datasets saved to disk and read again.
#include "weir/ops/data/saved_dataset.h"

#include <gtest/gtest.h>

#include "weir/io/file_system.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

using S = std::string;
const ElementSpec kSpec{{DType::kInt64, DType::kString}, {PartialShape(Shape()), PartialShape(Shape({2}))}};

Element MakeElement(int64_t i) { return {Tensor::Scalar(i), Tensor::Vector<S>({Cat("a", i), S(1, '\0')})}; }

class SavedDatasetTest : public testing::TestWithParam<Compression> {
 protected:
  // Element i goes to shard i % shards.
  static Status Save(const std::string& path, int64_t count, int64_t shards, Compression compression) {
    WEIR_ASSIGN_OR_RETURN(auto writer, SavedDatasetWriter::Create(path, compression, kSpec.types));
    for (int64_t i = 0; i < count; ++i) WEIR_RETURN_IF_ERROR(writer->Write(i % shards, MakeElement(i)));
    return writer->Finish();
  }
  static void ExpectShard(const Dataset& shard, int64_t first, int64_t step, int64_t count) {
    CancellationManager cancellation;
    IteratorContext ctx{.cancellation = &cancellation};
    IteratorPtr walk = shard.MakeIterator(ctx).value();
    for (int64_t i = 0;; ++i) {
      Element element;
      bool end = false;
      ASSERT_TRUE(walk->GetNext(ctx, &element, &end).ok());
      ASSERT_EQ(end, i == count);
      if (end) return;
      const Element expected = MakeElement(first + i * step);
      for (size_t c = 0; c < expected.size(); ++c) ExpectTensorEqual(element[c], expected[c]);
    }
  }
  static std::string Folder(std::string_view name) { return Cat(testing::TempDir(), "/saved_", name); }
};

TEST_P(SavedDatasetTest, ShardsComeBackInTheirOrder) {
  const std::string path = Folder(Cat("shards", static_cast<int>(GetParam())));
  ASSERT_TRUE(Save(path, 7, 3, GetParam()).ok());
  SavedDataset saved = OpenSavedDataset(path, GetParam(), kSpec).value();
  EXPECT_EQ(saved.num_elements, 7);
  ASSERT_EQ(saved.shards.size(), 3u);
  ExpectShard(*saved.shards[0], 0, 3, 3);
  ExpectShard(*saved.shards[1], 1, 3, 2);
  ExpectShard(*saved.shards[2], 2, 3, 2);
}

INSTANTIATE_TEST_SUITE_P(All, SavedDatasetTest,
                         testing::Values(Compression::kNone, Compression::kGzip, Compression::kZlib,
                                         Compression::kSnappy));

TEST_F(SavedDatasetTest, TheLastSavedCounts) {
  const std::string path = Folder("again");
  ASSERT_TRUE(Save(path, 5, 1, Compression::kNone).ok());
  ASSERT_TRUE(Save(path, 2, 1, Compression::kNone).ok());
  SavedDataset saved = OpenSavedDataset(path, Compression::kNone, kSpec).value();
  ASSERT_EQ(saved.shards.size(), 1u);
  ExpectShard(*saved.shards[0], 0, 1, 2);
}

TEST_F(SavedDatasetTest, WritingGoesOnWhereItPaused) {
  const std::string path = Folder("paused");
  SavedRun run;
  {
    auto writer = SavedDatasetWriter::Create(path, Compression::kNone, kSpec.types).value();
    for (int64_t i = 0; i < 3; ++i) ASSERT_TRUE(writer->Write(0, MakeElement(i)).ok());
    run = writer->Pause().value();
    ASSERT_TRUE(writer->Write(0, MakeElement(100)).ok());  // lost with the program that wrote it
  }
  EXPECT_EQ(FindSavedStage(path, 60).value(), SavedStage::kBegun);
  EXPECT_EQ(FindSavedStage(path, -60).value(), SavedStage::kNone);
  auto writer = SavedDatasetWriter::Resume(path, Compression::kNone, kSpec.types, "", run).value();
  for (int64_t i = 3; i < 5; ++i) ASSERT_TRUE(writer->Write(0, MakeElement(i)).ok());
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_EQ(FindSavedStage(path, 60).value(), SavedStage::kComplete);
  SavedDataset saved = OpenSavedDataset(path, Compression::kNone, kSpec).value();
  EXPECT_EQ(saved.num_elements, 5);
  ExpectShard(*saved.shards[0], 0, 1, 5);
}

TEST_F(SavedDatasetTest, WhatCannotBeReadIsSaid) {
  auto code = [](const std::string& path, const ElementSpec& spec) {
    return OpenSavedDataset(path, Compression::kNone, spec).status().code();
  };
  EXPECT_EQ(code(Folder("nowhere"), kSpec), absl::StatusCode::kNotFound);
  const std::string open = Folder("open");
  auto writer = SavedDatasetWriter::Create(open, Compression::kNone, kSpec.types).value();
  EXPECT_EQ(writer->Write(-1, MakeElement(0)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(open, kSpec), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_EQ(code(open, {{DType::kFloat}, {PartialShape(Shape())}}), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(WriteWholeFile(open + "/snapshot.metadata", "\xff\xff").ok());
  EXPECT_EQ(code(open, kSpec), absl::StatusCode::kDataLoss);
}

TEST_F(SavedDatasetTest, DamagedFilesGiveErrors) {
  const std::string path = Folder("damaged");
  ASSERT_TRUE(Save(path, 1, 1, Compression::kNone).ok());
  const std::vector<std::string> files = MatchFiles(path + "/*/*.shard/*.snapshot").value();
  ASSERT_EQ(files.size(), 1u);
  auto record = RecordWriter::Create(files[0]).value();
  ASSERT_TRUE(record->Write("no tensor").ok());
  ASSERT_TRUE(record->Close().ok());
  SavedDataset saved = OpenSavedDataset(path, Compression::kNone, kSpec).value();
  CancellationManager cancellation;
  IteratorContext ctx{.cancellation = &cancellation};
  IteratorPtr walk = saved.shards[0]->MakeIterator(ctx).value();
  Element element;
  bool end = false;
  EXPECT_EQ(walk->GetNext(ctx, &element, &end).code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace weir
