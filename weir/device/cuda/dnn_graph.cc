#include "weir/device/cuda/dnn_graph.h"

#include <map>

#include "weir/base/logging.h"
#include "weir/device/cuda/dnn_engines.h"
#include "weir/device/cuda/measure.h"
#include "weir/device/cuda/shared_libraries.h"

namespace weir::cuda {
namespace {

// That are measured, if nobody says otherwise.
constexpr size_t kMostEngines = 8;

}  // namespace

StatusOr<const CudnnFunctions*> LoadCudnn() {
  static const auto* loaded = new StatusOr<CudnnFunctions>([]() -> StatusOr<CudnnFunctions> {
    WEIR_ASSIGN_OR_RETURN(void* library, OpenCudaLibrary(CudaLibrary::kCudnn));
    CudnnFunctions functions;
#define WEIR_LOAD_TYPED(type, member, symbol, parameters) WEIR_CUDA_LOAD(member, symbol, parameters)
    WEIR_CUDNN_FUNCTIONS(WEIR_LOAD_TYPED)
#undef WEIR_LOAD_TYPED
    if (functions.GetVersion() < 90000) {
      return FailedPrecondition("cuDNN 9 or later is needed, not version ", functions.GetVersion());
    }
    return functions;
  }());
  if (!loaded->ok()) return loaded->status();
  return &**loaded;
}

StatusOr<CudnnDataType> CudnnTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return kCudnnFloat;
    case DType::kDouble:
      return kCudnnDouble;
    case DType::kHalf:
      return kCudnnHalf;
    case DType::kBFloat16:
      return kCudnnBfloat16;
    default:
      return Unimplemented("cuDNN has no ", Name(dtype));
  }
}

Status CheckCudnn(const CudnnFunctions& dnn, CudnnStatus status, std::string_view what) {
  if (status == kCudnnSuccess) [[likely]]
    return OkStatus();
  char explanation[512] = {};
  dnn.GetLastErrorString(explanation, sizeof(explanation) - 1);
  const std::string message = Cat(what, ": ", dnn.GetErrorString(status), ": ", explanation);
  const bool is_unsupported = status / 1000 == kCudnnNotSupported / 1000;
  return is_unsupported ? Unimplemented(message) : Internal(message);
}

StatusOr<DnnDescriptor> DnnDescriptor::Make(const CudnnFunctions& dnn, CudnnDescriptorType type) {
  DnnDescriptor made;
  made.dnn_ = &dnn;
  WEIR_RETURN_IF_ERROR(CheckCudnn(dnn, dnn.BackendCreateDescriptor(type, &made.descriptor_), "making a descriptor"));
  return made;
}

