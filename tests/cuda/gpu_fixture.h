// What tests of GPUs share: an environment with GPUs, and operations run there and on the host.
//
// Tests run on an emulated driver (tests/cuda_emulator). With WEIR_TEST_GPU=1 in the environment they run on the
// machine's own GPU.
#ifndef WEIR_TESTS_CUDA_GPU_FIXTURE_H_
#define WEIR_TESTS_CUDA_GPU_FIXTURE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weir/client/environment.h"
#include "weir/framework/attribute.h"
#include "weir/runtime/eager_runtime.h"
#include "weir/runtime/session.h"
#include "weir/tensor/tensor.h"

namespace weir::gpu_testing {

// Points weir at the emulated libraries, unless the machine's own GPU is asked for. Before anything touches the driver.
void ChooseDriver();
bool IsEmulated();

// Two logical GPUs on one card, and one CPU. Shared by all tests of the program.
const std::shared_ptr<Environment>& GpuEnvironment();
EagerRuntime& Runtime();

using Attrs = std::vector<std::pair<std::string, Attribute>>;
// These attributes, and the types and numbers that follow from the inputs.
AttrMap CompleteAttrs(const OpSchema& schema, const std::vector<Tensor>& inputs, const Attrs& attrs);

// Runs one op on a device: "/device:GPU:0".
StatusOr<std::vector<Tensor>> RunOn(const std::string& device, const std::string& op, const std::vector<Tensor>& inputs,
                                    const Attrs& attrs = {});

// Runs an op on the host and on the GPU and compares: values within the tolerance (relative, and absolute for small
// numbers), types and shapes exactly. Fails if the GPU has no kernel for it.
void ExpectAgree(const std::string& op, const std::vector<Tensor>& inputs, const Attrs& attrs = {},
                 double tolerance = 1e-5);

// Whether a GPU has a kernel for an op with these attributes (types included).
bool HasGpuKernel(const std::string& op, const Attrs& attrs);

// How many nodes of an op a step ran that was traced.
int CountRuns(const StepReport& report, const std::string& op);

// Numbers in (-2, 2), the same every time; small integers for integer types, both values for bool.
Tensor Random(DType dtype, const std::vector<int64_t>& dims, uint32_t seed = 1);
// The same, but positive, in (0.5, 2.5).
Tensor RandomPositive(DType dtype, const std::vector<int64_t>& dims, uint32_t seed = 1);

}  // namespace weir::gpu_testing

#endif  // WEIR_TESTS_CUDA_GPU_FIXTURE_H_
