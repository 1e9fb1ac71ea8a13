// What TensorFlow and NumPy wrote (tests/fixtures/make_tensors.py) reads as the values it stands for.
#include <cstring>
#include <fstream>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "weir/proto/tensor.pb.h"
#include "weir/tensor/npy.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

std::string TakeBlock(std::string_view* in) {
  uint32_t size = 0;
  std::memcpy(&size, in->data(), 4);
  std::string out(in->substr(4, size));
  in->remove_prefix(4 + size);
  return out;
}

// The bytes of make_tensors.py.
std::string Elements(const Tensor& tensor) {
  if (tensor.dtype() != DType::kString) {
    return std::string(static_cast<const char*>(tensor.raw_data()), tensor.num_bytes());
  }
  std::string out;
  for (const std::string& s : tensor.span<std::string>()) {
    uint32_t size = static_cast<uint32_t>(s.size());
    out.append(reinterpret_cast<const char*>(&size), 4).append(s);
  }
  return out;
}

void ExpectRoundTrip(const Tensor& tensor, TensorEncoding encoding) {
  TensorProto proto;
  ASSERT_TRUE(ToProto(tensor, &proto, encoding).ok());
  StatusOr<Tensor> again = FromProto(proto);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->dtype(), tensor.dtype());
  EXPECT_EQ(again->shape(), tensor.shape());
  EXPECT_EQ(Elements(*again), Elements(tensor));
}

TEST(Fixtures, ReadAsWhatTheyStandFor) {
  std::ifstream file(WEIR_SOURCE_DIR "/tests/fixtures/tensors.bin", std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  std::string bytes = text.str();
  std::string_view rest = bytes;
  int protos = 0, arrays = 0;
  while (!rest.empty()) {
    std::string name = TakeBlock(&rest), data = TakeBlock(&rest), elements = TakeBlock(&rest);
    SCOPED_TRACE(name);
    std::vector<std::string> words = absl::StrSplit(name, ' ');
    std::vector<int64_t> dims;
    for (const std::string& word : std::vector<std::string>(absl::StrSplit(words[3], ',', absl::SkipEmpty()))) {
      ASSERT_TRUE(absl::SimpleAtoi(word, &dims.emplace_back()));
    }
    StatusOr<Tensor> tensor = InvalidArgument("unknown form");
    if (words[0] == "proto") {
      TensorProto proto;
      ASSERT_TRUE(proto.ParseFromString(data));
      tensor = FromProto(proto);
      ++protos;
    } else if (words[0] == "npy") {
      tensor = ParseNpy(data);
      ++arrays;
    }
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_EQ(Name(tensor->dtype()), words[2]);
    EXPECT_EQ(tensor->shape(), *Shape::Make(dims));
    EXPECT_EQ(Elements(*tensor), elements);
    for (TensorEncoding each : {TensorEncoding::kContent, TensorEncoding::kFields, TensorEncoding::kWire}) {
      ExpectRoundTrip(*tensor, each);
    }
    if (words[0] == "npy" && words[1] == "plain") {
      EXPECT_EQ(*FormatNpy(*tensor), data);
    }
  }
  EXPECT_GT(protos, 100);
  EXPECT_GT(arrays, 50);
}

}  // namespace
}  // namespace weir