DnnDescriptor& DnnDescriptor::operator=(DnnDescriptor&& other) noexcept {
  std::swap(dnn_, other.dnn_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

DnnDescriptor::~DnnDescriptor() {
  if (descriptor_ != nullptr) dnn_->BackendDestroyDescriptor(descriptor_);
}

Status DnnDescriptor::Set(CudnnAttribute name, CudnnAttributeType type, int64_t count, const void* elements) {
  const CudnnStatus status = dnn_->BackendSetAttribute(descriptor_, name, type, count, elements);
  if (status == kCudnnSuccess) [[likely]]
    return OkStatus();
  return CheckCudnn(*dnn_, status, Cat("setting attribute ", static_cast<int>(name)));
}

Status DnnDescriptor::Finalize() {
  return CheckCudnn(*dnn_, dnn_->BackendFinalize(descriptor_), "finishing a descriptor");
}

StatusOr<DnnDescriptor> DnnGraph::MakeTensor(int64_t id, CudnnDataType type, std::span<const int64_t> dims,
                                             std::span<const int64_t> strides, int64_t alignment) const {
  WEIR_ASSIGN_OR_RETURN(DnnDescriptor tensor, DnnDescriptor::Make(dnn_, kCudnnTensorDescriptor));
  WEIR_RETURN_IF_ERROR(tensor.Set(kCudnnAttrTensorDataType, kCudnnTypeDataType, type));
  WEIR_RETURN_IF_ERROR(tensor.SetInts(kCudnnAttrTensorDimensions, dims));
  WEIR_RETURN_IF_ERROR(tensor.SetInts(kCudnnAttrTensorStrides, strides));
  WEIR_RETURN_IF_ERROR(tensor.Set(kCudnnAttrTensorUniqueId, kCudnnTypeInt64, id));
  WEIR_RETURN_IF_ERROR(tensor.Set(kCudnnAttrTensorByteAlignment, kCudnnTypeInt64, alignment));
  return tensor;
}

StatusOr<const DnnDescriptor*> DnnGraph::AddTensor(int64_t id, CudnnDataType type, std::span<const int64_t> dims,
                                                   std::span<const int64_t> strides, int64_t alignment,
                                                   bool is_virtual) {
  WEIR_ASSIGN_OR_RETURN(DnnDescriptor tensor, MakeTensor(id, type, dims, strides, alignment));
  WEIR_RETURN_IF_ERROR(tensor.Set(kCudnnAttrTensorIsVirtual, kCudnnTypeBoolean, is_virtual));
  WEIR_RETURN_IF_ERROR(tensor.Finalize());
  return Keep(std::move(tensor));
}

StatusOr<const DnnDescriptor*> DnnGraph::AddScalar(int64_t id, CudnnDataType type) {
  constexpr int64_t kOnes[] = {1, 1, 1, 1};
  WEIR_ASSIGN_OR_RETURN(DnnDescriptor tensor, MakeTensor(id, type, kOnes, kOnes, 16));
  WEIR_RETURN_IF_ERROR(tensor.Set(kCudnnAttrTensorIsByValue, kCudnnTypeBoolean, true));
  WEIR_RETURN_IF_ERROR(tensor.Finalize());
  return Keep(std::move(tensor));
}

const DnnDescriptor* DnnGraph::Keep(DnnDescriptor descriptor) {
  kept_.push_back(std::move(descriptor));
  return &kept_.back();
}

StatusOr<DnnStream*> DnnStream::Of(KernelContext& ctx) {
  static absl::Mutex mu;
  static auto* all = new std::map<StreamHandle, std::unique_ptr<DnnStream>>;
  CudaStream& stream = *RunOf(ctx).parts().compute;
  UseContext(stream.context());
  absl::MutexLock lock(&mu);
  std::unique_ptr<DnnStream>& found = (*all)[stream.handle()];
  if (found == nullptr) {
    WEIR_ASSIGN_OR_RETURN(const CudnnFunctions* dnn, LoadCudnn());
    std::unique_ptr<DnnStream> made(new DnnStream(*dnn));
    WEIR_RETURN_IF_ERROR(CheckCudnn(*dnn, dnn->Create(&made->handle_), "starting cuDNN"));
    found = std::move(made);
  }
  return found.get();
}

Status DnnStream::Enter(CudaRun& run) {
  const StreamHandle wanted = run.stream().handle();
  if (stream_ == wanted) return OkStatus();
  WEIR_RETURN_IF_ERROR(CheckCudnn(dnn_, dnn_.SetStream(handle_, wanted), "giving cuDNN a stream"));
  stream_ = wanted;
  return OkStatus();
}

StatusOr<DnnPlan*> DnnStream::Find(const std::string& key, const DnnEngineLimits& limits, const BuildGraph& build) {
  const std::string full_key = Cat(key, limits.deterministic, limits.without_tensor_float);
  absl::MutexLock lock(&mu_);
  if (auto found = plans_.find(full_key); found != plans_.end()) return found->second.get();
  StatusOr<std::unique_ptr<DnnGraph>> graph = build(dnn_);
  StatusOr<std::unique_ptr<DnnPlan>> plan = nullptr;
  if (graph.ok()) plan = Choose(**graph, limits);
  const Status status = graph.ok() ? plan.status() : graph.status();
  if (!status.ok() && status.code() != absl::StatusCode::kUnimplemented) return status;
  std::unique_ptr<DnnPlan>& kept = plans_[full_key];
  if (status.ok()) {
    kept = *std::move(plan);
    kept->name = key;
  } else {
    WEIR_LOG(DEBUG) << "cuDNN does not take " << key << ": " << status;
  }
  return kept.get();
}

StatusOr<std::unique_ptr<DnnPlan>> DnnStream::Choose(DnnGraph& graph, const DnnEngineLimits& limits) {
  WEIR_ASSIGN_OR_RETURN(DnnDescriptor whole, DnnDescriptor::Make(dnn_, kCudnnOperationGraphDescriptor));
  std::vector<CudnnDescriptor> operations;
  for (const DnnDescriptor& operation : graph.operations()) operations.push_back(operation.get());
  WEIR_RETURN_IF_ERROR(whole.Set(kCudnnAttrOperationGraphOps, kCudnnTypeBackendDescriptor,
                                 static_cast<int64_t>(operations.size()), operations.data()));
  WEIR_RETURN_IF_ERROR(whole.Set(kCudnnAttrOperationGraphHandle, kCudnnTypeHandle, handle_));
  WEIR_RETURN_IF_ERROR(whole.Finalize());
  auto plan = std::make_unique<DnnPlan>();
  const size_t most = limits.deterministic || !MayMeasure() ? 1 : MostMeasured(kMostEngines);
  WEIR_ASSIGN_OR_RETURN(plan->engines, FindEngines(dnn_, handle_, whole, graph.settings(), limits, most));
  if (plan->engines.empty()) return Unimplemented("No engine of cuDNN takes the graph");
  return plan;
}

Status DnnStream::Measure(CudaRun& run, DnnPlan& plan, const DnnDescriptor& pack) {
  auto execute = [&](size_t i) {
    return dnn_.BackendExecute(handle_, plan.engines[i].plan.get(), pack.get()) == kCudnnSuccess;
  };
  WEIR_ASSIGN_OR_RETURN(const size_t fastest, FindFastest(run, Cat("measuring cuDNN's engines for ", plan.name),
                                                          plan.engines.size(), 3, execute));
  if (fastest == plan.engines.size()) return Internal("None of cuDNN's engines for a graph runs");
  WEIR_LOG(DEBUG) << "cuDNN: the fastest engine for " << plan.name << " is " << fastest << ", "
                  << plan.engines[fastest].name;
  DnnEngine kept = std::move(plan.engines[fastest]);
  plan.engines.clear();
  plan.engines.push_back(std::move(kept));
  return OkStatus();
}

Status DnnStream::Run(KernelContext& ctx, DnnPlan& plan, std::span<const int64_t> ids,
                      std::span<const DeviceAddress> addresses) {
  CudaRun& run = RunOf(ctx);
  WEIR_RETURN_IF_ERROR(run.parts().health());
  UseContext(run.stream().context());
  absl::MutexLock lock(&mu_);
  WEIR_RETURN_IF_ERROR(Enter(run));
  int64_t workspace_size = 0;
  for (const DnnEngine& engine : plan.engines) workspace_size = std::max(workspace_size, engine.workspace_size);
  Tensor workspace;
  if (workspace_size > 0) {
    WEIR_ASSIGN_OR_RETURN(workspace, ctx.AllocateTemp(DType::kUInt8, Shape({workspace_size})));
  }
  WEIR_ASSIGN_OR_RETURN(DnnDescriptor pack, DnnDescriptor::Make(dnn_, kCudnnVariantPackDescriptor));
  WEIR_RETURN_IF_ERROR(pack.SetInts(kCudnnAttrVariantPackUniqueIds, ids));
  WEIR_RETURN_IF_ERROR(pack.Set(kCudnnAttrVariantPackDataPointers, kCudnnTypeVoidPtr,
                                static_cast<int64_t>(addresses.size()), addresses.data()));
  void* scratch = workspace_size > 0 ? workspace.raw_data() : nullptr;
  WEIR_RETURN_IF_ERROR(pack.Set(kCudnnAttrVariantPackWorkspace, kCudnnTypeVoidPtr, scratch));
  WEIR_RETURN_IF_ERROR(pack.Finalize());
  run.NoteWork();
  if (plan.engines.size() > 1 && !run.is_recording()) WEIR_RETURN_IF_ERROR(Measure(run, plan, pack));
  return CheckCudnn(dnn_, dnn_.BackendExecute(handle_, plan.engines.front().plan.get(), pack.get()),
                    "running a graph of cuDNN");
}

}  // namespace weir::cuda
