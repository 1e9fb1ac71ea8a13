#include "weir/tensor/tensor.h"

#include <cmath>
#include <numeric>
#include <thread>

#include "gtest/gtest.h"
#include "weir/tensor/resource_handle.h"
#include "weir/tensor/variant.h"

namespace weir {
namespace {

Tensor Iota(const Shape& shape) {
  Tensor out = Tensor::Allocate(DType::kFloat, shape).value();
  std::iota(out.data<float>(), out.data<float>() + out.num_elements(), 0.0f);
  return out;
}

TEST(Tensor, IsOnePointer) { EXPECT_EQ(sizeof(Tensor), sizeof(void*)); }

TEST(Tensor, WithoutValueIsNotEmpty) {
  Tensor none;
  EXPECT_FALSE(none.has_value());
  EXPECT_EQ(none.dtype(), DType::kInvalid);
  EXPECT_EQ(none.num_elements(), 0);
  EXPECT_EQ(none.shape(), Shape());
  Tensor empty = Tensor::Allocate(DType::kInt32, Shape({2, 0})).value();
  EXPECT_TRUE(empty.has_value());
  EXPECT_EQ(empty.num_bytes(), 0u);
}

TEST(Tensor, EveryTypeIsAllocatedAlignedAndZeroed) {
  for (int i = 1; i <= kMaxDType; ++i) {
    Tensor t = Tensor::Zeros(static_cast<DType>(i), Shape({3, 5})).value();
    EXPECT_TRUE(t.is_aligned());
    EXPECT_EQ(t.num_bytes(), 15 * SizeOf(t.dtype()));
    EXPECT_TRUE(t.unique());
  }
  EXPECT_FALSE(Tensor::Allocate(DType::kInvalid, Shape()).ok());
  EXPECT_FALSE(Tensor::Allocate(RefType(DType::kFloat), Shape()).ok());
}

TEST(Tensor, TooLargeIsAnError) {
  Status status = Tensor::Allocate(DType::kFloat, Shape({int64_t{1} << 25, int64_t{1} << 25})).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Message(status),
            "OOM when allocating tensor with shape[33554432,33554432] and type float on CPU:0 by allocator cpu");
  EXPECT_EQ(Tensor::Allocate(DType::kComplex128, Shape({INT64_MAX})).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(Tensor, CopiesShareAndUniqueTellsSo) {
  Tensor a = Tensor::Scalar(1.5f);
  EXPECT_TRUE(a.unique());
  Tensor b = a;
  EXPECT_FALSE(a.unique());
  EXPECT_TRUE(a.SharesBufferWith(b));
  b = Tensor();
  EXPECT_TRUE(a.unique());
  Tensor clone = a.Clone().value();
  EXPECT_FALSE(a.SharesBufferWith(clone));
  EXPECT_EQ(clone.scalar<float>(), 1.5f);
}

TEST(Tensor, SlicesKeepTheirParentAlive) {
  Tensor row;
  {
    Tensor parent = Iota(Shape({4, 3}));
    Tensor middle = parent.Slice(1, 3);
    EXPECT_EQ(middle.shape(), Shape({2, 3}));
    EXPECT_FALSE(middle.is_aligned());
    EXPECT_TRUE(middle.SharesBufferWith(parent));
    row = middle.SubTensor(1);
    EXPECT_FALSE(row.unique());
  }
  EXPECT_TRUE(row.unique());
  EXPECT_EQ(row.shape(), Shape({3}));
  EXPECT_EQ(std::vector<float>(row.span<float>().begin(), row.span<float>().end()), (std::vector<float>{6, 7, 8}));
}

TEST(Tensor, EmptySlices) {
  Tensor t = Iota(Shape({4, 3}));
  EXPECT_EQ(t.Slice(2, 2).shape(), Shape({0, 3}));
  EXPECT_EQ(t.Slice(4, 4).num_elements(), 0);
  Tensor none = Iota(Shape({0, 3}));
  EXPECT_EQ(none.Slice(0, 0).shape(), Shape({0, 3}));
  EXPECT_EQ(Iota(Shape({2, 0})).SubTensor(1).shape(), Shape({0}));
}

TEST(Tensor, ReshapeAndBitcastShareMemory) {
  Tensor t = Iota(Shape({2, 3}));
  Tensor r = t.Reshaped(Shape({6})).value();
  EXPECT_TRUE(r.SharesBufferWith(t));
  EXPECT_FALSE(t.unique());
  EXPECT_FALSE(t.Reshaped(Shape({5})).ok());
  const void* memory = r.raw_data();
  t = Tensor();
  Tensor moved = std::move(r).Reshaped(Shape({3, 2})).value();
  EXPECT_EQ(static_cast<const Tensor&>(moved).raw_data(), memory);
  EXPECT_TRUE(moved.unique());
  Tensor bits = moved.Bitcast(DType::kInt32, Shape({6})).value();
  EXPECT_EQ(bits.data<int32_t>()[1], 0x3f800000);
  EXPECT_FALSE(moved.Bitcast(DType::kInt64, Shape({6})).ok());
  EXPECT_FALSE(moved.Bitcast(DType::kString, Shape({3})).ok());
}

TEST(Tensor, WrappedMemoryIsReleasedOnce) {
  float memory[4] = {1, 2, 3, 4};
  int released = 0;
  Tensor t = Tensor::Wrap(DType::kFloat, Shape({4}), memory, [&] { ++released; });
  EXPECT_FALSE(t.unique());
  Tensor slice = t.Slice(1, 3);
  t = Tensor();
  EXPECT_EQ(released, 0);
  EXPECT_EQ(slice.data<float>()[0], 2);
  EXPECT_FALSE(slice.unique());
  slice = Tensor();
  EXPECT_EQ(released, 1);
  EXPECT_TRUE(Tensor::Wrap(DType::kFloat, Shape({4}), memory, nullptr, true).unique());
}

TEST(Tensor, ObjectsAreBuiltCopiedAndDestroyed) {
  std::string longer(100, 'x');
  Tensor t = Tensor::Vector<std::string>({"a", longer, ""});
  EXPECT_EQ(t.total_bytes(), t.num_bytes() + 101);
  Tensor clone = t.Clone().value();
  Tensor slice = clone.Slice(1, 2);
  clone = Tensor();
  EXPECT_EQ(slice.scalar<std::string>(), longer);

  auto value = std::make_shared<OpaqueVariant>(VariantData{"kind", "", {t}});
  std::weak_ptr<VariantValue> alive = value;
  Tensor variant = Tensor::Scalar(Variant(std::move(value)));
  EXPECT_FALSE(alive.expired());
  variant = Tensor();
  EXPECT_TRUE(alive.expired());
  ResourceHandle handle;
  handle.name = longer;
  EXPECT_EQ(Tensor::Scalar(handle).Clone()->scalar<ResourceHandle>().name, longer);
}

class OtherMemory : public Allocator {
 public:
  std::string_view name() const override { return "other"; }
  void* Allocate(size_t bytes) override { return bytes > 1000 ? nullptr : (++live, ::operator new(bytes)); }
  void Deallocate(void* block, size_t) override { --live, ::operator delete(block); }
  bool is_host_memory() const override { return false; }
  int live = 0;
};

TEST(Tensor, OtherAllocatorsHoldTheDataOnly) {
  OtherMemory memory;
  Tensor t = Tensor::Allocate(DType::kFloat, Shape({2, 2}), &memory).value();
  EXPECT_TRUE(t.unique());
  EXPECT_EQ(memory.live, 1);
  EXPECT_EQ(t.Clone().status().code(), absl::StatusCode::kUnimplemented);
  Tensor row = t.SubTensor(0);
  t = Tensor();
  EXPECT_EQ(memory.live, 1);
  row = Tensor();
  EXPECT_EQ(memory.live, 0);
  EXPECT_FALSE(Tensor::Allocate(DType::kString, Shape(), &memory).ok());
  EXPECT_EQ(Tensor::Allocate(DType::kFloat, Shape({1000}), &memory).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(Tensor, SlicingWorksAtTheMemoryLimit) {
  Tensor t = Iota(Shape({1000, 3}));
  SetCpuMemoryLimit(1);
  std::vector<Tensor> rows;
  for (int i = 0; i < 1000; ++i) rows.push_back(t.SubTensor(i));
  EXPECT_EQ(rows[999].data<float>()[0], 2997);
  rows.clear();
  SetCpuMemoryLimit(0);
}

TEST(Tensor, ReferencesAreCountedAcrossThreads) {
  Tensor t = Iota(Shape({64, 4}));
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n) {
    threads.emplace_back([t] {
      for (int i = 0; i < 2000; ++i) {
        Tensor copy = t, row = copy.SubTensor(i % 64);
        ASSERT_EQ(row.data<float>()[0], static_cast<float>(i % 64 * 4));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(t.unique());
}

}  // namespace
}  // namespace weir
