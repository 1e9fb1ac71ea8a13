#include "gtest/gtest.h"
#include "weir/ops/array/register.h"
#include "weir/testing/kernel_runner.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

using F = float;
using I = int32_t;

class ArrayTest : public ::testing::Test {
 protected:
  void Expect(KernelCall& call, const Tensor& expected, int output = 0) {
    auto out = call.Run();
    ASSERT_TRUE(out.ok()) << out.status();
    ExpectTensorEqual((*out)[output], expected);
  }
  void ExpectError(KernelCall& call, std::string_view message) {
    Status status = call.Run().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(Message(status), message);
  }
  Tensor Ints(std::initializer_list<I> values) { return Tensor::Vector<I>(values); }

  KernelRunner run{{RegisterArrayKernels}};
  const Tensor matrix = TensorOf<F>({2, 3}, {1, 2, 3, 4, 5, 6});
};

TEST_F(ArrayTest, PlaceholdersMustBeFed) {
  ExpectError(run("Placeholder").Name("a").Attr("dtype", DType::kFloat).Attr("shape", PartialShape({2})),
              "You must feed a value for placeholder tensor 'a' with dtype float and shape [2]");
}

TEST_F(ArrayTest, Shapes) {
  Expect(run("Shape").Input(matrix), Ints({2, 3}));
  Expect(run("Shape").Attr("out_type", DType::kInt64).Input(matrix), Tensor::Vector<int64_t>({2, 3}));
  Expect(run("Size").Input(matrix), Tensor::Scalar<I>(6));
  Expect(run("Rank").Input(matrix), Tensor::Scalar<I>(2));
  Expect(run("BroadcastArgs").Input(Ints({2, 1})).Input(Ints({3})), Ints({2, 3}));
  Expect(run("BroadcastGradientArgs").Input(Ints({2, 1, 3})).Input(Ints({1, 3})), Ints({0, 1}), 1);
  ExpectError(run("BroadcastArgs").Input(Ints({2, 3})).Input(Ints({4})), "Incompatible shapes: [2,3] vs. [4]");
}

TEST_F(ArrayTest, Reshapes) {
  Expect(run("Reshape").Input(matrix).Input(Ints({3, -1})), TensorOf<F>({3, 2}, {1, 2, 3, 4, 5, 6}));
  Expect(run("Reshape").Input(TensorOf<F>({0, 3}, {})).Input(Ints({-1, 0})), TensorOf<F>({3, 0}, {}));
  ExpectError(run("Reshape").Input(matrix).Input(Ints({4})),
              "Input to reshape is a tensor with 6 values, but the requested shape has 4");
  ExpectError(run("Reshape").Input(matrix).Input(Ints({4, -1})),
              "Input to reshape is a tensor with 6 values, but the requested shape requires a multiple of 4");
  ExpectError(run("Reshape").Input(matrix).Input(Ints({-1, -1})), "Only one input size may be -1, not both 0 and 1");
  Expect(run("ExpandDims").Input(Tensor::Vector<F>({1})).Input(Tensor::Scalar<I>(-1)), TensorOf<F>({1, 1}, {1}));
  Expect(run("Squeeze").Input(TensorOf<F>({1, 2, 1}, {1, 2})).Attr("squeeze_dims", std::vector<int64_t>{-1}),
         TensorOf<F>({1, 2}, {1, 2}));
  Expect(run("Bitcast").Input(Tensor::Scalar(1.f)).Attr("type", DType::kUInt8),
         TensorOf<uint8_t>({4}, {0, 0, 0x80, 0x3f}));
}

