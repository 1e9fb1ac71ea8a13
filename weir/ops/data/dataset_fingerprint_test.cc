// Fingerprints of datasets, and what else graphs ask of them. The numbers are those that TensorFlow's
// DatasetFingerprint gives.
#include "weir/ops/data/dataset_fingerprint.h"

#include <gtest/gtest.h>

#include "weir/ops/data/register.h"
#include "weir/testing/kernel_runner.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

class DatasetValueTest : public testing::Test {
 protected:
  Tensor Run(KernelCall& call) {
    auto out = call.Run();
    EXPECT_EQ(out.status(), OkStatus());
    return out.ok() ? (*out)[0] : Tensor();
  }
  KernelCall Node(std::string_view op) {
    KernelCall call = run_(op);
    call.Attr("output_types", std::vector<DType>{DType::kInt64});
    return call;
  }
  Tensor Range(int64_t stop, std::string name = "") {
    KernelCall call = Node("RangeDataset");
    call.Attr("output_shapes", Scalars()).Attr("metadata", name);
    call.Input(Tensor::Scalar(int64_t{0})).Input(Tensor::Scalar(stop)).Input(Tensor::Scalar(int64_t{1}));
    return Run(call);
  }
  Tensor Shuffled(Tensor input, int64_t seed) {
    KernelCall call = Node("ShuffleDataset");
    call.Attr("output_shapes", Scalars()).Input(std::move(input)).Input(Tensor::Scalar(int64_t{3}));
    call.Input(Tensor::Scalar(seed)).Input(Tensor::Scalar(seed));
    return Run(call);
  }
  uint64_t Fingerprint(Tensor dataset) {
    KernelCall call = run_("DatasetFingerprint");
    call.Input(std::move(dataset));
    return Run(call).scalar<uint64_t>();
  }
  static AttrList Scalars() { return {.shape = {PartialShape(Shape())}}; }
  KernelRunner run_{RegisterDataKernels};
};

TEST_F(DatasetValueTest, FingerprintsAreTensorFlows) {
  EXPECT_EQ(Fingerprint(Range(5)), 1010580374753879839u);
  EXPECT_NE(Fingerprint(Range(6)), 1010580374753879839u);
}

TEST_F(DatasetValueTest, NamesAndSeedsDoNotCount) {
  EXPECT_EQ(Fingerprint(Range(5, "a")), Fingerprint(Range(5, "b")));
  EXPECT_EQ(Fingerprint(Shuffled(Range(5), 1)), Fingerprint(Shuffled(Range(5), 2)));
  EXPECT_NE(Fingerprint(Shuffled(Range(5), 1)), Fingerprint(Range(5)));
}

TEST_F(DatasetValueTest, AnElementByItsIndex) {
  auto at = [&](int64_t index) {
    KernelCall call = Node("GetElementAtIndex");
    return call.Attr("output_shapes", Scalars()).Input(Range(5)).Input(Tensor::Scalar(index)).Run();
  };
  ExpectTensorEqual((*at(3))[0], Tensor::Scalar(int64_t{3}));
  EXPECT_EQ(at(5).status(), OutOfRange("Index out of range [0, 5):5"));
  EXPECT_EQ(at(-1).status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(DatasetValueTest, ElementsComeBackFromTheirCompressedForm) {
  const Tensor numbers = Tensor::Vector<int32_t>({1, 2, 3}), texts = Tensor::Vector<std::string>({"a", "", "bcd"});
  KernelCall compress = run_("CompressElement");
  compress.Input(numbers).Input(texts);
  const Tensor compressed = Run(compress);
  auto back = [&](std::vector<DType> types) {
    KernelCall call = run_("UncompressElement");
    call.Attr("output_shapes", AttrList{.shape = std::vector<PartialShape>(types.size())});
    return call.Attr("output_types", types).Input(compressed).Run();
  };
  auto out = back({DType::kInt32, DType::kString});
  ASSERT_EQ(out.status(), OkStatus());
  ExpectTensorEqual((*out)[0], numbers);
  ExpectTensorEqual((*out)[1], texts);
  EXPECT_EQ(back({DType::kInt32}).status(), FailedPrecondition("Expected 1 outputs from uncompress, but got 2"));
  EXPECT_EQ(back({DType::kInt64, DType::kString}).status(),
            FailedPrecondition("Expected a tensor of type int64 but got a tensor of type int32"));
}

}  // namespace
}  // namespace weir
