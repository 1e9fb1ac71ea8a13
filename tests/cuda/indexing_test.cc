#include <gtest/gtest.h>

#include <cmath>

#include "tests/cuda/gpu_fixture.h"

namespace weir::gpu_testing {
namespace {

const std::vector<DType> kFloats = {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBFloat16};

Tensor Ints(const std::vector<int64_t>& dims, const std::vector<int32_t>& values) {
  return Tensor::Vector<int32_t>(values).Reshaped(Shape::Make(dims).value()).value();
}
// n indices in [0, limit), with many that occur several times.
Tensor RandomRows(int64_t n, int32_t limit, uint32_t seed = 7) {
  Tensor rows = Tensor::Allocate(DType::kInt32, Shape({n})).value();
  for (int32_t& row : rows.span<int32_t>()) {
    seed = seed * 1664525 + 1013904223;
    row = static_cast<int32_t>((seed >> 8) % static_cast<uint32_t>(limit));
  }
  return rows;
}
Tensor Axis(int32_t axis) { return Tensor::Scalar<int32_t>(axis); }
double ToleranceOf(DType dtype) { return dtype == DType::kBFloat16 ? 5e-2 : dtype == DType::kHalf ? 8e-3 : 2e-5; }

// Indices that have no numbers in them ask for no memory, however many there are.
TEST(GpuIndexing, NothingIsScatteredByIndicesOfAnyShape) {
  const std::vector<int64_t> many = {1, 3, int64_t{1} << 40, 0};
  const Tensor indices = Random(DType::kInt64, many), updates = Random(DType::kFloat, many);
  for (const char* op : {"TensorScatterUpdate", "TensorScatterAdd", "TensorScatterMin"}) {
    ExpectAgree(op, {Random(DType::kFloat, {0}), indices, updates});
  }
  ExpectAgree("ScatterNd", {indices, updates, Tensor::Vector<int64_t>({0})});
}

TEST(GpuIndexing, GathersAgree) {
  for (DType dtype : {DType::kFloat, DType::kHalf, DType::kComplex128, DType::kBool}) {
    for (int32_t axis : {0, 1, -1}) {
      ExpectAgree("GatherV2", {Random(dtype, {4, 5, 3}), Ints({2, 2}, {2, 0, 1, 2}), Axis(axis)});
    }
  }
  ExpectAgree("GatherV2", {Random(DType::kFloat, {2, 4, 3}), Ints({2, 2}, {3, 0, 1, 1}), Axis(1)},
              {{"batch_dims", int64_t{1}}});
  ExpectAgree("GatherV2", {Random(DType::kFloat, {50, 96}), RandomRows(300, 50), Axis(0)});
  ExpectAgree("GatherV2", {Random(DType::kFloat, {5}), Ints({0}, {}), Axis(0)});
  ExpectAgree("GatherV2", {Random(DType::kFloat, {5}), Ints({}, {3}), Axis(0)});
  ExpectAgree("GatherV2", {Random(DType::kFloat, {5}), Ints({2}, {1, 5}), Axis(0)});  // out of range
  ExpectAgree("GatherNd", {Random(DType::kFloat, {4, 5, 3}), Ints({2, 2}, {3, 4, 0, 1})});
  ExpectAgree("GatherNd", {Random(DType::kFloat, {4, 5}), Ints({2, 0}, {})});
  ExpectAgree("GatherNd", {Random(DType::kFloat, {4, 5}), Ints({1, 2}, {4, 0})});  // out of range
}

TEST(GpuIndexing, ScattersOfRepeatedIndicesAgree) {
  const Tensor rows = RandomRows(300, 7).Reshaped(Shape({300, 1})).value();
  for (DType dtype : {DType::kFloat, DType::kHalf, DType::kInt8, DType::kInt64, DType::kComplex64}) {
    ExpectAgree("ScatterNd", {rows, Random(dtype, {300, 3}), Tensor::Vector<int32_t>({7, 3})}, {},
                20 * ToleranceOf(dtype));
  }
  for (const char* op : {"TensorScatterUpdate", "TensorScatterAdd", "TensorScatterMin", "TensorScatterMax"}) {
    ExpectAgree(op, {Random(DType::kFloat, {7, 3}, 2), rows, Random(DType::kFloat, {300, 3})}, {}, 1e-4);
  }
  // More than one block sorts at once: the last update of a row still wins.
  const Tensor many = RandomRows(5000, 1000).Reshaped(Shape({5000, 1})).value();
  ExpectAgree("TensorScatterUpdate", {Random(DType::kFloat, {1000}), many, Random(DType::kFloat, {5000}, 2)});
  ExpectAgree("ScatterNd", {Ints({2, 1}, {1, 9}), Random(DType::kFloat, {2}), Tensor::Vector<int32_t>({4})});
}

TEST(GpuIndexing, SegmentsAgree) {
  const Tensor sorted = Tensor::Vector<int32_t>({0, 0, 2, 2, 2, 5}), any = RandomRows(200, 9);
  const Tensor count = Tensor::Scalar<int32_t>(11);
  for (DType dtype : kFloats) {
    for (const char* op : {"SegmentSum", "SegmentMean", "SegmentProd", "SegmentMax", "SegmentMin"}) {
      ExpectAgree(op, {Random(dtype, {6, 2, 3}), sorted}, {}, ToleranceOf(dtype));
    }
    for (const char* op : {"UnsortedSegmentSum", "UnsortedSegmentMax", "UnsortedSegmentMin"}) {
      ExpectAgree(op, {Random(dtype, {200, 3}), any, count}, {}, 10 * ToleranceOf(dtype));
    }
  }
  ExpectAgree("SegmentSum", {Random(DType::kFloat, {0, 3}), Tensor::Vector<int32_t>({})});
  ExpectAgree("SegmentSum", {Random(DType::kFloat, {2, 3}), Tensor::Vector<int32_t>({1, 0})});
  ExpectAgree("UnsortedSegmentSum", {Random(DType::kFloat, {2}), Tensor::Vector<int32_t>({-1, 1}), count});
  ExpectAgree("UnsortedSegmentSum", {Random(DType::kFloat, {2}), Tensor::Vector<int32_t>({0, 11}), count});
}

TEST(GpuIndexing, SparseSegmentsAndTheirGradientsAgree) {
  const Tensor indices = RandomRows(40, 10);
  Tensor segments = Tensor::Allocate(DType::kInt32, Shape({40})).value();
  for (int32_t i = 0; i < 40; ++i) segments.data<int32_t>()[i] = i / 7 + (i > 20 ? 2 : 0);
  for (DType dtype : kFloats) {
    for (const char* op : {"SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"}) {
      const Tensor rows = Tensor::Scalar<int32_t>(9);
      ExpectAgree(op, {Random(dtype, {10, 3}), indices, segments}, {}, 10 * ToleranceOf(dtype));
      ExpectAgree(Cat(op, "WithNumSegments"), {Random(dtype, {10, 3}), indices, segments, rows}, {},
                  10 * ToleranceOf(dtype));
      const Tensor size = Tensor::Scalar<int32_t>(12);
      ExpectAgree(Cat(op, "Grad"), {Random(dtype, {9, 3}), indices, segments, size}, {}, 10 * ToleranceOf(dtype));
      ExpectAgree(Cat(op, "GradV2"), {Random(dtype, {9, 3}), indices, segments, size}, {}, 10 * ToleranceOf(dtype));
    }
  }
}

TEST(GpuIndexing, RunningSumsAgreeAlongAnyAxis) {
  for (bool exclusive : {false, true}) {
    for (bool reverse : {false, true}) {
      const Attrs attrs = {{"exclusive", exclusive}, {"reverse", reverse}};
      ExpectAgree("Cumsum", {Random(DType::kFloat, {3, 40, 5}), Axis(1)}, attrs, 1e-4);
      ExpectAgree("Cumsum", {Random(DType::kInt64, {9000}), Axis(0)}, attrs);  // several tiles
      ExpectAgree("CumulativeLogsumexp", {Random(DType::kFloat, {3, 70}), Axis(-1)}, attrs, 1e-4);
    }
  }
  ExpectAgree("Cumprod", {RandomPositive(DType::kDouble, {6, 5}), Axis(0)});
  ExpectAgree("Cumsum", {Random(DType::kFloat, {0, 5}), Axis(0)});
}

TEST(GpuIndexing, ExtremesAndCountsAgree) {
  for (int32_t axis : {0, 1, 2}) {
    ExpectAgree("ArgMax", {Random(DType::kFloat, {3, 4, 5}), Axis(axis)});
    ExpectAgree("ArgMin", {Random(DType::kHalf, {3, 4, 5}), Axis(axis)}, {{"output_type", DType::kInt32}});
  }
  ExpectAgree("ArgMax", {Random(DType::kFloat, {2, 700}), Axis(1)});
  ExpectAgree("ArgMax", {Tensor::Vector<float>({NAN, 1, NAN, 1}), Axis(0)});
  ExpectAgree("Bincount", {RandomRows(500, 12), Axis(10), Random(DType::kFloat, {500})}, {}, 1e-4);
  ExpectAgree("DenseBincount", {Ints({2, 3}, {1, 1, 4, 0, 9, 1}), Axis(5), Random(DType::kFloat, {0})});
  ExpectAgree("HistogramFixedWidth",
              {Random(DType::kFloat, {500}), Tensor::Vector<float>({-1, 1}), Tensor::Scalar<int32_t>(7)});
}

TEST(GpuIndexing, WhatStaysAgrees) {
  ExpectAgree("Where", {Random(DType::kBool, {5, 7, 90})});
  ExpectAgree("Where", {Random(DType::kFloat, {0, 3})});
  ExpectAgree("Unique", {RandomRows(3000, 200)});
  ExpectAgree("UniqueWithCounts", {RandomRows(50, 9)}, {{"out_idx", DType::kInt64}});
  ExpectAgree("Unique", {Tensor::Vector<float>({0.0f, NAN, -0.0f, 1, NAN})});
  ExpectAgree("Unique", {Tensor::Vector<float>({})});
  ExpectAgree("DynamicPartition", {Random(DType::kFloat, {60, 3}), RandomRows(60, 4)},
              {{"num_partitions", int64_t{5}}});
  ExpectAgree("DynamicPartition", {Random(DType::kFloat, {2}), Tensor::Vector<int32_t>({0, 7})},
              {{"num_partitions", int64_t{5}}});
  ExpectAgree("DynamicStitch",
              {Tensor::Vector<int32_t>({0, 4, 1}), Tensor::Vector<int32_t>({1, 6}), Random(DType::kFloat, {3, 2}),
               Random(DType::kFloat, {2, 2}, 2)},
              {{"N", int64_t{2}}});
}

TEST(GpuIndexing, MirrorsAndBandsAgree) {
  const Tensor paddings = Ints({2, 2}, {1, 2, 2, 0});
  for (const char* mode : {"REFLECT", "SYMMETRIC"}) {
    ExpectAgree("MirrorPad", {Random(DType::kFloat, {3, 4}), paddings}, {{"mode", mode}});
    ExpectAgree("MirrorPadGrad", {Random(DType::kFloat, {6, 6}), paddings}, {{"mode", mode}});
  }
  ExpectAgree("MatrixBandPart", {Random(DType::kFloat, {2, 5, 4}), Axis(1), Axis(-1)});
  ExpectAgree("MatrixDiagPartV3",
              {Random(DType::kFloat, {2, 5, 4}), Tensor::Vector<int32_t>({-2, 1}), Tensor::Scalar<float>(9)});
  ExpectAgree("ConjugateTranspose", {Random(DType::kComplex64, {3, 4}), Tensor::Vector<int32_t>({1, 0})});
}

TEST(GpuIndexing, WhatIsNotFiniteFailsTheStep) {
  const Attrs attrs = {{"message", "checked"}};
  ExpectAgree("CheckNumerics", {Random(DType::kFloat, {700})}, attrs);
  const Tensor bad = Tensor::Vector<float>({1, NAN, -INFINITY});
  for (const char* op : {"CheckNumerics", "CheckNumericsV2"}) {
    const auto host = RunOn("/device:CPU:0", op, {bad}, attrs), gpu = RunOn("/device:GPU:0", op, {bad}, attrs);
    ASSERT_FALSE(gpu.ok());
    EXPECT_EQ(gpu.status().message(), host.status().message());
  }
}

TEST(GpuIndexing, SumsOfManyTensorsAgree) {
  std::vector<Tensor> terms;
  for (uint32_t i = 0; i < 70; ++i) terms.push_back(Random(DType::kFloat, {3, 4}, i + 1));
  ExpectAgree("AddN", terms, {}, 1e-4);
  ExpectAgree("AddN", {terms[0]});
  ExpectAgree("Select", {Random(DType::kBool, {3}), terms[0], terms[1]});
}

}  // namespace
}  // namespace weir::gpu_testing
