// Shape functions of the tables, by op: what goes in, what must come out.
#include <gtest/gtest.h>

#include "weir/framework/op_registry.h"
#include "weir/framework/shape_context.h"
#include "weir/ops/op_tables.h"

namespace weir {
namespace {

const OpRegistry& Ops() {
  static OpRegistry* ops = [] {
    auto* registry = new OpRegistry;
    Status status = RegisterBuiltinOps(*registry);
    EXPECT_TRUE(status.ok()) << status;
    return registry;
  }();
  return *ops;
}

InferredTensor Of(PartialShape shape) {
  InferredTensor out;
  out.shape = std::move(shape);
  return out;
}
InferredTensor Ints(std::vector<int32_t> values) {
  InferredTensor out;
  out.value = Tensor::Vector<int32_t>(std::span<const int32_t>(values));
  out.shape = out.value.shape();
  return out;
}
InferredTensor Int(int32_t value) {
  InferredTensor out;
  out.value = Tensor::Scalar<int32_t>(value);
  out.shape = Shape();
  return out;
}

struct Attrs : AttrMap {
  Attrs With(std::string_view name, Attribute value) && {
    Set(name, std::move(value));
    return std::move(*this);
  }
};

StatusOr<std::vector<InferredTensor>> Infer(std::string_view op, std::vector<InferredTensor> inputs, int outputs = 1,
                                            AttrMap attrs = {}) {
  WEIR_ASSIGN_OR_RETURN(const OpSchema* schema, Ops().LookUp(op));
  for (const AttrSchema& attr : schema->attrs) {
    if (attr.default_value && attrs.Find(attr.name) == nullptr) attrs.Set(attr.name, *attr.default_value);
  }
  if (attrs.Find("T") == nullptr && schema->FindAttr("T") != nullptr) attrs.Set("T", DType::kInt32);
  if (schema->shape_function == nullptr) return Internal(op, " has no shape function");
  ShapeContext context(*schema, attrs, std::move(inputs), outputs);
  WEIR_RETURN_IF_ERROR(schema->shape_function(context));
  return context.outputs();
}

std::string Shown(std::string_view op, std::vector<InferredTensor> inputs, AttrMap attrs = {}, int outputs = 1) {
  auto result = Infer(op, std::move(inputs), outputs, std::move(attrs));
  return result.ok() ? result->front().shape.ToString() : Message(result.status());
}

TEST(Shapes, OfArrays) {
  EXPECT_EQ(Shown("Reshape", {Of({4, 6}), Ints({-1, 3})}), "[8,3]");
  EXPECT_EQ(Shown("Reshape", {Of({4, -1}), Ints({-1, 3})}), "[?,3]");
  EXPECT_EQ(Shown("Reshape", {Of({4, 6}), Ints({5, 3})}),
            "Cannot reshape a tensor with 24 elements to shape [5,3] (15 elements)");
  EXPECT_EQ(Shown("ConcatV2", {Of({2, 3}), Of({-1, 5}), Int(-1)}), "[2,8]");
  EXPECT_EQ(Shown("ConcatV2", {Of({2, 3}), Of({3, 5}), Int(1)}),
            "Dimension 0 in both shapes must be equal, but are 2 and 3. Shapes are [2,?] and [3,?].");
  EXPECT_EQ(Shown("Pack", {Of({2, -1}), Of({2, 3})}, Attrs().With("axis", 1)), "[2,2,3]");
  EXPECT_EQ(Shown("Unpack", {Of({2, 3})}, Attrs().With("axis", 0), 2), "[3]");
  EXPECT_EQ(Shown("Split", {Int(1), Of({2, 6})}, {}, 3), "[2,2]");
  EXPECT_EQ(Shown("ExpandDims", {Of({2, 3}), Int(-1)}), "[2,3,1]");
  EXPECT_EQ(Shown("Squeeze", {Of({1, 3, 1})}), "[3]");
  EXPECT_EQ(Shown("Transpose", {Of({2, 3, 4}), Ints({2, 0, 1})}), "[4,2,3]");
  EXPECT_EQ(Shown("Tile", {Of({2, -1}), Ints({3, 2})}), "[6,?]");
  EXPECT_EQ(Shown("Fill", {Ints({2, 3}), Int(7)}), "[2,3]");
  EXPECT_EQ(Shown("Where", {Of({2, 3})}), "[?,2]");
  EXPECT_EQ(Shown("GatherV2", {Of({5, 6, 7}), Of({2, 3}), Int(1)}), "[5,2,3,7]");
  EXPECT_EQ(Shown("GatherNd", {Of({5, 6, 7}), Of({4, 2})}), "[4,7]");
  EXPECT_EQ(Shown("OneHot", {Of({3}), Int(5), Of(Shape()), Of(Shape())}), "[3,5]");
  EXPECT_EQ(Shown("BroadcastTo", {Of({1, 3}), Ints({2, 3})}), "[2,3]");
}

TEST(Shapes, OfSlices) {
  EXPECT_EQ(Shown("Slice", {Of({5, 6}), Ints({1, 2}), Ints({2, -1})}), "[2,4]");
  EXPECT_EQ(Shown("StridedSlice", {Of({10, 6}), Ints({1}), Ints({9}), Ints({3})}), "[3,6]");
  EXPECT_EQ(Shown("StridedSlice", {Of({10, 6}), Ints({-1, 0}), Ints({0, 0}), Ints({1, 1})},
                  Attrs().With("shrink_axis_mask", 1).With("begin_mask", 2).With("end_mask", 2)),
            "[6]");
  EXPECT_EQ(Shown("StridedSlice", {Of({10, 6}), Ints({0, 0}), Ints({0, 0}), Ints({1, 1})},
                  Attrs().With("ellipsis_mask", 1).With("new_axis_mask", 2)),
            "[10,6,1]");
  EXPECT_EQ(Shown("StridedSlice", {Of({10}), Ints({10}), Ints({0}), Ints({-2})}), "[5]");
  // As the kernel does.
  const InferredTensor entries = Ints(std::vector<int32_t>(32, 1));
  EXPECT_EQ(
      Shown("StridedSlice", {Of({10}), entries, entries, entries}, Attrs().With("new_axis_mask", -2)),
      "Expected begin, end, and strides to be 1D equal size tensors, but got shapes [32], [32], and [32] instead.");
}

TEST(Shapes, OfCountsInRaggedRows) {
  EXPECT_EQ(Shown("RaggedBincount", {Of({3}), Of({5}), Int(4), Of({0})}), "[2,4]");
  EXPECT_EQ(Shown("RaggedBincount", {Of({1, 3}), Of({5}), Int(4), Of({0})}), "[2,4]");
  EXPECT_EQ(Shown("RaggedBincount", {Of({-1, 3}), Of({5}), Int(4), Of({0})}), "[?,4]");
}

TEST(Shapes, OfProductsAndReductions) {
  EXPECT_EQ(Shown("MatMul", {Of({2, 3}), Of({4, 3})}, Attrs().With("transpose_b", true)), "[2,4]");
  EXPECT_EQ(Shown("MatMul", {Of({2, 3}), Of({2, 3})}), "Dimensions must be equal, but are 3 and 2");
  EXPECT_EQ(Shown("BatchMatMulV2", {Of({5, 1, 2, 3}), Of({4, 3, 6})}), "[5,4,2,6]");
  EXPECT_EQ(Shown("Sum", {Of({2, 3, 4}), Ints({0, -1})}), "[3]");
  EXPECT_EQ(Shown("Sum", {Of({2, 3, 4}), Ints({1})}, Attrs().With("keep_dims", true)), "[2,1,4]");
  EXPECT_EQ(Shown("Sum", {Of({2}), Ints({1})}), "Invalid reduction dimension 1 for input with 1 dimensions.");
  EXPECT_EQ(Shown("ArgMax", {Of({2, 3}), Int(1)}), "[2]");
  EXPECT_EQ(Shown("Range", {Int(1), Int(10), Int(4)}), "[3]");
  EXPECT_EQ(Shown("SelectV2", {Of({2, 1}), Of({3}), Of(Shape())}), "[2,3]");
  EXPECT_EQ(Shown("UnsortedSegmentSum", {Of({7, 2}), Of({7}), Int(3)}), "[3,2]");
}

TEST(Shapes, FollowSmallIntegers) {
  InferredTensor dims = Infer("Shape", {Of({2, -1, 4})})->front();
  EXPECT_EQ(dims.value_as_shape, (PartialShape{2, -1, 4}));
  InferredTensor last =
      Infer("StridedSlice", {dims, Ints({2}), Ints({3}), Ints({1})}, 1, Attrs().With("shrink_axis_mask", 1))->front();
  ASSERT_TRUE(last.value.has_value());
  EXPECT_EQ(last.value.scalar<int32_t>(), 4);
  InferredTensor twice = Infer("Mul", {last, Int(2)})->front();
  InferredTensor packed = Infer("Pack", {Int(-1), twice}, 1, Attrs().With("axis", 0))->front();
  EXPECT_EQ(Shown("Reshape", {Of({16, 3}), packed}), "[6,8]");
}

TEST(Shapes, VariablesCarryTheirShape) {
  auto handle = Infer("VarHandleOp", {}, 1, Attrs().With("dtype", DType::kFloat).With("shape", PartialShape{2, 3}));
  EXPECT_EQ(Shown("ReadVariableOp", {handle->front()}, Attrs().With("dtype", DType::kFloat)), "[2,3]");
  EXPECT_EQ(Shown("ReadVariableOp", {handle->front()}, Attrs().With("dtype", DType::kInt32)),
            "Trying to read variable with wrong dtype. Expected float got int32.");
  EXPECT_EQ(Shown("ResourceGather", {handle->front(), Of({5})}, Attrs().With("dtype", DType::kFloat)), "[5,3]");
}

TEST(Shapes, ListsCarryTheirElements) {
  auto list = Infer("TensorListReserve", {Ints({3, -1}), Int(4)}, 1, Attrs().With("element_dtype", DType::kFloat));
  EXPECT_EQ(Shown("TensorListGetItem", {list->front(), Int(0), Ints({-1, 2})}), "[3,2]");
  EXPECT_EQ(Shown("TensorListStack", {list->front(), Ints({-1, 2})}, Attrs().With("num_elements", 4)), "[4,3,2]");
}

// Every function must take any shapes at all without falling over.
TEST(Shapes, SurviveNonsense) {
  const PartialShape kinds[] = {PartialShape(), Shape(), {0}, {-1}, {2, 3}, {-1, -1, -1}, {1, 1, 1, 1, 1}};
  for (const OpSchema* schema : Ops().All()) {
    if (schema->shape_function == nullptr) continue;
    AttrMap attrs;
    for (const AttrSchema& attr : schema->attrs) {
      if (attr.default_value)
        attrs.Set(attr.name, *attr.default_value);
      else if (attr.type == "type")
        attrs.Set(attr.name, DType::kInt32);
      else if (attr.type == "int")
        attrs.Set(attr.name, int64_t{2});
    }
    StatusOr<ArgTypes> types = ResolveArgTypes(*schema, attrs);
    if (!types.ok()) continue;
    for (const PartialShape& shape : kinds) {
      for (int with_value = 0; with_value < 3; ++with_value) {
        std::vector<InferredTensor> inputs(types->inputs.size(), Of(shape));
        for (size_t i = 0; i < inputs.size(); ++i) {
          if (with_value == 0 || BaseType(types->inputs[i]) != DType::kInt32) continue;
          inputs[i] = with_value == 1 ? Ints({-7, 1000000000, 3}) : Int(-5);
        }
        ShapeContext context(*schema, attrs, inputs, static_cast<int>(types->outputs.size()));
        (void)schema->shape_function(context);
      }
    }
  }
}

TEST(Shapes, OfImages) {
  EXPECT_EQ(Shown("ResizeBilinear", {Of({2, 5, 7, 3}), Ints({8, 4})}), "[2,8,4,3]");
  EXPECT_EQ(Shown("ResizeArea", {Of({2, 5, 7, 3}), Of({2})}), "[2,?,?,3]");
  EXPECT_EQ(Shown("CropAndResize", {Of({2, 5, 7, 3}), Of({9, 4}), Of({9}), Ints({4, 3})}), "[9,4,3,3]");
  EXPECT_EQ(Shown("DecodePng", {Of(Shape())}, Attrs().With("channels", int64_t{3})), "[?,?,3]");
  EXPECT_EQ(Shown("DecodeImage", {Of(Shape())}), "<unknown>");
  EXPECT_EQ(Shown("DecodeGif", {Of(Shape())}), "[?,?,?,3]");
  EXPECT_EQ(Shown("EncodePng", {Of({4, 5, 7, 3})}), "[4]");
  EXPECT_EQ(Shown("NonMaxSuppressionV4", {Of({9, 4}), Of({9}), Int(5), Of(Shape()), Of(Shape())},
                  Attrs().With("pad_to_max_output_size", true), 2),
            "[5]");
}

TEST(Shapes, OfReadingAndSparseTensors) {
  EXPECT_EQ(Shown("DecodeRaw", {Of({2})}, Attrs().With("out_type", DType::kFloat)), "[2,?]");
  EXPECT_EQ(Shown("DecodePaddedRaw", {Of({2}), Int(8)}, Attrs().With("out_type", DType::kInt16)), "[2,4]");
  EXPECT_EQ(Shown("ReaderReadUpToV2", {Of(Shape()), Of(Shape()), Of(Shape())}, {}, 2), "[?]");
  EXPECT_EQ(Shown("DenseToDenseSetOperation", {Of({2, 4}), Of({2, 3})}, {}, 3), "[?,2]");
  EXPECT_EQ(Shown("SparseBincount", {Of({3, 2}), Of({3}), Ints({2, 4}), Int(6), Of({0})}), "[2,6]");
  EXPECT_EQ(Shown("RaggedTensorToVariant", {Of({4}), Of({9})}, Attrs().With("batched_input", true)), "[3]");
}

}  // namespace
}  // namespace weir
