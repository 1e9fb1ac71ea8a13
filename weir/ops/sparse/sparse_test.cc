#include "gtest/gtest.h"
#include "weir/ops/sparse/register.h"
#include "weir/testing/kernel_runner.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

using F = float;
using L = int64_t;

class SparseTest : public ::testing::Test {
 protected:
  void Expect(KernelCall call, const Tensor& expected, int output = 0) {
    auto out = call.Run();
    ASSERT_TRUE(out.ok()) << out.status();
    ExpectTensorEqual((*out)[output], expected);
  }
  void ExpectError(KernelCall call, std::string_view message) {
    Status status = call.Run().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_EQ(Message(status), message);
  }
  KernelCall With(std::string_view op) { return run(op).Inputs({indices, values, shape}); }
  static Tensor Ints(std::initializer_list<int32_t> v) { return Tensor::Vector<int32_t>(v); }
  static Tensor Longs(std::initializer_list<L> v) { return Tensor::Vector<L>(v); }

  KernelRunner run{{RegisterSparseKernels}};
  // [[0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 4, 0]]
  const Tensor indices = TensorOf<L>({4, 2}, {0, 1, 0, 3, 2, 0, 2, 2});
  const Tensor values = Tensor::Vector<F>({1, 2, 3, 4});
  const Tensor shape = Longs({3, 4});
};

TEST_F(SparseTest, BecomesDense) {
  auto dense = [&](Tensor at, Tensor size) {
    return run("SparseToDense").Inputs({at, size, values, Tensor::Scalar(-1.f)});
  };
  Expect(dense(indices, shape), TensorOf<F>({3, 4}, {-1, 1, -1, 2, -1, -1, -1, -1, 3, -1, 4, -1}));
  ExpectError(dense(TensorOf<L>({4, 2}, {0, 1, 7, 0, 2, 0, 2, 2}), shape),
              "indices[1] = [7,0] is out of bounds: need 0 <= index < [3,4]");
  ExpectError(dense(TensorOf<L>({4, 2}, {0, 1, 0, 0, 2, 0, 2, 2}), shape),
              "indices[1] = [0,0] is out of order. Many sparse ops require sorted indices.\n"
              "  Use `tf.sparse.reorder` to create a correctly ordered copy.\n\n");
  ExpectError(dense(TensorOf<L>({4, 2}, {0, 1, 0, 1, 2, 0, 2, 2}), shape), "indices[1] = [0,1] is repeated");
  Expect(run("SparseToDense").Inputs({Longs({1, 3}), Longs({5}), Tensor::Scalar(1.f), Tensor::Scalar(0.f)}),
         Tensor::Vector<F>({0, 1, 0, 1, 0}));
}

TEST_F(SparseTest, MeetsDense) {
  Expect(With("SparseDenseCwiseMul").Input(Tensor::Vector<F>({1, 2, 3, 4})), Tensor::Vector<F>({2, 8, 3, 12}));
  Expect(With("SparseDenseCwiseAdd").Input(TensorOf<F>({3, 1}, {1, 2, 3})), Tensor::Vector<F>({2, 3, 6, 7}));
  Expect(With("SparseTensorDenseMatMul").Input(TensorOf<F>({4, 1}, {1, 2, 3, 4})), TensorOf<F>({3, 1}, {10, 0, 15}));
  Expect(With("SparseTensorDenseMatMul")
             .Input(TensorOf<F>({1, 3}, {1, 2, 3}))
             .Attr("adjoint_a", true)
             .Attr("adjoint_b", true),
         TensorOf<F>({4, 1}, {9, 1, 12, 2}));
}

