#include "weir/tensor/npy.h"

#include "gtest/gtest.h"

namespace weir {
namespace {

std::string File(std::string header, std::string data) {
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(header.size() & 255);
  out += static_cast<char>(header.size() >> 8);
  return out + header + data;
}

absl::StatusCode Code(const std::string& bytes) { return ParseNpy(bytes).status().code(); }

TEST(Npy, RoundTripsThroughAFile) {
  std::string path = testing::TempDir() + "/weir_npy_test.npy";
  Tensor t = Tensor::FromSpan<double>(std::vector<double>{1, 2, 3, 4, 5, 6}, Shape({3, 2}));
  ASSERT_TRUE(WriteNpy(path, t).ok());
  EXPECT_EQ(ReadNpy(path)->ToString(), t.ToString());
  EXPECT_EQ(ReadNpy(path + ".missing").status().code(), absl::StatusCode::kNotFound);
  Tensor strings = Tensor::Vector<std::string>({"ab", "", "cde"});
  EXPECT_EQ(ParseNpy(*FormatNpy(strings))->ToString(), strings.ToString());
  EXPECT_EQ(FormatNpy(t)->size() % 64, 48u);
}

TEST(Npy, EveryCutGivesAnError) {
  std::string bytes = FormatNpy(Tensor::Vector<int32_t>({1, 2, 3})).value();
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(ParseNpy(bytes.substr(0, size)).ok()) << size;
  EXPECT_EQ(Code(bytes.substr(0, bytes.size() - 1)), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(ParseNpy(bytes + "more").ok());
}

TEST(Npy, RefusesBadHeaders) {
  constexpr auto kBad = absl::StatusCode::kInvalidArgument;
  for (const char* header : {
           "",
           "{",
           "[]",
           "{'descr': '<f4'}",
           "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
           "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
           "{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (1,)}",
           "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
           "{'descr': '<U-4', 'fortran_order': False, 'shape': (1,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 'y'}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
       }) {
    EXPECT_EQ(Code(File(header, "1234")), kBad) << header;
  }
  EXPECT_EQ(Code("no array at all"), kBad);
  EXPECT_EQ(Code(File("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999,)}", "1234")),
            absl::StatusCode::kDataLoss);
}

TEST(Npy, RefusesToWriteWhatNumPyLacks) {
  EXPECT_FALSE(FormatNpy(Tensor::Vector<QInt8>({QInt8{1}})).ok());
  EXPECT_FALSE(FormatNpy(Tensor::Scalar(std::string("a\0", 2))).ok());
  EXPECT_FALSE(FormatNpy(Tensor()).ok());
}

}  // namespace
}  // namespace weir
