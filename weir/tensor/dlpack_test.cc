#include "weir/tensor/dlpack.h"

#include "gtest/gtest.h"

namespace weir {
namespace {

int deleted = 0;
void Delete(dlpack::ManagedTensor*) { ++deleted; }

TEST(DLPack, SharesMemoryBothWays) {
  Tensor t = Tensor::FromSpan<float>(std::vector<float>{1, 2, 3, 4, 5, 6}, Shape({2, 3}));
  dlpack::ManagedTensor* managed = ToDLPack(t).value();
  EXPECT_EQ(managed->array.ndim, 2);
  EXPECT_EQ(managed->array.strides[0], 3);
  const void* memory = managed->array.data;
  t = Tensor();
  Tensor back = FromDLPack(managed).value();
  EXPECT_EQ(static_cast<const Tensor&>(back).raw_data(), memory);
  EXPECT_EQ(back.ToString(), "float [2,3]: 1 2 3 4 5 6");
  EXPECT_FALSE(back.unique());
}

TEST(DLPack, CopiesStridedArrays) {
  int32_t data[6] = {1, 2, 3, 4, 5, 6};
  int64_t shape[2] = {3, 2}, strides[2] = {1, 3};
  dlpack::ManagedTensor managed = {
      {data, {dlpack::kCpu, 0}, 2, {dlpack::kInt, 32, 1}, shape, strides, 0}, nullptr, Delete};
  deleted = 0;
  EXPECT_EQ(FromDLPack(&managed)->ToString(), "int32 [3,2]: 1 4 2 5 3 6");
  EXPECT_EQ(deleted, 1);
  strides[0] = -1;
  managed.array.byte_offset = 8;
  EXPECT_EQ(FromDLPack(&managed)->ToString(), "int32 [3,2]: 3 6 2 5 1 4");
}

TEST(DLPack, RefusesWithoutTakingOver) {
  float data = 1;
  int64_t shape[1] = {1};
  dlpack::ManagedTensor managed = {
      {&data, {dlpack::kCuda, 0}, 1, {dlpack::kFloat, 32, 1}, shape, nullptr, 0}, nullptr, Delete};
  deleted = 0;
  EXPECT_EQ(FromDLPack(&managed).status().code(), absl::StatusCode::kUnimplemented);
  managed.array.device.device_type = dlpack::kCpu;
  managed.array.dtype.lanes = 4;
  EXPECT_EQ(FromDLPack(&managed).status().code(), absl::StatusCode::kInvalidArgument);
  managed.array.dtype.lanes = 1;
  shape[0] = -1;
  EXPECT_FALSE(FromDLPack(&managed).ok());
  EXPECT_FALSE(FromDLPack(nullptr).ok());
  EXPECT_EQ(deleted, 0);
  EXPECT_FALSE(ToDLPack(Tensor::Scalar("text")).ok());
  EXPECT_FALSE(ToDLPack(Tensor()).ok());
}

TEST(DLPack, ScalarsAndEmptyArrays) {
  EXPECT_EQ(FromDLPack(ToDLPack(Tensor::Scalar(true)).value())->ToString(), "bool []: 1");
  Tensor empty = Tensor::Zeros(DType::kHalf, Shape({2, 0})).value();
  EXPECT_EQ(FromDLPack(ToDLPack(empty).value())->shape(), Shape({2, 0}));
}

}  // namespace
}  // namespace weir