TEST_F(ArrayTest, Fills) {
  Expect(run("Fill").Input(Ints({2})).Input(Tensor::Scalar("x")), Tensor::Vector<std::string>({"x", "x"}));
  ExpectError(run("Fill").Input(Ints({2})).Input(Tensor::Vector<F>({1, 2})),
              "value must represent a scalar, got shape [2]");
  Expect(run("OnesLike").Input(Tensor::Scalar<bool>(false)), Tensor::Scalar<bool>(true));
  Expect(run("Range").Input(Tensor::Scalar(1.f)).Input(Tensor::Scalar(2.f)).Input(Tensor::Scalar(0.4f)),
         Tensor::Vector<F>({1, 1.4f, 1.8f}));
  Expect(run("Range").Input(Tensor::Scalar<I>(5)).Input(Tensor::Scalar<I>(0)).Input(Tensor::Scalar<I>(-2)),
         Ints({5, 3, 1}));
  ExpectError(run("Range").Input(Tensor::Scalar<I>(1)).Input(Tensor::Scalar<I>(5)).Input(Tensor::Scalar<I>(-1)),
              "Requires start >= limit when delta < 0: 1/5");
  Expect(run("LinSpace").Input(Tensor::Scalar(0.f)).Input(Tensor::Scalar(1.f)).Input(Tensor::Scalar<I>(3)),
         Tensor::Vector<F>({0, 0.5f, 1}));
}

TEST_F(ArrayTest, JoinsAndSplits) {
  Expect(run("ConcatV2").Input(matrix).Input(TensorOf<F>({2, 1}, {7, 8})).Input(Tensor::Scalar<I>(-1)),
         TensorOf<F>({2, 4}, {1, 2, 3, 7, 4, 5, 6, 8}));
  ExpectError(run("ConcatV2").Input(matrix).Input(TensorOf<F>({1, 2}, {7, 8})).Input(Tensor::Scalar<I>(0)),
              "ConcatOp : Dimension 1 in both shapes must be equal: shape[0] = [2,3] vs. shape[1] = [1,2]");
  Expect(run("Pack").Attr("axis", 1).Input(Ints({1, 2})).Input(Ints({3, 4})), TensorOf<I>({2, 2}, {1, 3, 2, 4}));
  Expect(run("Unpack").Attr("num", 3).Attr("axis", 1).Input(matrix), Tensor::Vector<F>({2, 5}), 1);
  Expect(run("Split").Attr("num_split", 3).Input(Tensor::Scalar<I>(1)).Input(matrix), TensorOf<F>({2, 1}, {3, 6}), 2);
  Expect(run("SplitV").Attr("num_split", 2).Input(matrix).Input(Ints({1, -1})).Input(Tensor::Scalar<I>(1)),
         TensorOf<F>({2, 2}, {2, 3, 5, 6}), 1);
  Expect(run("ConcatOffset").Input(Tensor::Scalar<I>(1)).Input(Ints({2, 3})).Input(Ints({2, 5})), Ints({0, 3}), 1);
}

TEST_F(ArrayTest, Slices) {
  Expect(run("Slice").Input(matrix).Input(Ints({0, 1})).Input(Ints({-1, 2})), TensorOf<F>({2, 2}, {2, 3, 5, 6}));
  ExpectError(run("Slice").Input(matrix).Input(Ints({0, 1})).Input(Ints({1, 9})),
              "Expected size[1] in [0, 2], but got 9");
  auto strided = [&](Tensor begin, Tensor end, Tensor strides) {
    return run("StridedSlice").Input(matrix).Input(begin).Input(end).Input(strides);
  };
  auto a = strided(Ints({1, 0}), Ints({2, 9}), Ints({1, 2}));
  Expect(a.Attr("shrink_axis_mask", 1), Tensor::Vector<F>({4, 6}));
  auto b = strided(Ints({0}), Ints({0}), Ints({-1}));
  Expect(b.Attr("begin_mask", 1).Attr("end_mask", 1), TensorOf<F>({2, 3}, {4, 5, 6, 1, 2, 3}));
  auto c = strided(Ints({0, 0, 1}), Ints({0, 0, 2}), Ints({1, 1, 1}));
  Expect(c.Attr("ellipsis_mask", 1).Attr("new_axis_mask", 2), TensorOf<F>({2, 1, 1}, {2, 5}));
  auto d = strided(Ints({5}), Ints({6}), Ints({1}));
  ExpectError(d.Attr("shrink_axis_mask", 1), "slice index 5 of dimension 0 out of bounds.");
  auto masked = strided(Ints({1}), Ints({0}), Ints({1}));
  Expect(masked.Attr("shrink_axis_mask", 1).Attr("begin_mask", 1), Tensor::Vector<F>({4, 5, 6}));
  auto e = strided(Ints({0}), Ints({6}), Ints({0}));
  ExpectError(e, "strides[0] must be non-zero");
  Expect(run("StridedSliceGrad")
             .Input(Ints({4}))
             .Input(Ints({3}))
             .Input(Ints({0}))
             .Input(Ints({-2}))
             .Input(Tensor::Vector<F>({1, 2})),
         Tensor::Vector<F>({0, 2, 0, 1}));
  Expect(run("TensorStridedSliceUpdate")
             .Input(Tensor::Vector<F>({1, 2, 3}))
             .Input(Ints({0}))
             .Input(Ints({2}))
             .Input(Ints({1}))
             .Input(Tensor::Scalar(7.f)),
         Tensor::Vector<F>({7, 7, 3}));
}

