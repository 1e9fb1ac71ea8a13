#include "weir/device/cuda/rnn.h"

#include <limits>

#include "weir/device/cuda/blas.h"
#include "weir/device/cuda/dnn_graph.h"
#include "weir/device/cuda/shared_libraries.h"

namespace weir::cuda {
namespace {

StatusOr<const CudnnRnnFunctions*> LoadCudnnRnn() {
  static const auto* loaded = new StatusOr<CudnnRnnFunctions>([]() -> StatusOr<CudnnRnnFunctions> {
    WEIR_ASSIGN_OR_RETURN(void* library, OpenCudaLibrary(CudaLibrary::kCudnn));
    CudnnRnnFunctions functions;
#define WEIR_LOAD_TYPED(type, member, symbol, parameters) WEIR_CUDA_LOAD(member, symbol, parameters)
    WEIR_CUDNN_RNN_FUNCTIONS(WEIR_LOAD_TYPED)
#undef WEIR_LOAD_TYPED
    return functions;
  }());
  if (!loaded->ok()) return loaded->status();
  return &**loaded;
}

Status CheckRnn(CudnnStatus status, std::string_view what) {
  if (status == kCudnnSuccess) [[likely]]
    return OkStatus();
  WEIR_ASSIGN_OR_RETURN(const CudnnFunctions* dnn, LoadCudnn());
  return CheckCudnn(*dnn, status, what);
}

void* PointerTo(DeviceAddress address) { return reinterpret_cast<void*>(address); }

// A descriptor that is destroyed with this object.
template <typename Desc>
class Owned {
 public:
  explicit Owned(CudnnStatus (*destroy)(Desc)) : destroy_(destroy) {}
  Owned(const Owned&) = delete;
  ~Owned() {
    if (desc_ != nullptr) destroy_(desc_);
  }
  Desc* slot() { return &desc_; }
  Desc get() const { return desc_; }

 private:
  CudnnStatus (*const destroy_)(Desc);
  Desc desc_ = nullptr;
};

// cuDNN's descriptors of layers and, for a call, of data.
class LayersCall {
 public:
  static StatusOr<std::unique_ptr<LayersCall>> Start(KernelContext& ctx, const RecurrentLayers& layers,
                                                     RecurrentDropout& dropout) {
    WEIR_RETURN_IF_ERROR(RunOf(ctx).parts().health());
    WEIR_ASSIGN_OR_RETURN(DnnStream * stream, DnnStream::Of(ctx));
    WEIR_ASSIGN_OR_RETURN(const CudnnRnnFunctions* functions, LoadCudnnRnn());
    auto call = std::make_unique<LayersCall>(ctx, layers, *stream, *functions);
    WEIR_RETURN_IF_ERROR(call->MakeLayers(dropout));
    return call;
  }
  LayersCall(KernelContext& ctx, const RecurrentLayers& layers, DnnStream& stream, const CudnnRnnFunctions& functions)
      : ctx_(ctx),
        layers_(layers),
        stream_(stream),
        functions_(functions),
        rnn_(functions.DestroyRNNDescriptor),
        x_(functions.DestroyRNNDataDescriptor),
        y_(functions.DestroyRNNDataDescriptor),
        state_(functions.DestroyTensorDescriptor) {}

  const CudnnRnnFunctions& functions() const { return functions_; }
  CudnnHandle handle() const { return stream_.handle(); }
  absl::Mutex& mutex() { return stream_.mutex(); }
  Status Enter() ABSL_NO_THREAD_SAFETY_ANALYSIS { return stream_.Enter(RunOf(ctx_)); }
  CudnnRnnDesc rnn() const { return rnn_.get(); }
  CudnnRnnDataDesc x() const { return x_.get(); }
  CudnnRnnDataDesc y() const { return y_.get(); }
  CudnnTensorDesc state() const { return state_.get(); }

  StatusOr<size_t> WeightBytes() const {
    size_t bytes = 0;
    WEIR_RETURN_IF_ERROR(CheckRnn(functions_.GetRNNWeightSpaceSize(handle(), rnn(), &bytes), "sizing weights"));
    return bytes;
  }

