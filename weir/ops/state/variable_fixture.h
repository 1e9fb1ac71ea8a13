// For tests: variables of both kinds, made, set and read by their kernels.
#ifndef WEIR_OPS_STATE_VARIABLE_FIXTURE_H_
#define WEIR_OPS_STATE_VARIABLE_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/ops/state/register.h"
#include "weir/testing/kernel_runner.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {

class VariableTest : public testing::Test {
 protected:
  Tensor Handle(std::string_view name, DType dtype) {
    auto out = run("VarHandleOp").Name(name).Attr("dtype", dtype).Attr("shape", PartialShape()).Run();
    EXPECT_TRUE(out.ok()) << out.status();
    return out.ok() ? (*out)[0] : Tensor();
  }
  Status AssignTo(const Tensor& handle, Tensor value) {
    return run("AssignVariableOp").Input(handle).Input(std::move(value)).Run().status();
  }
  // A variable with a value.
  Tensor Variable(std::string_view name, Tensor value) {
    Tensor handle = Handle(name, value.dtype());
    EXPECT_EQ(AssignTo(handle, std::move(value)), OkStatus());
    return handle;
  }
  StatusOr<Tensor> Read(const Tensor& handle, DType dtype = DType::kFloat) {
    auto out = run("ReadVariableOp").Input(handle).Attr("dtype", dtype).Run();
    if (!out.ok()) return out.status();
    return (*out)[0];
  }

  RefPtr<RefCell> RefVariable(std::string_view name, DType dtype, PartialShape shape = PartialShape()) {
    std::vector<Slot> outputs;
    EXPECT_EQ(run("VariableV2").Name(name).Attr("dtype", dtype).Attr("shape", shape).RunSlots(outputs), OkStatus());
    return outputs.empty() ? nullptr : outputs[0].ref;
  }
  RefPtr<RefCell> RefVariable(std::string_view name, Tensor value) {
    RefPtr<RefCell> ref = RefVariable(name, value.dtype(), PartialShape(value.shape()));
    EXPECT_EQ(run("Assign").RefInput(ref).Input(std::move(value)).Run().status(), OkStatus());
    return ref;
  }
  Tensor Value(const RefPtr<RefCell>& ref) {
    absl::ReaderMutexLock lock(&ref->mu);
    return ref->tensor;
  }

  static void ExpectError(const Status& status, absl::StatusCode code, std::string_view text) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(Message(status), testing::HasSubstr(std::string(text)));
  }

  KernelRunner run{RegisterStateKernels};
};

}  // namespace weir

#endif  // WEIR_OPS_STATE_VARIABLE_FIXTURE_H_
