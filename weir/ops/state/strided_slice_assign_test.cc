#include "weir/ops/state/variable_fixture.h"

namespace weir {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class StridedSliceAssignTest : public VariableTest {
 protected:
  struct Slice {
    std::vector<int32_t> begin, end, strides;
    int begin_mask = 0, end_mask = 0, ellipsis_mask = 0, new_axis_mask = 0, shrink_axis_mask = 0;
  };
  Status Write(const Tensor& handle, const Slice& slice, Tensor value) {
    auto vector = [](const std::vector<int32_t>& v) { return Tensor::Vector<int32_t>(std::span<const int32_t>(v)); };
    return run("ResourceStridedSliceAssign")
        .Input(handle)
        .Input(vector(slice.begin))
        .Input(vector(slice.end))
        .Input(vector(slice.strides))
        .Input(std::move(value))
        .Attr("begin_mask", slice.begin_mask)
        .Attr("end_mask", slice.end_mask)
        .Attr("ellipsis_mask", slice.ellipsis_mask)
        .Attr("new_axis_mask", slice.new_axis_mask)
        .Attr("shrink_axis_mask", slice.shrink_axis_mask)
        .Run()
        .status();
  }
  Tensor Grid() { return TensorOf<float>({3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}); }
};

TEST_F(StridedSliceAssignTest, WritesEverySecondElement) {
  Tensor handle = Variable("v", Grid());
  ASSERT_EQ(Write(handle, {{0, 1}, {3, 4}, {2, 2}}, TensorOf<float>({2, 2}, {100, 101, 102, 103})), OkStatus());
  ExpectTensorEqual(*Read(handle), TensorOf<float>({3, 4}, {0, 100, 2, 101, 4, 5, 6, 7, 8, 102, 10, 103}));
}

TEST_F(StridedSliceAssignTest, BroadcastsTheValue) {
  Tensor handle = Variable("v", Grid());
  ASSERT_EQ(Write(handle, {{0, 1}, {3, 4}, {2, 2}}, Tensor::Scalar(-1.f)), OkStatus());
  ExpectTensorEqual(*Read(handle), TensorOf<float>({3, 4}, {0, -1, 2, -1, 4, 5, 6, 7, 8, -1, 10, -1}));
  ExpectError(Write(handle, {{0, 1}, {3, 4}, {2, 2}}, TensorOf<float>({3, 2}, {1, 2, 3, 4, 5, 6})), kInvalid,
              "Cannot broadcast input shape [3,2] into final shape [2,2]");
}

TEST_F(StridedSliceAssignTest, GoesBackwards) {
  Tensor handle = Variable("v", Grid());
  ASSERT_EQ(Write(handle, {{2}, {0}, {-1}}, TensorOf<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})), OkStatus());
  ExpectTensorEqual(*Read(handle), TensorOf<float>({3, 4}, {0, 1, 2, 3, 5, 6, 7, 8, 1, 2, 3, 4}));
}

TEST_F(StridedSliceAssignTest, ShrinksAndAddsAxes) {
  Tensor handle = Variable("v", Grid());
  Slice one{{1, -2}, {0, 0}, {1, 1}};
  one.shrink_axis_mask = 3;
  ASSERT_EQ(Write(handle, one, Tensor::Scalar(-5.f)), OkStatus());
  // v[..., newaxis, 0] = [[7], [8], [9]]
  Slice column{{0, 0, 0}, {0, 0, 0}, {1, 1, 1}};
  column.ellipsis_mask = 1;
  column.new_axis_mask = 2;
  column.shrink_axis_mask = 4;
  ASSERT_EQ(Write(handle, column, TensorOf<float>({3, 1}, {7, 8, 9})), OkStatus());
  ExpectTensorEqual(*Read(handle), TensorOf<float>({3, 4}, {7, 1, 2, 3, 8, 5, -5, 7, 9, 9, 10, 11}));
}

TEST_F(StridedSliceAssignTest, RefVariablesToo) {
  RefPtr<RefCell> ref = RefVariable("r", TensorOf<float>({2, 3}, {0, 1, 2, 3, 4, 5}));
  auto out = run("StridedSliceAssign")
                 .RefInput(ref)
                 .Input(Tensor::Vector<int64_t>({0, 0}))
                 .Input(Tensor::Vector<int64_t>({2, 3}))
                 .Input(Tensor::Vector<int64_t>({1, 2}))
                 .Input(Tensor::Vector<float>({9, 8}))
                 .Run();
  ASSERT_TRUE(out.ok()) << out.status();
  ExpectTensorEqual((*out)[0], TensorOf<float>({2, 3}, {9, 1, 8, 9, 4, 8}));
}

TEST_F(StridedSliceAssignTest, RefusesWrongSlices) {
  Tensor handle = Variable("v", Grid());
  Tensor value = Tensor::Scalar(0.f);
  Slice outside{{3}, {0}, {1}};
  outside.shrink_axis_mask = 1;
  ExpectError(Write(handle, outside, value), kInvalid, "slice index 3 of dimension 0 out of bounds.");
  ExpectError(Write(handle, {{0}, {1}, {0}}, value), kInvalid, "strides[0] must be non-zero");
  EXPECT_EQ(Write(handle, {{0, 0, 0}, {1, 1, 1}, {1, 1, 1}}, value).code(), kInvalid);
  EXPECT_EQ(Write(handle, {{0, 0}, {1}, {1}}, value).code(), kInvalid);
  EXPECT_EQ(Write(handle, {{2}, {1}, {1}}, value), OkStatus());  // nothing to write
  EXPECT_EQ(Write(handle, {{-2147483647}, {2147483647}, {2147483647}}, value), OkStatus());
  ExpectTensorEqual(*Read(handle), TensorOf<float>({3, 4}, {0, 0, 0, 0, 4, 5, 6, 7, 8, 9, 10, 11}));
}

}  // namespace
}  // namespace weir