  Status MakeData(const RecurrentData& data) {
    const int64_t states = layers_.layers * layers_.directions();
    const int64_t most = std::max({data.time, data.batch, states * data.batch * layers_.hidden});
    if (most > std::numeric_limits<int>::max()) return Unimplemented("Recurrent layers of ", most, " elements");
    WEIR_RETURN_IF_ERROR(MakeSequence(data, layers_.input_size, x_));
    WEIR_RETURN_IF_ERROR(MakeSequence(data, layers_.hidden * layers_.directions(), y_));
    WEIR_RETURN_IF_ERROR(CheckRnn(functions_.CreateTensorDescriptor(state_.slot()), "describing a state"));
    const int hidden = static_cast<int>(layers_.hidden), batch = static_cast<int>(data.batch);
    const int dims[] = {static_cast<int>(states), batch, hidden}, strides[] = {batch * hidden, hidden, 1};
    return CheckRnn(functions_.SetTensorNdDescriptor(state(), type_, 3, dims, strides), "describing a state");
  }

  // Scratch memory, and bytes that a training step keeps.
  Status Sizes(bool training, size_t* workspace, size_t* reserve) const {
    return CheckRnn(functions_.GetRNNTempSpaceSizes(handle(), rnn(), training ? kCudnnTraining : kCudnnInference, x(),
                                                    workspace, reserve),
                    "sizing memory");
  }

 private:
  Status MakeLayers(RecurrentDropout& dropout) {
    WEIR_ASSIGN_OR_RETURN(type_, CudnnTypeOf(layers_.dtype));
    const int64_t most = std::max({layers_.input_size, layers_.hidden, layers_.layers});
    if (most > std::numeric_limits<int>::max()) return Unimplemented("A recurrent layer of ", most, " units");
    absl::MutexLock lock(&mutex());
    WEIR_RETURN_IF_ERROR(Enter());
    WEIR_ASSIGN_OR_RETURN(CudnnDropoutDesc dropout_desc, dropout.Get(ctx_, handle(), layers_.dropout, layers_.seed));
    WEIR_RETURN_IF_ERROR(CheckRnn(functions_.CreateRNNDescriptor(rnn_.slot()), "describing recurrent layers"));
    const bool is_double = layers_.dtype == DType::kDouble, is_single = layers_.dtype == DType::kFloat;
    const CudnnMathType math = is_double               ? kCudnnDefaultMath
                               : !is_single            ? kCudnnTensorOpMath
                               : AllowsTensorFloat32() ? kCudnnDefaultMath
                                                       : kCudnnFmaMath;
    const auto hidden = static_cast<int32_t>(layers_.hidden);
    return CheckRnn(functions_.SetRNNDescriptor_v8(
                        rnn(), kCudnnRnnStandard, layers_.mode, kCudnnRnnDoubleBias,
                        layers_.bidirectional ? kCudnnBidirectional : kCudnnUnidirectional,
                        layers_.skips_input ? kCudnnSkipInput : kCudnnLinearInput, type_,
                        is_double ? kCudnnDouble : kCudnnFloat, math, static_cast<int32_t>(layers_.input_size), hidden,
                        hidden, static_cast<int32_t>(layers_.layers), dropout_desc, kCudnnRnnPaddedIoEnabled),
                    "describing recurrent layers");
  }

  Status MakeSequence(const RecurrentData& data, int64_t size, Owned<CudnnRnnDataDesc>& desc) {
    WEIR_RETURN_IF_ERROR(CheckRnn(functions_.CreateRNNDataDescriptor(desc.slot()), "describing sequences"));
    double fill = 0;  // of any type
    return CheckRnn(functions_.SetRNNDataDescriptor(
                        desc.get(), type_, data.time_major ? kCudnnSequenceMajorUnpacked : kCudnnBatchMajorUnpacked,
                        static_cast<int>(data.time), static_cast<int>(data.batch), static_cast<int>(size),
                        data.lengths.data(), &fill),
                    "describing sequences");
  }

