#include "python/src/py_function.h"

#include "python/src/python.h"
#include "python/src/tensor.h"
#include "weir/framework/kernel.h"

namespace weir::python {
namespace {

class PyFunctionKernel : public Kernel {
 public:
  PyFunctionKernel(std::string token, bool wants_arrays, std::vector<DType> types)
      : token_(std::move(token)), wants_arrays_(wants_arrays), types_(std::move(types)) {}

  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(std::string token, GetAttr<std::string>(init.attrs(), "token"));
    WEIR_ASSIGN_OR_RETURN(std::vector<DType> types, GetAttr<std::vector<DType>>(init.attrs(), "Tout"));
    return std::unique_ptr<Kernel>(
        std::make_unique<PyFunctionKernel>(std::move(token), init.schema().name != "EagerPyFunc", std::move(types)));
  }

  Status Compute(KernelContext& ctx) override {
    WithLock locked;
    PyObject* call = Hook("call_py_function");
    if (call == nullptr) return TakeException();
    Ref inputs = Ref::Own(PyList_New(0));
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      Ref tensor = Ref::Own(NewEager(ctx.input(i)));
      if (!tensor || PyList_Append(inputs.get(), tensor.get()) < 0) return TakeException();
    }
    Ref types = Ref::Own(PyList_New(0));
    for (DType type : types_) {
      Ref dtype = Ref::Own(FromDType(type));
      if (!dtype || PyList_Append(types.get(), dtype.get()) < 0) return TakeException();
    }
    Ref results = Ref::Own(PyObject_CallFunction(call, "s#OOO", token_.data(), static_cast<Py_ssize_t>(token_.size()),
                                                 inputs.get(), types.get(), wants_arrays_ ? Py_True : Py_False));
    if (!results) return TakeException();
    if (!PyList_Check(results.get()) || PyList_GET_SIZE(results.get()) != static_cast<Py_ssize_t>(types_.size())) {
      return Internal("a Python function gave the wrong number of results");
    }
    for (size_t i = 0; i < types_.size(); ++i) {
      PyObject* result = PyList_GET_ITEM(results.get(), static_cast<Py_ssize_t>(i));
      if (!IsEager(result) || AsTensor(result)->value.dtype() != types_[i]) {
        return InvalidArgument("result ", i, " of a Python function is not ", Name(types_[i]));
      }
      const Tensor* const host = HostValue(result);
      if (host == nullptr) return TakeException();
      ctx.set_output(static_cast<int>(i), *host);
    }
    return OkStatus();
  }

 private:
  const std::string token_;
  const bool wants_arrays_;
  const std::vector<DType> types_;
};

}  // namespace

void RegisterPythonKernels(KernelRegistry& kernels) {
  for (const char* op : {"EagerPyFunc", "PyFunc", "PyFuncStateless"}) {
    kernels.Add(KernelBuilder(op), PyFunctionKernel::Make);
  }
}

}  // namespace weir::python