TEST_F(SparseTest, AddsToDense) {
  const Tensor dense = TensorOf<F>({3, 4}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  Expect(With("SparseTensorDenseAdd").Input(dense), TensorOf<F>({3, 4}, {1, 2, 1, 3, 1, 1, 1, 1, 4, 1, 5, 1}));
  EXPECT_FALSE(With("SparseTensorDenseAdd").Input(Tensor::Vector<F>({1})).Run().ok());
}

TEST_F(SparseTest, IsRearranged) {
  KernelCall reorder =
      run("SparseReorder").Inputs({TensorOf<L>({2, 2}, {2, 0, 0, 1}), Tensor::Vector<F>({1, 2}), shape});
  Expect(reorder, TensorOf<L>({2, 2}, {0, 1, 2, 0}));
  Expect(reorder, Tensor::Vector<F>({2, 1}), 1);
  KernelCall reshape = run("SparseReshape").Inputs({indices, shape, Longs({2, -1})});
  Expect(reshape, TensorOf<L>({4, 2}, {0, 1, 0, 3, 1, 2, 1, 4}));
  Expect(reshape, Longs({2, 6}), 1);
  ExpectError(
      run("SparseReshape").Inputs({indices, shape, Longs({5, -1})}),
      "Input to reshape is a SparseTensor with 12 dense values, but the requested shape requires a multiple of 5. "
      "input_shape=[3,4] output_shape=[5,1]");
  KernelCall slice = With("SparseSlice").Input(Longs({0, 1})).Input(Longs({3, 2}));
  Expect(slice, TensorOf<L>({2, 2}, {0, 0, 2, 1}));
  Expect(slice, Tensor::Vector<F>({1, 4}), 1);
  Expect(slice, Longs({3, 2}), 2);
  KernelCall split = run("SparseSplit").Inputs({Tensor::Scalar<L>(1), indices, values, shape}).Attr("num_split", L{2});
  Expect(split, Tensor::Vector<F>({1, 3}), 2);
  Expect(split, TensorOf<L>({2, 2}, {0, 1, 2, 0}), 1);
  KernelCall concat =
      run("SparseConcat").Inputs({indices, indices, values, values, shape, shape}).Attr("concat_dim", L{1});
  Expect(concat, Tensor::Vector<F>({1, 2, 1, 2, 3, 4, 3, 4}), 1);
  Expect(concat, Longs({3, 8}), 2);
}

TEST_F(SparseTest, AddsAndReduces) {
  const Tensor other = TensorOf<L>({2, 2}, {0, 0, 0, 3});
  auto add = [&](float threshold) {
    return With("SparseAdd").Inputs({other, Tensor::Vector<F>({5, 6}), shape, Tensor::Scalar(threshold)});
  };
  Expect(add(2), TensorOf<L>({5, 2}, {0, 0, 0, 1, 0, 3, 2, 0, 2, 2}));
  Expect(add(2), Tensor::Vector<F>({5, 1, 8, 3, 4}), 1);
  Expect(add(9), Tensor::Vector<F>({5, 1, 3, 4}), 1);
  Expect(run("SparseAddGrad")
             .Inputs({Tensor::Vector<F>({1, 2, 3, 4}), indices, other, TensorOf<L>({4, 2}, {0, 0, 0, 3, 2, 0, 2, 2})}),
         Tensor::Vector<F>({0, 2, 3, 4}));
  Expect(With("SparseSparseMaximum").Inputs({other, Tensor::Vector<F>({-5, 6}), shape}),
         Tensor::Vector<F>({0, 1, 6, 3, 4}), 1);
  Expect(With("SparseReduceSum").Input(Ints({1})), Tensor::Vector<F>({3, 0, 7}));
  Expect(With("SparseReduceSum").Input(Ints({-2})).Attr("keep_dims", true), TensorOf<F>({1, 4}, {3, 1, 4, 2}));
  Expect(With("SparseReduceMax").Input(Ints({0, 1})), Tensor::Scalar(4.f));
  Expect(With("SparseReduceSumSparse").Input(Ints({1})), TensorOf<L>({2, 1}, {0, 2}));
  auto softmax = With("SparseSoftmax").Run();
  ASSERT_TRUE(softmax.ok());
  ExpectTensorNear((*softmax)[0], Tensor::Vector<F>({0.268941f, 0.731059f, 0.268941f, 0.731059f}));
}

TEST_F(SparseTest, FillsEmptyRows) {
  KernelCall fill = With("SparseFillEmptyRows").Input(Tensor::Scalar(-1.f));
  Expect(fill, TensorOf<L>({5, 2}, {0, 1, 0, 3, 1, 0, 2, 0, 2, 2}));
  Expect(fill, Tensor::Vector<F>({1, 2, -1, 3, 4}), 1);
  Expect(fill, Tensor::Vector<bool>({false, true, false}), 2);
  Expect(fill, Longs({0, 1, 3, 4}), 3);
  KernelCall grad = run("SparseFillEmptyRowsGrad").Inputs({Longs({0, 1, 3, 4}), Tensor::Vector<F>({1, 2, 3, 4, 5})});
  Expect(grad, Tensor::Vector<F>({1, 2, 4, 5}));
  Expect(grad, Tensor::Scalar(3.f), 1);
}

TEST_F(SparseTest, SegmentsOfRows) {
  const Tensor data = TensorOf<F>({3, 2}, {1, 2, 3, 4, 5, 6});
  auto segment = [&](std::string_view op, Tensor rows, Tensor ids) { return run(op).Inputs({data, rows, ids}); };
  Expect(segment("SparseSegmentSum", Ints({0, 2, 1}), Ints({0, 0, 2})), TensorOf<F>({3, 2}, {6, 8, 0, 0, 3, 4}));
  Expect(segment("SparseSegmentMean", Ints({0, 2, 1}), Ints({0, 0, 1})), TensorOf<F>({2, 2}, {3, 4, 3, 4}));
  Expect(segment("SparseSegmentSumWithNumSegments", Ints({0}), Ints({0})).Input(Tensor::Scalar<int32_t>(2)),
         TensorOf<F>({2, 2}, {1, 2, 0, 0}));
  ExpectError(segment("SparseSegmentSum", Ints({0, 1}), Ints({1, 0})), "segment ids are not increasing");
  ExpectError(segment("SparseSegmentSum", Ints({9}), Ints({0})), "Bad: indices[0] == 9 out of range [0, 3)");
  Expect(segment("SparseSegmentMeanGrad", Ints({0, 2, 0}), Ints({0, 0, 1})).Input(Tensor::Scalar<int32_t>(3)),
         TensorOf<F>({3, 2}, {3.5, 5, 0, 0, 0.5, 1}));
  KernelCall unique =
      segment("SparseSegmentSumGradV2", Ints({2, 0, 2}), Ints({0, 1, 1})).Input(Tensor::Scalar<int32_t>(9));
  Expect(unique, TensorOf<F>({2, 2}, {3, 4, 4, 6}));
  Expect(unique, Ints({0, 2}), 1);
}

TEST_F(SparseTest, SurvivesSerialisation) {
  auto many = With("SerializeManySparse").Run();
  ASSERT_TRUE(many.ok()) << many.status();
  KernelCall back = run("DeserializeManySparse").Input((*many)[0]).Attr("dtype", DType::kFloat);
  Expect(back, indices);
  Expect(back, values, 1);
  Expect(back, shape, 2);
  auto one = With("SerializeSparse").Run();
  ASSERT_TRUE(one.ok()) << one.status();
  Expect(run("DeserializeSparse").Input((*one)[0]).Attr("dtype", DType::kFloat), indices);
  ExpectError(run("DeserializeSparse").Input(Tensor::Vector<std::string>({"x", "y", "z"})).Attr("dtype", DType::kFloat),
              "Could not parse serialized proto");
}

TEST_F(SparseTest, CountsNumbers) {
  auto count = [&](Tensor numbers, int64_t longest) {
    return run("DenseCountSparseOutput")
        .Inputs({numbers, Tensor::Vector<F>({})})
        .Attr("binary_output", false)
        .Attr("maxlength", longest);
  };
  const Tensor numbers = TensorOf<int32_t>({2, 3}, {1, 3, 3, 0, 1, 5});
  Expect(count(numbers, -1), TensorOf<L>({5, 2}, {0, 1, 0, 3, 1, 0, 1, 1, 1, 5}));
  Expect(count(numbers, -1), Tensor::Vector<F>({1, 2, 1, 1, 1}), 1);
  Expect(count(numbers, -1), Longs({2, 6}), 2);
  Expect(count(numbers, 2), Tensor::Vector<F>({1, 1, 1}), 1);
  ExpectError(count(Ints({-1}), -1), "Input values must all be non-negative");
}

TEST_F(SparseTest, RaggedBecomesDense) {
  auto dense = [&](Tensor size, Tensor splits) {
    return run("RaggedTensorToTensor")
        .Inputs({size, values, Tensor::Scalar(-1.f), splits})
        .Attr("row_partition_types", AttrList{.s = {"ROW_SPLITS"}});
  };
  Expect(dense(Tensor::Scalar<L>(-1), Longs({0, 3, 3, 4})), TensorOf<F>({3, 3}, {1, 2, 3, -1, -1, -1, 4, -1, -1}));
  Expect(dense(Longs({2, 2}), Longs({0, 3, 3, 4})), TensorOf<F>({2, 2}, {1, 2, -1, -1}));
  Expect(run("RaggedTensorToTensor")
             .Inputs({Longs({-1, -1}), values, Tensor::Scalar(0.f), Tensor::Scalar<L>(3), Longs({0, 0, 2, 2})})
             .Attr("row_partition_types", AttrList{.s = {"FIRST_DIM_SIZE", "VALUE_ROWIDS"}}),
         TensorOf<F>({3, 2}, {1, 2, 0, 0, 3, 4}));
  EXPECT_FALSE(dense(Tensor::Scalar<L>(-1), Longs({0, 9})).Run().ok());
}

TEST_F(SparseTest, RaggedRangesAndRows) {
  KernelCall range = run("RaggedRange").Inputs({Ints({0, 5}), Ints({3, 2}), Ints({1, -2})});
  Expect(range, Longs({0, 3, 5}));
  Expect(range, Ints({0, 1, 2, 5, 3}), 1);
  ExpectError(run("RaggedRange").Inputs({Ints({0}), Ints({3}), Ints({0})}), "Requires delta != 0");
  KernelCall sparse = run("RaggedTensorToSparse").Inputs({Longs({0, 3, 3, 4}), values});
  Expect(sparse, TensorOf<L>({4, 2}, {0, 0, 0, 1, 0, 2, 2, 0}));
  Expect(sparse, Longs({3, 3}), 2);
  KernelCall gather =
      run("RaggedGather").Inputs({Longs({0, 3, 3, 4}), values, Ints({2, 0})}).Attr("OUTPUT_RAGGED_RANK", L{1});
  Expect(gather, Longs({0, 1, 4}));
  Expect(gather, Tensor::Vector<F>({4, 1, 2, 3}), 1);
}

}  // namespace
}  // namespace weir