TEST_F(ArrayTest, Rearranges) {
  Expect(run("Transpose").Input(matrix).Input(Ints({1, 0})), TensorOf<F>({3, 2}, {1, 4, 2, 5, 3, 6}));
  ExpectError(run("Transpose").Input(matrix).Input(Ints({0, 0})), "1 is missing from {0,0}.");
  Expect(run("InvertPermutation").Input(Ints({2, 0, 1})), Ints({1, 2, 0}));
  Expect(run("ReverseV2").Input(matrix).Input(Ints({-1})), TensorOf<F>({2, 3}, {3, 2, 1, 6, 5, 4}));
  Expect(run("ReverseSequence").Input(matrix).Input(Ints({2, 3})).Attr("seq_dim", 1),
         TensorOf<F>({2, 3}, {2, 1, 3, 6, 5, 4}));
  Expect(run("Roll").Input(matrix).Input(Ints({1, -1})).Input(Ints({0, 1})), TensorOf<F>({2, 3}, {5, 6, 4, 2, 3, 1}));
  Expect(run("Tile").Input(Ints({1, 2})).Input(Ints({2})), Ints({1, 2, 1, 2}));
  Expect(run("BroadcastTo").Input(TensorOf<F>({2, 1}, {1, 2})).Input(Ints({2, 2})), TensorOf<F>({2, 2}, {1, 1, 2, 2}));
}

TEST_F(ArrayTest, Pads) {
  Expect(run("Pad").Input(Tensor::Vector<F>({1, 2})).Input(TensorOf<I>({1, 2}, {1, 2})),
         Tensor::Vector<F>({0, 1, 2, 0, 0}));
  Expect(run("MirrorPad").Attr("mode", "REFLECT").Input(Ints({1, 2, 3})).Input(TensorOf<I>({1, 2}, {2, 1})),
         Ints({3, 2, 1, 2, 3, 2}));
  Expect(run("MirrorPad").Attr("mode", "SYMMETRIC").Input(Ints({1, 2, 3})).Input(TensorOf<I>({1, 2}, {2, 1})),
         Ints({2, 1, 1, 2, 3, 3}));
  Expect(run("MirrorPadGrad")
             .Attr("mode", "REFLECT")
             .Input(Tensor::Vector<F>({1, 2, 3, 4, 5, 6}))
             .Input(TensorOf<I>({1, 2}, {2, 1})),
         Tensor::Vector<F>({3, 12, 6}));
  ExpectError(run("Pad").Input(Ints({1})).Input(TensorOf<I>({1, 2}, {-1, 0})), "Paddings must be non-negative: -1 0");
}

