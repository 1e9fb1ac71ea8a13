// weir._core: tensors, operations, graphs and tapes for the Python package. Importing it starts nothing: the engine
// comes up with the first operation.
#include "python/src/call.h"
#include "python/src/checkpoint.h"
#include "python/src/collective.h"
#include "python/src/constant.h"
#include "python/src/devices.h"
#include "python/src/dlpack.h"
#include "python/src/graph.h"
#include "python/src/observe.h"
#include "python/src/op.h"
#include "python/src/protos.h"
#include "python/src/python.h"
#include "python/src/python_gradient.h"
#include "python/src/server.h"
#include "python/src/session.h"
#include "python/src/tape.h"
#include "python/src/tensor.h"

namespace weir::python {
namespace {

PyMethodDef kFunctions[] = {
    {"set_hook", SetHook, METH_VARARGS, nullptr},
    {"op", GetOp, METH_O, nullptr},
    {"op_names", OpNames, METH_NOARGS, nullptr},
    {"execute", ExecuteOp, METH_VARARGS, nullptr},
    {"observe_ops", ObserveOps, METH_O, nullptr},
    {"set_device", SetDevice, METH_O, nullptr},
    {"forget_seeded", ForgetSeeded, METH_NOARGS, nullptr},
    {"signature", SignatureOf, METH_O, nullptr},
    {"to_dlpack", TensorToDLPack, METH_O, nullptr},
    {"dlpack_device", DLPackDeviceOf, METH_O, nullptr},
    {"from_dlpack", TensorFromDLPack, METH_O, nullptr},
    {"remove_function", RemoveFunction, METH_VARARGS, nullptr},
    {"list_devices", ListDevices, METH_NOARGS, nullptr},
    {"devices_started", DevicesStarted, METH_NOARGS, nullptr},
    {"gpu_cards", GpuCards, METH_NOARGS, nullptr},
    {"configure_gpus", ConfigureGpus, METH_O, nullptr},
    {"device_of", DeviceOf, METH_O, nullptr},
    {"memory_info", MemoryInfo, METH_O, nullptr},
    {"reset_memory_stats", ResetMemoryStats, METH_O, nullptr},
    {"set_policy", SetPolicy, METH_VARARGS, nullptr},
    {"cuda_build", CudaBuild, METH_NOARGS, nullptr},
    {"list_checkpoint", ListCheckpoint, METH_O, nullptr},
    {"handle_data", HandleDataOf, METH_O, nullptr},
    {"constant", Constant, METH_VARARGS, nullptr},
    {"from_bytes", FromFlatStrings, METH_VARARGS, nullptr},
    {"push_graph", PushGraph, METH_O, nullptr},
    {"pop_graph", PopGraph, METH_NOARGS, nullptr},
    {"current_graph", GetCurrentGraph, METH_NOARGS, nullptr},
    {"variable_accessed", VariableAccessed, METH_O, nullptr},
    {"record", RecordCustom, METH_VARARGS, nullptr},
    {"should_record", ShouldRecord, METH_O, nullptr},
    {"register_gradient", RegisterPythonGradient, METH_O, nullptr},
    {"pause_tapes", PauseTapes, METH_NOARGS, nullptr},
    {"proto_files", ProtoFiles, METH_NOARGS, nullptr},
    {"function_library", ExportFunctions, METH_O, nullptr},
    {"add_function_library", AddFunctions, METH_O, nullptr},
    {"collective_init", CollectiveInit, METH_VARARGS, nullptr},
    {"collective_shutdown", CollectiveShutdown, METH_NOARGS, nullptr},
    {"collective_place", CollectivePlace, METH_NOARGS, nullptr},
    {"collective_add_set", CollectiveAddSet, METH_O, nullptr},
    {"collective_join", CollectiveJoin, METH_NOARGS, nullptr},
    {"collective_barrier", CollectiveBarrier, METH_O, nullptr},
    {"collective_timeline", CollectiveTimeline, METH_O, nullptr},
    {"collective_failure", CollectiveFailure, METH_NOARGS, nullptr},
    {"elastic_join", ElasticJoin, METH_VARARGS, nullptr},
    {"elastic_has_news", ElasticHasNews, METH_NOARGS, nullptr},
    {"elastic_finish", ElasticFinish, METH_NOARGS, nullptr},
    {"resume_tapes", ResumeTapes, METH_NOARGS, nullptr},
    {},
};

PyModuleDef kModule = {
    PyModuleDef_HEAD_INIT, "weir._core", nullptr, -1, kFunctions, nullptr, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace weir::python

PyMODINIT_FUNC PyInit__core() {
  using namespace weir::python;
  Ref module = Ref::Own(PyModule_Create(&kModule));
  if (!module || !AddTensorTypes(module.get()) || !AddGraphType(module.get()) || !AddOpType(module.get()) ||
      !AddTapeType(module.get()) || !AddSessionType(module.get()) || !AddServerType(module.get()) ||
      !AddCallType(module.get())) {
    return nullptr;
  }
  return module.release();
}
