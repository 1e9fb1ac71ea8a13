#include "weir/device/cuda/elementwise_source.h"

#include <gtest/gtest.h>

#include "weir/device/cuda/program_cache.h"

namespace weir::cuda {
namespace {

// relu(a * b + c), where b is one number for all.
ElementwiseProgram Fused() {
  ElementwiseProgram program;
  program.inputs = {DType::kFloat, DType::kFloat, DType::kFloat};
  program.steps = {{"Mul", {0, 1}, DType::kFloat, DType::kFloat},
                   {"AddV2", {3, 2}, DType::kFloat, DType::kFloat},
                   {"Relu", {4}, DType::kFloat, DType::kFloat}};
  program.outputs = {5};
  return program;
}

TEST(ElementwiseSource, IsOneLoopOverAllOperations) {
  const ElementwiseLayout layout{.inputs = {Alignment::kFull, Alignment::kSingle, Alignment::kBroadcast}, .rank = 2};
  EXPECT_EQ(ElementwiseSource(Fused(), layout), R"(#include "weir/device/cuda/device_code/elementwise.cuh"

struct Arguments {
  const void* in[3];
  void* out[1];
  int64 turns;
  int64 dims[2];
  int64 strides[1][2];
};

extern "C" __global__ void Elementwise(const Arguments a) {
  const float v1 = *(const float*)a.in[1];
  for (uint32 i = (uint32)GridFirst(); i < (uint32)a.turns; i += (uint32)GridStride()) {
    uint32 rest = i, at0 = 0;
    at0 += (rest % (uint32)a.dims[1]) * (uint32)a.strides[0][1];
    rest /= (uint32)a.dims[1];
    at0 += rest * (uint32)a.strides[0][0];
    const float v0 = ((const float*)a.in[0])[i];
    const float v2 = ((const float*)a.in[2])[at0];
    const float v3 = (float)Mul::Do((wide<float>)v0, (wide<float>)v1);
    const float v4 = (float)AddV2::Do((wide<float>)v3, (wide<float>)v2);
    const float v5 = (float)Relu::Do((wide<float>)v4);
    ((float*)a.out[0])[i] = v5;
  }
}
)");
}

TEST(ElementwiseSource, CompilesForEveryArchitectureThatIsReleased) {
  const ElementwiseLayout layout{.inputs = {Alignment::kFull, Alignment::kSingle, Alignment::kFull}, .vector = 4};
  const std::string source = ElementwiseSource(Fused(), layout);
  for (int capability : {80, 86, 89, 90}) {
    StatusOr<CompiledProgram> program = CompileDeviceCode("test.cu", source, "Elementwise", capability);
    ASSERT_TRUE(program.ok()) << program.status();
    EXPECT_EQ(program->code.substr(1, 3), "ELF");
  }
  // A card that NVRTC does not know gets PTX, which its driver compiles.
  StatusOr<CompiledProgram> program = CompileDeviceCode("test.cu", source, "Elementwise", 99);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_NE(program->code.find(".target sm_90"), std::string::npos);
}

TEST(ElementwiseSource, AnErrorInDeviceCodeIsTold) {
  StatusOr<CompiledProgram> program = CompileDeviceCode("bad.cu", "__global__ void K() { x; }", "K", 90);
  EXPECT_EQ(program.status().code(), absl::StatusCode::kInternal);
  EXPECT_NE(Message(program.status()).find("bad.cu(1): error: identifier \"x\" is undefined"), std::string::npos)
      << program.status();
}

}  // namespace
}  // namespace weir::cuda
