#include "weir/tensor/tensor_proto.h"

#include <cmath>

#include "gtest/gtest.h"
#include "weir/proto/tensor.pb.h"

namespace weir {
namespace {

TensorProto Proto(DType dtype, std::initializer_list<int64_t> dims) {
  TensorProto proto;
  proto.set_dtype(static_cast<DataType>(dtype));
  for (int64_t dim : dims) proto.mutable_tensor_shape()->add_dim()->set_size(dim);
  return proto;
}

absl::StatusCode Code(const TensorProto& proto) { return FromProto(proto).status().code(); }

TEST(FromProto, RefusesWhatIsNoTensor) {
  constexpr auto kBad = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(Code(TensorProto()), kBad);
  EXPECT_EQ(Code(Proto(static_cast<DType>(99), {})), kBad);
  EXPECT_EQ(Code(Proto(RefType(DType::kFloat), {})), kBad);
  EXPECT_EQ(Code(Proto(DType::kFloat, {-1})), kBad);
  EXPECT_EQ(Code(Proto(DType::kFloat, {int64_t{1} << 40, int64_t{1} << 40})), kBad);
  TensorProto proto = Proto(DType::kFloat, {2});
  proto.set_tensor_content("1234");
  EXPECT_EQ(Code(proto), kBad);
  proto.set_tensor_content("123456789");
  EXPECT_EQ(Code(proto), kBad);
}

TEST(FromProto, RefusesMoreThanMemory) {
  TensorProto proto = Proto(DType::kFloat, {int64_t{1} << 40});
  proto.add_float_val(1);
  EXPECT_EQ(Code(proto), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Code(Proto(DType::kString, {int64_t{1} << 50})), absl::StatusCode::kResourceExhausted);
  proto = Proto(DType::kString, {int64_t{1} << 30});
  proto.set_tensor_content("abc");
  EXPECT_EQ(Code(proto), absl::StatusCode::kInvalidArgument);
}

TEST(FromProto, FieldsOfAnotherTypeCountAsNone) {
  TensorProto proto = Proto(DType::kFloat, {2});
  proto.add_double_val(7);
  Tensor t = FromProto(proto).value();
  EXPECT_EQ(t.data<float>()[0], 0);
  EXPECT_EQ(t.data<float>()[1], 0);
}

TEST(FromProto, IntegersWrap) {
  TensorProto proto = Proto(DType::kUInt8, {2});
  proto.add_int_val(257);
  proto.add_int_val(-1);
  Tensor t = FromProto(proto).value();
  EXPECT_EQ(t.data<uint8_t>()[0], 1);
  EXPECT_EQ(t.data<uint8_t>()[1], 255);
}

TEST(FromProto, HalfPairOfComplexIsIgnored) {
  TensorProto proto = Proto(DType::kComplex64, {3});
  for (float value : {1, 2, 3}) proto.add_scomplex_val(value);
  Tensor t = FromProto(proto).value();
  EXPECT_EQ(t.data<std::complex<float>>()[2], std::complex<float>(1, 2));
}

TEST(FromProto, OddBytesBecomeValidElements) {
  TensorProto proto = Proto(DType::kBool, {2});
  proto.set_tensor_content(std::string("\x02\x00", 2));
  Tensor t = FromProto(proto).value();
  EXPECT_EQ(*static_cast<const uint8_t*>(t.raw_data()), 1);
  proto = Proto(DType::kInt4, {2});
  proto.set_tensor_content("\x0f\x17");
  t = FromProto(proto).value();
  EXPECT_EQ(static_cast<int>(t.data<Int4>()[0]), -1);
  EXPECT_EQ(static_cast<int>(t.data<Int4>()[1]), 7);
}

TEST(FromProto, LargeContentIsTakenOver) {
  TensorProto proto = Proto(DType::kFloat, {100000});
  proto.set_tensor_content(std::string(400000, '\0'));
  const void* bytes = proto.tensor_content().data();
  Tensor t = FromProto(std::move(proto)).value();
  EXPECT_EQ(static_cast<const Tensor&>(t).raw_data(), bytes);
  EXPECT_TRUE(t.unique());
  proto = Proto(DType::kFloat, {1});
  proto.set_tensor_content(std::string(4, '\0'));
  EXPECT_TRUE(FromProto(std::move(proto))->is_aligned());
}

TEST(WireEncoding, StringsAreLengthsThenBytes) {
  TensorProto proto;
  ASSERT_TRUE(ToProto(Tensor::Vector<std::string>({"abc", ""}), &proto, TensorEncoding::kWire).ok());
  EXPECT_EQ(proto.tensor_content(), std::string("\x03\x00"
                                                "abc",
                                                5));
  EXPECT_EQ(FromProto(proto)->data<std::string>()[0], "abc");
  for (std::string_view bad : {"\x03", "\x03\x01",
                               "\x03\x01"
                               "abc",
                               "\x03\x01"
                               "abcde",
                               "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"}) {
    proto.set_tensor_content(std::string(bad));
    EXPECT_EQ(Code(proto), absl::StatusCode::kInvalidArgument);
  }
}

TEST(ToProto, HandlesAndVariantsRoundTrip) {
  ResourceHandle handle;
  handle.device = "/device:CPU:0";
  handle.container = "c";
  handle.name = "v";
  handle.hash_code = ~uint64_t{0};
  handle.type_name = "Var";
  handle.dtypes_and_shapes = {{DType::kFloat, PartialShape({2, -1})}, {DType::kInt32, PartialShape::Unknown()}};
  Tensor inner = Tensor::Vector<int32_t>({1, 2, 3});
  Variant variant(std::make_shared<OpaqueVariant>(VariantData{"kind", "meta", {inner, Tensor::Scalar(handle)}}));
  Tensor outer = Tensor::Vector<Variant>({variant, Variant()});
  for (TensorEncoding encoding : {TensorEncoding::kContent, TensorEncoding::kWire}) {
    TensorProto proto;
    ASSERT_TRUE(ToProto(outer, &proto, encoding).ok());
    Tensor again = FromProto(proto).value();
    EXPECT_FALSE(again.data<Variant>()[1].has_value());
    VariantData data = again.data<Variant>()[0].get()->Encode().value();
    EXPECT_EQ(data.type_name, "kind");
    EXPECT_EQ(data.metadata, "meta");
    EXPECT_EQ(data.tensors[0].ToString(), inner.ToString());
    const ResourceHandle& read = data.tensors[1].scalar<ResourceHandle>();
    EXPECT_EQ(read.name, "v");
    EXPECT_EQ(read.hash_code, handle.hash_code);
    EXPECT_EQ(read.dtypes_and_shapes[0].shape, PartialShape({2, -1}));
    EXPECT_FALSE(read.dtypes_and_shapes[1].shape.has_rank());
  }
}

TEST(FromProto, DepthOfVariantsIsLimited) {
  TensorProto proto = Proto(DType::kVariant, {});
  TensorProto* deepest = &proto;
  for (int i = 0; i < 1000; ++i) {
    VariantTensorDataProto* variant = deepest->add_variant_val();
    variant->set_type_name("nest");
    deepest = variant->add_tensors();
    *deepest = Proto(DType::kVariant, {});
  }
  EXPECT_EQ(Code(proto), absl::StatusCode::kInvalidArgument);
}

class Unsendable : public VariantValue {
 public:
  std::string_view type_name() const override { return "unsendable"; }
};

TEST(ToProto, RefusesWhatCannotLeave) {
  TensorProto proto;
  EXPECT_EQ(ToProto(Tensor::Scalar(Variant(std::make_shared<Unsendable>())), &proto).code(),
            absl::StatusCode::kUnimplemented);
  EXPECT_EQ(ToProto(Tensor(), &proto).code(), absl::StatusCode::kInvalidArgument);
}

TEST(DecodeVariant, UsesTheRegisteredDecoder) {
  RegisterVariantDecoder("unsendable", [](VariantData) -> StatusOr<std::shared_ptr<VariantValue>> {
    return std::make_shared<Unsendable>();
  });
  EXPECT_NE(DecodeVariant({"unsendable", "", {}})->get_if<Unsendable>(), nullptr);
  EXPECT_NE(DecodeVariant({"other", "", {}})->get_if<OpaqueVariant>(), nullptr);
}

TEST(CompressProto, LeavesOutWhatRepeats) {
  Tensor t = Tensor::Zeros(DType::kFloat, Shape({100})).value();
  auto compressed = [&](TensorEncoding encoding) {
    TensorProto proto;
    EXPECT_TRUE(ToProto(t, &proto, encoding).ok());
    EXPECT_TRUE(CompressProto(&proto));
    EXPECT_EQ(FromProto(proto)->SummarizeValues(-1), t.SummarizeValues(-1));
    EXPECT_TRUE(proto.tensor_content().empty());
    return proto.float_val_size();
  };
  for (TensorEncoding encoding : {TensorEncoding::kContent, TensorEncoding::kFields}) {
    std::fill_n(t.data<float>(), 100, 0.0f);
    EXPECT_EQ(compressed(encoding), 0);
    std::fill_n(t.data<float>(), 100, -0.0f);
    EXPECT_EQ(compressed(encoding), 1);
    std::fill_n(t.data<float>(), 100, NAN);
    EXPECT_EQ(compressed(encoding), 1);
    t.data<float>()[9] = 3;
    EXPECT_EQ(compressed(encoding), 11);
  }
}

TEST(CompressProto, KeepsWhatGainsTooLittle) {
  Tensor t = Tensor::Zeros(DType::kFloat, Shape({100})).value();
  t.data<float>()[50] = 3;
  TensorProto proto;
  ASSERT_TRUE(ToProto(t, &proto).ok());
  EXPECT_FALSE(CompressProto(&proto));
  ASSERT_TRUE(ToProto(Tensor::Zeros(DType::kFloat, Shape({63})).value(), &proto).ok());
  EXPECT_FALSE(CompressProto(&proto));
  ASSERT_TRUE(ToProto(Tensor::Vector<std::string>({"a"}), &proto).ok());
  EXPECT_FALSE(CompressProto(&proto, 1));
}

TEST(ShapeProto, RoundTrips) {
  TensorShapeProto proto;
  ToProto(PartialShape({2, -1}), &proto);
  EXPECT_EQ(PartialShapeFromProto(proto)->ToString(), "[2,?]");
  EXPECT_FALSE(ShapeFromProto(proto).ok());
  ToProto(PartialShape::Unknown(), &proto);
  EXPECT_EQ(PartialShapeFromProto(proto)->ToString(), "<unknown>");
  EXPECT_FALSE(ShapeFromProto(proto).ok());
  ToProto(Shape({2, 0}), &proto);
  EXPECT_EQ(*ShapeFromProto(proto), Shape({2, 0}));
  proto.mutable_dim(0)->set_size(-2);
  EXPECT_FALSE(PartialShapeFromProto(proto).ok());
}

}  // namespace
}  // namespace weir
