// The stand-ins by themselves, on two functions in place of the emulated driver: device memory is the host's.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "weir/device/cuda/abi/cublaslt_abi.h"
#include "weir/device/cuda/abi/cudnn_abi.h"
#include "weir/device/cuda/abi/cufft_abi.h"
#include "weir/device/cuda/abi/cusolver_abi.h"

#define WEIR_EXPORTED extern "C" __attribute__((visibility("default")))
WEIR_EXPORTED void* cuEmulatorHostAddress(unsigned long long pointer) { return reinterpret_cast<void*>(pointer); }
WEIR_EXPORTED int cuEmulatorEnqueue(void*, void (*function)(void*), void* data) {
  function(data);
  return 0;
}

namespace weir::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

void* Open(const std::string& name) {
  void* library = dlopen((std::string(WEIR_CUDA_LIBRARIES "/") + name).c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  return library;
}

#define WEIR_LOAD(type, name, symbol, parameters) \
  functions.name = reinterpret_cast<type(*) parameters>(dlsym(library, #symbol));

class CublasLt : public ::testing::Test {
 protected:
  CublasLt() {
    void* library = Open("libcublasLt.so.13");
    WEIR_CUBLASLT_FUNCTIONS(WEIR_LOAD)
    EXPECT_EQ(functions.Create(&handle), kCublasSuccess);
  }
  ~CublasLt() override { functions.Destroy(handle); }

  CublasLtLayout Layout(CudaDataType type, uint64_t rows, uint64_t cols, int64_t ld) {
    CublasLtLayout layout = nullptr;
    EXPECT_EQ(functions.MatrixLayoutCreate(&layout, type, rows, cols, ld), kCublasSuccess);
    return layout;
  }

  CublasLtFunctions functions;
  CublasLtHandle handle = nullptr;
};

// d = relu(a b + bias) of column-major matrices: a is 2x3, b 3x2.
TEST_F(CublasLt, MultipliesColumnsWithEpilogue) {
  const std::vector<float> a = {1, 4, 2, 5, 3, 6}, b = {1, 0, 0, 0, 1, -1}, bias = {-0.5f, 10};
  std::vector<float> d(4, -7);
  CublasLtMatmulDesc desc = nullptr;
  ASSERT_EQ(functions.MatmulDescCreate(&desc, kCublasCompute32F, kCudaR32F), kCublasSuccess);
  const uint32_t epilogue = kCublasLtEpilogueReluBias;
  const void* bias_pointer = bias.data();
  functions.MatmulDescSetAttribute(desc, kCublasLtMatmulEpilogue, &epilogue, sizeof(epilogue));
  functions.MatmulDescSetAttribute(desc, kCublasLtMatmulBiasPointer, &bias_pointer, sizeof(bias_pointer));
  CublasLtLayout la = Layout(kCudaR32F, 2, 3, 2), lb = Layout(kCudaR32F, 3, 2, 3), ld = Layout(kCudaR32F, 2, 2, 2);
  const float one = 1, zero = 0;
  EXPECT_EQ(functions.Matmul(handle, desc, &one, a.data(), la, b.data(), lb, &zero, d.data(), ld, d.data(), ld, nullptr,
                             nullptr, 0, nullptr),
            kCublasSuccess);
  EXPECT_THAT(d, ElementsAre(0.5f, 14, 0, 9));
  // Sizes that do not fit, and a type without an implementation.
  EXPECT_EQ(functions.Matmul(handle, desc, &one, b.data(), lb, b.data(), lb, &zero, d.data(), ld, d.data(), ld, nullptr,
                             nullptr, 0, nullptr),
            kCublasInvalidValue);
  CublasLtLayout half = Layout(kCudaR16F, 2, 3, 2);
  EXPECT_EQ(functions.Matmul(handle, desc, &one, a.data(), half, b.data(), lb, &zero, d.data(), ld, d.data(), ld,
                             nullptr, nullptr, 0, nullptr),
            kCublasNotSupported);
  for (CublasLtLayout layout : {la, lb, ld, half}) functions.MatrixLayoutDestroy(layout);
  functions.MatmulDescDestroy(desc);
}

class Cudnn : public ::testing::Test {
 protected:
  Cudnn() {
    void* library = Open("libcudnn.so.9");
    WEIR_CUDNN_FUNCTIONS(WEIR_LOAD)
  }

  CudnnDescriptor Make(CudnnDescriptorType type) {
    CudnnDescriptor descriptor = nullptr;
    EXPECT_EQ(functions.BackendCreateDescriptor(type, &descriptor), kCudnnSuccess);
    return descriptor;
  }

  CudnnFunctions functions;
};

TEST_F(Cudnn, RefusesWhatIsNotFinalizedOrOfAnotherType) {
  CudnnDescriptor tensor = Make(kCudnnTensorDescriptor);
  EXPECT_EQ(functions.BackendFinalize(tensor), kCudnnBadParam);
  const int64_t id = 1;
  EXPECT_EQ(functions.BackendSetAttribute(tensor, kCudnnAttrTensorUniqueId, kCudnnTypeBoolean, 1, &id),
            kCudnnBadParamAttributeType);
  CudnnDescriptor operation = Make(kCudnnConvolutionForwardDescriptor);
  EXPECT_EQ(functions.BackendSetAttribute(operation, kCudnnAttrForwardX, kCudnnTypeBackendDescriptor, 1, &tensor),
            kCudnnBadParamNotFinalized);
  char message[100];
  functions.GetLastErrorString(message, sizeof(message));
  EXPECT_STREQ(message, "descriptor in an attribute is not finalized");
  functions.BackendDestroyDescriptor(operation);
  functions.BackendDestroyDescriptor(tensor);
}

TEST(Cufft, TransformsRealNumbersAndBack) {
  void* library = Open("libcufft.so.12");
  CufftFunctions functions;
  WEIR_CUFFT_FUNCTIONS(WEIR_LOAD)
  std::vector<float> x = {1, 2, 3, 4, 5, 6}, y(6);
  std::vector<float> frequencies(8);
  CufftHandle forward, inverse;
  long long n = 6;
  size_t work_size;
  functions.Create(&forward);
  functions.Create(&inverse);
  ASSERT_EQ(functions.MakePlanMany64(forward, 1, &n, nullptr, 1, 0, nullptr, 1, 0, kCufftR2C, 1, &work_size),
            kCufftSuccess);
  ASSERT_EQ(functions.MakePlanMany64(inverse, 1, &n, nullptr, 1, 0, nullptr, 1, 0, kCufftC2R, 1, &work_size),
            kCufftSuccess);
  EXPECT_EQ(functions.ExecR2C(forward, x.data(), frequencies.data()), kCufftSuccess);
  EXPECT_THAT(frequencies,
              Pointwise(FloatNear(1e-5f), {21.f, 0.f, -3.f, 3 * std::sqrt(3.f), -3.f, std::sqrt(3.f), -3.f, 0.f}));
  EXPECT_EQ(functions.ExecC2R(inverse, frequencies.data(), y.data()), kCufftSuccess);
  EXPECT_THAT(y, Pointwise(FloatNear(1e-4f), {6.f, 12.f, 18.f, 24.f, 30.f, 36.f}));
  EXPECT_EQ(functions.ExecC2R(forward, frequencies.data(), y.data()), kCufftInvalidValue);
  functions.Destroy(forward);
  EXPECT_EQ(functions.ExecR2C(forward, x.data(), frequencies.data()), kCufftInvalidPlan);
  functions.Destroy(inverse);
}

TEST(Cusolver, DecomposesAndSaysWhatIsSingular) {
  void* library = Open("libcusolver.so.12");
  CusolverHandleFunctions functions;
  WEIR_CUSOLVER_HANDLE_FUNCTIONS(WEIR_LOAD)
  auto potrf = reinterpret_cast<decltype(CusolverTypedFunctions::potrf)>(dlsym(library, "cusolverDnDpotrf"));
  auto getrf = reinterpret_cast<decltype(CusolverTypedFunctions::getrf)>(dlsym(library, "cusolverDnDgetrf"));
  CusolverHandle handle = nullptr;
  functions.Create(&handle);
  std::vector<double> work(64);
  int info = -1;
  std::vector<double> a = {4, 2, 99, 5};  // the upper triangle is not read
  EXPECT_EQ(potrf(handle, kCublasFillLower, 2, a.data(), 2, work.data(), 64, &info), kCusolverSuccess);
  EXPECT_EQ(info, 0);
  EXPECT_THAT(a, ElementsAre(2, 1, 99, 2));
  std::vector<double> negative = {1, 2, 2, 1};
  potrf(handle, kCublasFillLower, 2, negative.data(), 2, work.data(), 64, &info);
  EXPECT_EQ(info, 2);
  std::vector<double> b = {1, 2, 2, 4};
  std::vector<int> pivots(2);
  EXPECT_EQ(getrf(handle, 2, 2, b.data(), 2, work.data(), pivots.data(), &info), kCusolverSuccess);
  EXPECT_EQ(info, 2);
  EXPECT_THAT(pivots, ElementsAre(2, 2));
  EXPECT_THAT(b, ElementsAre(2, 0.5, 4, 0));
  functions.Destroy(handle);
}

}  // namespace
}  // namespace weir::cuda