  KernelContext& ctx_;
  const RecurrentLayers& layers_;
  DnnStream& stream_;
  const CudnnRnnFunctions& functions_;
  CudnnDataType type_ = kCudnnFloat;
  Owned<CudnnRnnDesc> rnn_;
  Owned<CudnnRnnDataDesc> x_, y_;
  Owned<CudnnTensorDesc> state_;
};

StatusOr<Tensor> AllocateBytes(KernelContext& ctx, size_t bytes) {
  return ctx.AllocateTemp(DType::kUInt8, Shape({static_cast<int64_t>(std::max<size_t>(bytes, 1))}));
}

}  // namespace

RecurrentDropout::~RecurrentDropout() {
  absl::MutexLock lock(&mu_);
  if (desc_ == nullptr) return;
  StatusOr<const CudnnRnnFunctions*> functions = LoadCudnnRnn();
  if (functions.ok()) (*functions)->DestroyDropoutDescriptor(desc_);
}

StatusOr<CudnnDropoutDesc> RecurrentDropout::Get(KernelContext& ctx, CudnnHandle handle, float dropout, uint64_t seed) {
  absl::MutexLock lock(&mu_);
  if (desc_ != nullptr) return desc_;
  WEIR_ASSIGN_OR_RETURN(const CudnnRnnFunctions* functions, LoadCudnnRnn());
  size_t bytes = 0;
  if (dropout > 0) {
    WEIR_RETURN_IF_ERROR(CheckRnn(functions->DropoutGetStatesSize(handle, &bytes), "sizing dropout"));
    WEIR_ASSIGN_OR_RETURN(states_, AllocateBytes(ctx, bytes));
  }
  CudnnDropoutDesc desc = nullptr;
  WEIR_RETURN_IF_ERROR(CheckRnn(functions->CreateDropoutDescriptor(&desc), "describing dropout"));
  const Status status = CheckRnn(
      functions->SetDropoutDescriptor(desc, handle, dropout, bytes > 0 ? states_.raw_data() : nullptr, bytes, seed),
      "describing dropout");
  if (!status.ok()) {
    functions->DestroyDropoutDescriptor(desc);
    return status;
  }
  return desc_ = desc;
}

StatusOr<int64_t> RecurrentWeightBytes(KernelContext& ctx, const RecurrentLayers& layers, RecurrentDropout& dropout) {
  WEIR_ASSIGN_OR_RETURN(auto call, LayersCall::Start(ctx, layers, dropout));
  WEIR_ASSIGN_OR_RETURN(const size_t bytes, call->WeightBytes());
  return static_cast<int64_t>(bytes);
}

StatusOr<std::vector<RecurrentWeight>> RecurrentWeights(KernelContext& ctx, const RecurrentLayers& layers,
                                                        RecurrentDropout& dropout, DeviceAddress weights) {
  WEIR_ASSIGN_OR_RETURN(auto call, LayersCall::Start(ctx, layers, dropout));
  const CudnnRnnFunctions& functions = call->functions();
  WEIR_ASSIGN_OR_RETURN(const size_t bytes, call->WeightBytes());
  Owned<CudnnTensorDesc> matrix_desc(functions.DestroyTensorDescriptor), bias_desc(functions.DestroyTensorDescriptor);
  WEIR_RETURN_IF_ERROR(CheckRnn(functions.CreateTensorDescriptor(matrix_desc.slot()), "describing weights"));
  WEIR_RETURN_IF_ERROR(CheckRnn(functions.CreateTensorDescriptor(bias_desc.slot()), "describing weights"));
  std::vector<RecurrentWeight> found;
  const auto element = static_cast<int64_t>(SizeOf(layers.dtype));
  for (int pseudo = 0; pseudo < layers.layers * layers.directions(); ++pseudo) {
    for (int linear = 0; linear < layers.linear_layers(); ++linear) {
      void *matrix = nullptr, *bias = nullptr;
      absl::MutexLock lock(&call->mutex());
      WEIR_RETURN_IF_ERROR(
          CheckRnn(functions.GetRNNWeightParams(call->handle(), call->rnn(), pseudo, bytes, PointerTo(weights), linear,
                                                matrix_desc.get(), &matrix, bias_desc.get(), &bias),
                   "finding weights"));
      auto offset = [&](const void* pointer) -> int64_t {
        if (pointer == nullptr) return -1;
        return static_cast<int64_t>(reinterpret_cast<DeviceAddress>(pointer) - weights) / element;
      };
      CudnnDataType type{};
      int rank = 0, dims[3] = {}, strides[3] = {};
      RecurrentWeight weight{.matrix = offset(matrix), .bias = offset(bias), .rows = layers.hidden, .columns = 0};
      if (matrix != nullptr) {
        WEIR_RETURN_IF_ERROR(CheckRnn(
            functions.GetTensorNdDescriptor(matrix_desc.get(), 3, &type, &rank, dims, strides), "finding weights"));
        weight.rows = dims[1];
        weight.columns = dims[2];
      }
      found.push_back(weight);
    }
  }
  return found;
}

StatusOr<Tensor> RunRecurrent(KernelContext& ctx, const RecurrentLayers& layers, const RecurrentData& data,
                              RecurrentDropout& dropout, bool training, const RecurrentTensors& t) {
  WEIR_ASSIGN_OR_RETURN(auto call, LayersCall::Start(ctx, layers, dropout));
  WEIR_RETURN_IF_ERROR(call->MakeData(data));
  WEIR_ASSIGN_OR_RETURN(const size_t weight_bytes, call->WeightBytes());
  size_t workspace_bytes = 0, reserve_bytes = 0;
  WEIR_RETURN_IF_ERROR(call->Sizes(training, &workspace_bytes, &reserve_bytes));
  WEIR_ASSIGN_OR_RETURN(Tensor workspace, AllocateBytes(ctx, workspace_bytes));
  Tensor reserve;
  if (training) {
    // A whole number of elements, so that an op can hand it on as a tensor of its type.
    const size_t element = SizeOf(layers.dtype);
    WEIR_ASSIGN_OR_RETURN(reserve, AllocateBytes(ctx, (reserve_bytes + element - 1) / element * element));
  }
  RunOf(ctx).NoteWork();
  absl::MutexLock lock(&call->mutex());
  WEIR_RETURN_IF_ERROR(call->Enter());
  WEIR_RETURN_IF_ERROR(CheckRnn(
      call->functions().RNNForward(call->handle(), call->rnn(), training ? kCudnnTraining : kCudnnInference, nullptr,
                                   call->x(), PointerTo(t.x), call->y(), PointerTo(t.y), call->state(), PointerTo(t.h),
                                   PointerTo(t.last_h), call->state(), PointerTo(t.c), PointerTo(t.last_c),
                                   weight_bytes, PointerTo(t.weights), workspace_bytes, workspace.raw_data(),
                                   training ? reserve_bytes : 0, training ? reserve.raw_data() : nullptr),
      "recurrent layers"));
  return reserve;
}

Status RunRecurrentBackward(KernelContext& ctx, const RecurrentLayers& layers, const RecurrentData& data,
                            RecurrentDropout& dropout, const RecurrentTensors& t, const Tensor& reserve) {
  WEIR_ASSIGN_OR_RETURN(auto call, LayersCall::Start(ctx, layers, dropout));
  WEIR_RETURN_IF_ERROR(call->MakeData(data));
  WEIR_ASSIGN_OR_RETURN(const size_t weight_bytes, call->WeightBytes());
  size_t workspace_bytes = 0, reserve_bytes = 0;
  WEIR_RETURN_IF_ERROR(call->Sizes(/*training=*/true, &workspace_bytes, &reserve_bytes));
  if (reserve.num_bytes() < reserve_bytes) {
    return InvalidArgument("reserve_space has ", reserve.num_bytes(), " bytes; the layers need ", reserve_bytes);
  }
  WEIR_ASSIGN_OR_RETURN(Tensor workspace, AllocateBytes(ctx, workspace_bytes));
  WEIR_RETURN_IF_ERROR(FillZero(ctx, t.dweights, weight_bytes));  // cuDNN adds to it
  absl::MutexLock lock(&call->mutex());
  WEIR_RETURN_IF_ERROR(call->Enter());
  WEIR_RETURN_IF_ERROR(
      CheckRnn(call->functions().RNNBackwardData_v8(
                   call->handle(), call->rnn(), nullptr, call->y(), PointerTo(t.y), PointerTo(t.dy), call->x(),
                   PointerTo(t.dx), call->state(), PointerTo(t.h), PointerTo(t.last_dh), PointerTo(t.dh), call->state(),
                   PointerTo(t.c), PointerTo(t.last_dc), PointerTo(t.dc), weight_bytes, PointerTo(t.weights),
                   workspace_bytes, workspace.raw_data(), reserve_bytes, PointerTo(Address(reserve))),
               "the gradient of recurrent layers"));
  return CheckRnn(call->functions().RNNBackwardWeights_v8(
                      call->handle(), call->rnn(), kCudnnWeightGradientAdd, nullptr, call->x(), PointerTo(t.x),
                      call->state(), PointerTo(t.h), call->y(), PointerTo(t.y), weight_bytes, PointerTo(t.dweights),
                      workspace_bytes, workspace.raw_data(), reserve_bytes, PointerTo(Address(reserve))),
                  "the gradient of recurrent layers");
}

}  // namespace weir::cuda