TEST_F(ArrayTest, GathersAndScatters) {
  Expect(run("GatherV2").Input(matrix).Input(Ints({2, 0})).Input(Tensor::Scalar<I>(1)),
         TensorOf<F>({2, 2}, {3, 1, 6, 4}));
  Expect(run("GatherV2")
             .Attr("batch_dims", 1)
             .Input(matrix)
             .Input(TensorOf<I>({2, 1}, {2, 0}))
             .Input(Tensor::Scalar<I>(1)),
         TensorOf<F>({2, 1}, {3, 4}));
  ExpectError(run("GatherV2").Input(matrix).Input(TensorOf<I>({1, 2}, {0, 2})).Input(Tensor::Scalar<I>(0)),
              "indices[0,1] = 2 is not in [0, 2)");
  Expect(run("GatherNd").Input(matrix).Input(TensorOf<I>({2, 2}, {0, 1, 1, 2})), Tensor::Vector<F>({2, 6}));
  Expect(run("ScatterNd").Input(TensorOf<I>({3, 1}, {1, 3, 1})).Input(Tensor::Vector<F>({1, 2, 3})).Input(Ints({4})),
         Tensor::Vector<F>({0, 4, 0, 2}));
  ExpectError(run("ScatterNd").Input(TensorOf<I>({1, 1}, {9})).Input(Tensor::Vector<F>({1})).Input(Ints({4})),
              "indices[0] = [9] does not index into shape [4]");
  Expect(run("TensorScatterUpdate").Input(matrix).Input(TensorOf<I>({1, 1}, {1})).Input(TensorOf<F>({1, 3}, {7, 8, 9})),
         TensorOf<F>({2, 3}, {1, 2, 3, 7, 8, 9}));
  Expect(run("TensorScatterMax").Input(Ints({5, 1})).Input(TensorOf<I>({2, 1}, {0, 1})).Input(Ints({2, 4})),
         Ints({5, 4}));
  // Indices without numbers, and far more of them than memory has room for.
  const Tensor nothing = Tensor::Vector<F>({}), many = Tensor::Zeros(DType::kFloat, Shape({1, 1LL << 50, 0})).value();
  Expect(run("TensorScatterMax")
             .Input(nothing)
             .Input(Tensor::Zeros(DType::kInt32, Shape({1, 1LL << 50, 0})).value())
             .Input(many),
         nothing);
}

TEST_F(ArrayTest, Finds) {
  Expect(run("Where").Input(TensorOf<F>({2, 2}, {0, 1, -0.0f, 2})), TensorOf<int64_t>({2, 2}, {0, 1, 1, 1}));
  Expect(run("OneHot")
             .Input(Ints({2, -1}))
             .Input(Tensor::Scalar<I>(3))
             .Input(Tensor::Scalar(1.f))
             .Input(Tensor::Scalar(0.f)),
         TensorOf<F>({2, 3}, {0, 0, 1, 0, 0, 0}));
  Expect(run("Unique").Input(Ints({3, 1, 3})), Ints({0, 1, 0}), 1);
  Expect(run("UniqueWithCounts").Input(Tensor::Vector<std::string>({"a", "b", "a"})), Ints({2, 1}), 2);
  Expect(run("UniqueV2").Input(TensorOf<I>({3, 2}, {1, 2, 1, 2, 3, 4})).Input(Ints({0})),
         TensorOf<I>({2, 2}, {1, 2, 3, 4}));
  Expect(run("ListDiff").Input(Ints({1, 2, 3})).Input(Ints({2})), Ints({0, 2}), 1);
  Expect(run("UpperBound").Input(TensorOf<I>({1, 3}, {1, 3, 5})).Input(TensorOf<I>({1, 3}, {0, 3, 9})),
         TensorOf<I>({1, 3}, {0, 2, 3}));
  Expect(run("UnravelIndex").Input(Ints({5})).Input(Ints({2, 3})), TensorOf<I>({2, 1}, {1, 2}));
}

TEST_F(ArrayTest, PartitionsAndStitches) {
  auto parts = run("DynamicPartition").Attr("num_partitions", 2).Input(matrix).Input(Ints({1, 1})).Run();
  ASSERT_TRUE(parts.ok()) << parts.status();
  ExpectTensorEqual((*parts)[0], TensorOf<F>({0, 3}, {}));
  ExpectTensorEqual((*parts)[1], matrix);
  ExpectError(run("DynamicPartition").Attr("num_partitions", 2).Input(matrix).Input(Ints({0, 5})),
              "partitions[1] = 5 is not in [0, 2)");
  Expect(run("DynamicStitch")
             .Attr("N", 2)
             .Input(Ints({0, 2}))
             .Input(Ints({2}))
             .Input(Tensor::Vector<F>({1, 2}))
             .Input(Tensor::Vector<F>({3})),
         Tensor::Vector<F>({1, 0, 3}));
}

