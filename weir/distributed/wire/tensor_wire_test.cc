#include "weir/distributed/wire/tensor_wire.h"

#include <gmock/gmock.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

#include "weir/proto/tensor.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

using google::protobuf::io::ArrayInputStream;
using google::protobuf::io::CodedInputStream;

// Reads in blocks of `block` bytes, as a message comes in slices. Nothing if the bytes are no message.
std::optional<StatusOr<Tensor>> Read(const std::string& bytes, int block = -1) {
  ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()), block);
  CodedInputStream coded(&stream);
  coded.PushLimit(static_cast<int>(bytes.size()));
  StatusOr<Tensor> tensor = Internal("untouched");
  if (!ReadTensorProto(&coded, &tensor)) return std::nullopt;
  return tensor;
}

std::string Write(const Tensor& tensor) {
  WireBuffer out;
  std::move(*EncodedTensor::Make(tensor)).AppendTo(&out);
  return out.Flatten();
}

Tensor Numbers(int64_t n) {
  Tensor tensor = *Tensor::Allocate(DType::kFloat, Shape({n}));
  for (int64_t i = 0; i < n; ++i) tensor.data<float>()[i] = static_cast<float>(i);
  return tensor;
}

TEST(TensorWire, WritesWhatTheTensorRoomWrites) {
  for (const Tensor& tensor :
       {Tensor::Scalar(1.5f), Tensor::Vector<int32_t>({1, -2, 3}), Tensor::Vector<std::string>({"abc", "", "x"}),
        *Tensor::Zeros(DType::kDouble, Shape({2, 0})), Numbers(5000), Tensor::Scalar(true)}) {
    TensorProto want;
    ASSERT_TRUE(ToProto(tensor, &want, TensorEncoding::kWire).ok());
    want.mutable_tensor_shape();
    TensorProto got;
    ASSERT_TRUE(got.ParseFromString(Write(tensor)));
    EXPECT_EQ(got.DebugString(), want.DebugString());
  }
}

TEST(TensorWire, LargeTensorsAreNotCopiedOnTheWayOut) {
  Tensor tensor = Numbers(5000);
  WireBuffer out;
  ASSERT_TRUE(AppendNamedTensorField(1, "x:0", tensor, &out).ok());
  ASSERT_EQ(out.pieces().size(), 2u);
  EXPECT_EQ(out.pieces()[1].bytes().data(), static_cast<const void*>(tensor.raw_data()));
  EXPECT_EQ(out.Flatten().size(), out.size());
}

TEST(TensorWire, ReadsBackInBlocksOfAnySize) {
  Tensor tensor = Numbers(2000);
  std::string bytes = Write(tensor);
  for (int block : {-1, 1, 7, 4096}) {
    auto read = Read(bytes, block);
    ASSERT_TRUE(read.has_value() && read->ok());
    EXPECT_EQ((*read)->shape(), tensor.shape());
    EXPECT_EQ(std::memcmp((*read)->raw_data(), std::as_const(tensor).raw_data(), tensor.num_bytes()), 0);
  }
}

TEST(TensorWire, ReadsTypedFieldsAndStrings) {
  TensorProto proto;
  proto.set_dtype(DT_INT64);
  proto.mutable_tensor_shape()->add_dim()->set_size(3);
  proto.add_int64_val(7);
  auto read = Read(proto.SerializeAsString());
  ASSERT_TRUE(read.has_value() && read->ok()) << read->status();
  EXPECT_THAT((*read)->span<int64_t>(), testing::ElementsAre(7, 7, 7));

  read = Read(Write(Tensor::Vector<std::string>({"abc", ""})));
  ASSERT_TRUE(read.has_value() && read->ok()) << read->status();
  EXPECT_THAT((*read)->span<std::string>(), testing::ElementsAre("abc", ""));
}

TEST(TensorWire, FieldsMayComeInAnyOrder) {
  TensorProto content, type, shape;
  content.set_tensor_content(std::string("\1\0\0\0\2\0\0\0", 8));
  type.set_dtype(DT_INT32);
  shape.mutable_tensor_shape()->add_dim()->set_size(2);
  for (const std::string& bytes :
       {content.SerializeAsString() + type.SerializeAsString() + shape.SerializeAsString(),
        type.SerializeAsString() + shape.SerializeAsString() + content.SerializeAsString(),
        shape.SerializeAsString() + content.SerializeAsString() + type.SerializeAsString()}) {
    auto read = Read(bytes);
    ASSERT_TRUE(read.has_value() && read->ok());
    EXPECT_THAT((*read)->span<int32_t>(), testing::ElementsAre(1, 2));
  }
}

TEST(TensorWire, RefusesWhatIsNoTensor) {
  TensorProto proto;
  proto.set_dtype(DT_FLOAT);
  proto.mutable_tensor_shape()->add_dim()->set_size(3);
  proto.set_tensor_content("1234");  // too few bytes
  EXPECT_EQ(Read(proto.SerializeAsString())->status().code(), absl::StatusCode::kInvalidArgument);
  proto.set_tensor_content(std::string(16, 'x'));  // too many
  EXPECT_EQ(Read(proto.SerializeAsString())->status().code(), absl::StatusCode::kInvalidArgument);
  proto.mutable_tensor_shape()->mutable_dim(0)->set_size(-1);
  EXPECT_FALSE(Read(proto.SerializeAsString())->ok());
  proto.mutable_tensor_shape()->mutable_dim(0)->set_size(4);
  for (int dtype : {0, 34, 99, 101, 107, 1000}) {
    proto.set_dtype(static_cast<DataType>(dtype));
    EXPECT_FALSE(Read(proto.SerializeAsString())->ok()) << dtype;
  }
  for (int i = 0; i < 3; ++i) proto.mutable_tensor_shape()->add_dim()->set_size(int64_t{1} << 40);
  proto.set_dtype(DT_FLOAT);
  EXPECT_FALSE(Read(proto.SerializeAsString())->ok());
}

TEST(TensorWire, RefusesBytesThatAreCutOrLie) {
  std::string bytes = Write(Numbers(20));
  for (size_t n : {size_t{1}, size_t{3}, bytes.size() / 2, bytes.size() - 1}) {
    auto read = Read(bytes.substr(0, n));
    EXPECT_TRUE(!read.has_value() || !read->ok()) << n;
  }
  // A content that claims 2 GB in a message of a few bytes.
  std::string lie = "\x08\x01\x12\x08\x12\x06\x08\x80\x80\x80\x80\x02";
  lie += std::string("\x22\xff\xff\xff\xff\x07", 6) + "abc";
  EXPECT_FALSE(Read(lie).has_value());
}

TEST(TensorWire, WhatHasNoValueCannotBeSent) { EXPECT_FALSE(EncodedTensor::Make(Tensor()).ok()); }

}  // namespace
}  // namespace weir
