#include "weir/client/examples.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

std::string WriteBytes(const std::string& name, const std::string& bytes) {
  const std::string path = testing::TempDir() + "/" + name;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string WriteGzip(const std::string& name, const std::string& bytes) {
  const std::string path = WriteBytes(name, "");
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  return path;
}

TEST(ReadIdx, BytesAndWords) {
  const std::string bytes("\0\0\x08\x02\0\0\0\x02\0\0\0\x02\1\2\3\4", 16);
  const Tensor expected = Tensor::FromSpan<uint8_t>(std::vector<uint8_t>{1, 2, 3, 4}, {2, 2});
  ExpectTensorEqual(ReadIdx(WriteBytes("a.idx", bytes)).value(), expected);
  ExpectTensorEqual(ReadIdx(WriteGzip("a.idx.gz", bytes)).value(), expected);
  const std::string words("\0\0\x0C\x01\0\0\0\x02\0\0\1\0\xff\xff\xff\xfe", 16);
  ExpectTensorEqual(ReadIdx(WriteBytes("b.idx", words)).value(), Tensor::Vector<int32_t>({256, -2}));
}

TEST(ReadIdx, BadFilesAreRefused) {
  for (const std::string& bytes : {std::string(), std::string("\0\0\x08", 3), std::string("\0\0\x07\x00", 4),
                                   std::string("\0\0\x08\x01\0\0\0\x02\1", 9),
                                   std::string("\0\0\x08\x03\x7f\xff\xff\xff\x7f\xff\xff\xff\x7f\xff\xff\xff", 16),
                                   std::string("\0\0\x08\xff", 4)}) {
    EXPECT_FALSE(ReadIdx(WriteBytes("bad.idx", bytes)).ok()) << bytes.size();
  }
  EXPECT_EQ(ReadIdx("/no/such/file").status().code(), absl::StatusCode::kNotFound);
}

TEST(LoadMnist, PairsImagesWithLabels) {
  const std::string images("\0\0\x08\x03\0\0\0\1\0\0\0\1\0\0\0\2\0\xff", 18), labels("\0\0\x08\x01\0\0\0\1\7", 9);
  WriteGzip("mnist/train-images-idx3-ubyte.gz", images);
  WriteGzip("mnist/train-labels-idx1-ubyte.gz", labels);
  WriteBytes("mnist/t10k-images-idx3-ubyte", images);
  const std::string test_labels = WriteBytes("mnist/t10k-labels-idx1-ubyte", labels);
  auto set = LoadMnist(testing::TempDir() + "/mnist");
  ASSERT_TRUE(set.ok()) << set.status();
  ExpectTensorEqual(set->train.inputs, Tensor::FromSpan<float>(std::vector<float>{0, 1}, {1, 1, 2, 1}));
  ExpectTensorEqual(set->test.labels, Tensor::Vector<int64_t>({7}));
  WriteBytes("mnist/t10k-labels-idx1-ubyte", std::string("\0\0\x08\x01\0\0\0\2\7\7", 10));
  EXPECT_EQ(LoadMnist(testing::TempDir() + "/mnist").status().code(), absl::StatusCode::kDataLoss);
}

TEST(LoadCifar10, PlanesBecomePixels) {
  std::string record(1, '\3');
  for (int c = 0; c < 3; ++c) record += std::string(1024, static_cast<char>(c * 51));
  for (const char* name :
       {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"}) {
    WriteBytes(Cat("cifar/", name, ".bin"), record);
  }
  auto set = LoadCifar10(testing::TempDir() + "/cifar");
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->train.inputs.shape(), Shape({5, 32, 32, 3}));
  EXPECT_FLOAT_EQ(set->test.inputs.data<float>()[5], 0.4f);
  ExpectTensorEqual(set->test.labels, Tensor::Vector<int64_t>({3}));
  WriteBytes("cifar/test_batch.bin", record + "x");
  EXPECT_EQ(LoadCifar10(testing::TempDir() + "/cifar").status().code(), absl::StatusCode::kDataLoss);
}

TEST(ReadCsv, NumbersHeadersAndGaps) {
  auto table = ReadCsv(WriteBytes("a.csv", "x,\"y, z\"\r\n1,2.5\n-3e2,\n"));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->columns, (std::vector<std::string>{"x", "y, z"}));
  ASSERT_EQ(table->values.shape(), Shape({2, 2}));
  EXPECT_EQ(table->values.data<float>()[2], -300);
  EXPECT_TRUE(std::isnan(table->values.data<float>()[3]));
  Status bad = ReadCsv(WriteBytes("b.csv", "1;2\n3;x\n"), {.delimiter = ';', .header = false}).status();
  EXPECT_EQ(bad.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(Message(bad).find("line 2: 'x'"), std::string::npos) << bad;
  EXPECT_FALSE(ReadCsv(WriteBytes("c.csv", "a,b\n1,2,3\n")).ok());
}

}  // namespace
}  // namespace weir