TEST_F(ArrayTest, ChecksNumbers) {
  ExpectError(run("CheckNumerics").Attr("message", "msg").Input(Tensor::Vector<F>({1, 1.f / 0.f, 0.f / 0.f})),
              "msg : Tensor had Inf and NaN values");
  Expect(run("CheckNumerics").Attr("message", "msg").Input(matrix), matrix);
}

TEST_F(ArrayTest, Diagonals) {
  Expect(run("Diag").Input(Tensor::Vector<F>({1, 2})), TensorOf<F>({2, 2}, {1, 0, 0, 2}));
  Expect(run("DiagPart").Input(TensorOf<F>({2, 2}, {1, 2, 3, 4})), Tensor::Vector<F>({1, 4}));
  Expect(run("MatrixBandPart").Input(matrix).Input(Tensor::Scalar<I>(0)).Input(Tensor::Scalar<I>(1)),
         TensorOf<F>({2, 3}, {1, 2, 0, 0, 5, 6}));
  Expect(run("MatrixDiagPartV3").Input(matrix).Input(Ints({-1, 1})).Input(Tensor::Scalar(9.f)),
         TensorOf<F>({3, 2}, {2, 6, 1, 5, 4, 9}));
  Expect(run("MatrixDiagV3")
             .Input(Tensor::Vector<F>({1, 2}))
             .Input(Tensor::Scalar<I>(1))
             .Input(Tensor::Scalar<I>(-1))
             .Input(Tensor::Scalar<I>(-1))
             .Input(Tensor::Scalar(0.f)),
         TensorOf<F>({3, 3}, {0, 1, 0, 0, 0, 2, 0, 0, 0}));
  Expect(run("MatrixSetDiag").Input(matrix).Input(Tensor::Vector<F>({8, 9})), TensorOf<F>({2, 3}, {8, 2, 3, 4, 9, 6}));
}

TEST_F(ArrayTest, MovesBlocks) {
  Tensor image = TensorOf<F>({1, 2, 2, 1}, {1, 2, 3, 4});
  Expect(run("SpaceToBatchND").Input(image).Input(Ints({2, 2})).Input(TensorOf<I>({2, 2}, {0, 0, 0, 0})),
         TensorOf<F>({4, 1, 1, 1}, {1, 2, 3, 4}));
  Expect(run("BatchToSpaceND")
             .Input(TensorOf<F>({4, 1, 1, 1}, {1, 2, 3, 4}))
             .Input(Ints({2, 2}))
             .Input(TensorOf<I>({2, 2}, {0, 0, 1, 0})),
         TensorOf<F>({1, 2, 1, 1}, {2, 4}));
  Expect(run("SpaceToDepth").Attr("block_size", 2).Input(image), TensorOf<F>({1, 1, 1, 4}, {1, 2, 3, 4}));
  Expect(run("DepthToSpace").Attr("block_size", 2).Input(TensorOf<F>({1, 1, 1, 4}, {1, 2, 3, 4})), image);
  Expect(run("InplaceAdd").Input(matrix).Input(Ints({-1})).Input(TensorOf<F>({1, 3}, {1, 1, 1})),
         TensorOf<F>({2, 3}, {1, 2, 3, 5, 6, 7}));
}

TEST_F(ArrayTest, InplaceUpdatesReportThatMemoryIsShort) {
  const int64_t rows = int64_t{1} << 20;
  KernelCall call = run("InplaceAdd");
  call.Input(*Tensor::Zeros(DType::kInt8, Shape({2, 1})));
  call.Input(*Tensor::Zeros(DType::kInt32, Shape({rows})));
  call.Input(*Tensor::Zeros(DType::kInt8, Shape({rows, 1})));
  SetCpuMemoryLimit(CpuAllocator()->Stats().bytes_in_use + rows);
  auto out = call.Run();
  SetCpuMemoryLimit(0);
  EXPECT_EQ(out.status().code(), absl::StatusCode::kResourceExhausted) << out.status();
}

}  // namespace
}  // namespace weir
