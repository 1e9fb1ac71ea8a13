// The CudnnRNN family: recurrent layers whose weights are one vector in cuDNN's own order.
#include <algorithm>

#include "weir/device/cpu/index_input.h"
#include "weir/device/cpu/strided_copy.h"
#include "weir/device/cuda/rnn.h"
#include "weir/ops/nn/cuda/register.h"

namespace weir::cuda {
namespace {

struct RnnAttrs {
  RecurrentLayers layers;  // without sizes
  bool selects_input = false;
  bool time_major = true;

  static StatusOr<RnnAttrs> Read(const KernelInit& init) {
    RnnAttrs attrs;
    WEIR_ASSIGN_OR_RETURN(std::string mode, init.Attr<std::string>("rnn_mode"));
    WEIR_ASSIGN_OR_RETURN(std::string input_mode, init.Attr<std::string>("input_mode"));
    WEIR_ASSIGN_OR_RETURN(std::string direction, init.Attr<std::string>("direction"));
    WEIR_ASSIGN_OR_RETURN(attrs.layers.dtype, init.Attr<DType>("T"));
    WEIR_ASSIGN_OR_RETURN(attrs.layers.dropout, init.Attr<float>("dropout"));
    WEIR_ASSIGN_OR_RETURN(const int64_t seed, init.Attr<int64_t>("seed"));
    WEIR_ASSIGN_OR_RETURN(const int64_t seed2, init.Attr<int64_t>("seed2"));
    attrs.layers.seed = static_cast<uint64_t>(seed) << 32 | static_cast<uint32_t>(seed2);
    attrs.layers.mode = mode == "lstm"       ? kCudnnLstm
                        : mode == "gru"      ? kCudnnGru
                        : mode == "rnn_tanh" ? kCudnnRnnTanh
                                             : kCudnnRnnRelu;
    attrs.layers.skips_input = input_mode == "skip_input";
    attrs.selects_input = input_mode == "auto_select";
    attrs.layers.bidirectional = direction == "bidirectional";
    if (init.HasAttr("num_proj")) {
      WEIR_ASSIGN_OR_RETURN(const int64_t projection, init.Attr<int64_t>("num_proj"));
      if (projection != 0) return Unimplemented(init.schema().name, " with a projection of ", projection, " units");
    }
    if (init.HasAttr("time_major")) {
      WEIR_ASSIGN_OR_RETURN(attrs.time_major, init.Attr<bool>("time_major"));
    }
    return attrs;
  }

  RecurrentLayers WithSizes(int64_t input_size, int64_t hidden, int64_t num_layers) const {
    RecurrentLayers out = layers;
    out.input_size = input_size;
    out.hidden = hidden;
    out.layers = num_layers;
    if (selects_input) out.skips_input = input_size == hidden;
    return out;
  }
  // From the scalars num_layers, num_units and input_size, the first three inputs.
  StatusOr<RecurrentLayers> FromInputs(const KernelContext& ctx) const {
    int64_t sizes[3];
    for (int i = 0; i < 3; ++i) {
      const std::string& name = ctx.node().schema->inputs[i].name;
      if (!ctx.input(i).shape().IsScalar()) return InvalidArgument(name, " is not a scalar");
      WEIR_ASSIGN_OR_RETURN(sizes[i], IntScalar(ctx.input(i), name));
      if (sizes[i] <= 0) return InvalidArgument(name, " must be positive, got ", sizes[i]);
    }
    return WithSizes(sizes[2], sizes[1], sizes[0]);
  }
};

// Layers and data of a forward op, or of the forward op of a gradient: input, input_h, input_c, params, and the lengths
// of the third version.
struct RnnProblem {
  RecurrentLayers layers;
  RecurrentData data;
  Shape output, state;
};

StatusOr<RnnProblem> ReadProblem(const KernelContext& ctx, const RnnAttrs& attrs, int lengths_input) {
  const Shape &input = ctx.input(0).shape(), &h = ctx.input(1).shape();
  if (input.rank() != 3) return InvalidArgument("RNN input must be a 3-D vector.");
  if (h.rank() != 3) return InvalidArgument("input_h must be a 3-D vector.");
  RnnProblem problem;
  const int64_t directions = attrs.layers.directions();
  const int time_at = attrs.time_major ? 0 : 1;
  problem.data.time_major = attrs.time_major;
  problem.data.time = input.dim(time_at);
  problem.data.batch = input.dim(1 - time_at);
  // The state of batch-major data is [batch, layers, units]: cuDNN wants the layers first.
  const int layers_at = attrs.time_major ? 0 : 1;
  if (h.dim(layers_at) % directions != 0) {
    return InvalidArgument("input_h must have a state for each direction: ", h.ToString());
  }
  problem.layers = attrs.WithSizes(input.dim(2), h.dim(2), h.dim(layers_at) / directions);
  if (h.dim(1 - layers_at) != problem.data.batch) {
    return InvalidArgument("Invalid input_h shape: ", h.ToString(), " for a batch of ", problem.data.batch);
  }
  if (attrs.layers.mode == kCudnnLstm && ctx.input(2).shape() != h) {
    return InvalidArgument("input_h and input_c must have the same shape: ", h.ToString(), " ",
                           ctx.input(2).shape().ToString());
  }
  if (lengths_input >= 0) {
    const Tensor& lengths = ctx.input(lengths_input);
    if (!lengths.shape().IsVector() || lengths.dim(0) != problem.data.batch) {
      return InvalidArgument("sequence_lengths must be a vector of ", problem.data.batch, " lengths, got shape ",
                             lengths.shape().ToString());
    }
    for (int32_t length : lengths.span<int32_t>()) {
      if (length < 0 || length > problem.data.time) {
        return InvalidArgument("sequence_lengths must be in [0, ", problem.data.time, "], got ", length);
      }
      problem.data.lengths.push_back(length);
    }
  } else {
    problem.data.lengths.assign(static_cast<size_t>(problem.data.batch), static_cast<int>(problem.data.time));
  }
  problem.state = h;
  problem.output = input;
  WEIR_RETURN_IF_ERROR(problem.output.SetDim(2, problem.layers.hidden * directions));
  if (input.num_elements() == 0 || h.num_elements() == 0) {
    return Unimplemented("Recurrent layers over empty inputs: ", input.ToString(), ", ", h.ToString());
  }
  return problem;
}

Status CheckParams(KernelContext& ctx, const RnnProblem& problem, RecurrentDropout& dropout, int64_t bytes_given) {
  WEIR_ASSIGN_OR_RETURN(const int64_t bytes, RecurrentWeightBytes(ctx, problem.layers, dropout));
  if (bytes_given >= bytes) return OkStatus();
  const auto element = static_cast<int64_t>(SizeOf(problem.layers.dtype));
  return InvalidArgument("params has ", bytes_given / element, " elements; the layers need ", bytes / element);
}

// A state as cuDNN has it, [layers, batch, units], and back. Nothing to do for time-major data.
StatusOr<Tensor> LayersFirst(KernelContext& ctx, const RnnProblem& problem, const Tensor& state) {
  if (problem.data.time_major) return state;
  const Shape& s = state.shape();
  WEIR_ASSIGN_OR_RETURN(Tensor moved, ctx.AllocateTemp(state.dtype(), Shape({s.dim(1), s.dim(0), s.dim(2)})));
  const int64_t dims[] = {s.dim(1), s.dim(0), s.dim(2)}, from[] = {s.dim(2), s.dim(1) * s.dim(2), 1};
  const int64_t to[] = {s.dim(0) * s.dim(2), s.dim(2), 1};
  WEIR_RETURN_IF_ERROR(StridedCopy(ctx, state.dtype(), dims, state.raw_data(), from, moved.raw_data(), to));
  return moved;
}
StatusOr<Tensor> RoomForState(KernelContext& ctx, const RnnProblem& problem, const Tensor& out) {
  if (problem.data.time_major) return out;
  const Shape& s = out.shape();
  return ctx.AllocateTemp(out.dtype(), Shape({s.dim(1), s.dim(0), s.dim(2)}));
}
Status BatchFirst(KernelContext& ctx, const RnnProblem& problem, const Tensor& made, Tensor& out) {
  if (problem.data.time_major) return OkStatus();
  const Shape& s = out.shape();
  const int64_t dims[] = {s.dim(0), s.dim(1), s.dim(2)}, from[] = {s.dim(2), s.dim(0) * s.dim(2), 1};
  const int64_t to[] = {s.dim(1) * s.dim(2), s.dim(2), 1};
  return StridedCopy(ctx, out.dtype(), dims, made.raw_data(), from, out.raw_data(), to);
}

class CudnnRnnKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<CudnnRnnKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->attrs_, RnnAttrs::Read(init));
    WEIR_ASSIGN_OR_RETURN(kernel->is_training_, init.Attr<bool>("is_training"));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const bool has_lengths = ctx.num_inputs() > 4, has_c = attrs_.layers.mode == kCudnnLstm;
    WEIR_ASSIGN_OR_RETURN(const RnnProblem problem, ReadProblem(ctx, attrs_, has_lengths ? 4 : -1));
    WEIR_RETURN_IF_ERROR(CheckParams(ctx, problem, dropout_, static_cast<int64_t>(ctx.input(3).num_bytes())));
    WEIR_ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, problem.output));
    WEIR_ASSIGN_OR_RETURN(Tensor * last_h, ctx.AllocateOutput(1, problem.state));
    WEIR_ASSIGN_OR_RETURN(Tensor * last_c, ctx.AllocateOutput(2, has_c ? problem.state : Shape()));
    if (!has_c) WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(*last_c), last_c->num_bytes()));
    if (ctx.num_outputs() > 4) {
      WEIR_ASSIGN_OR_RETURN(Tensor none, ctx.AllocateHost(DType::kInt8, Shape({0})));
      ctx.set_output(4, std::move(none));
    }
    WEIR_ASSIGN_OR_RETURN(const Tensor h, LayersFirst(ctx, problem, ctx.input(1)));
    WEIR_ASSIGN_OR_RETURN(const Tensor made_h, RoomForState(ctx, problem, *last_h));
    Tensor c, made_c;
    if (has_c) {
      WEIR_ASSIGN_OR_RETURN(c, LayersFirst(ctx, problem, ctx.input(2)));
      WEIR_ASSIGN_OR_RETURN(made_c, RoomForState(ctx, problem, *last_c));
    }
    RecurrentTensors tensors;
    tensors.x = Address(ctx.input(0));
    tensors.h = Address(h);
    tensors.weights = Address(ctx.input(3));
    tensors.y = Address(*y);
    tensors.last_h = Address(made_h);
    if (has_c) {
      tensors.c = Address(c);
      tensors.last_c = Address(made_c);
    }
    WEIR_ASSIGN_OR_RETURN(Tensor reserve,
                          RunRecurrent(ctx, problem.layers, problem.data, dropout_, is_training_, tensors));
    WEIR_RETURN_IF_ERROR(BatchFirst(ctx, problem, made_h, *last_h));
    if (has_c) WEIR_RETURN_IF_ERROR(BatchFirst(ctx, problem, made_c, *last_c));
    if (!is_training_) return ctx.AllocateOutput(3, Shape({0})).status();
    const auto elements = static_cast<int64_t>(reserve.num_bytes() / SizeOf(attrs_.layers.dtype));
    WEIR_ASSIGN_OR_RETURN(Tensor kept, reserve.Bitcast(attrs_.layers.dtype, Shape({elements})));
    ctx.set_output(3, std::move(kept));
    return OkStatus();
  }

  bool is_repeatable() const override { return attrs_.layers.dropout == 0; }

 private:
  RnnAttrs attrs_;
  bool is_training_ = true;
  RecurrentDropout dropout_;
};

// Inputs: those of the forward op, its first three outputs, their gradients, and reserve_space.
class CudnnRnnBackpropKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<CudnnRnnBackpropKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->attrs_, RnnAttrs::Read(init));
    kernel->has_lengths_ = init.schema().name.ends_with("V3");
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const bool has_c = attrs_.layers.mode == kCudnnLstm;
    WEIR_ASSIGN_OR_RETURN(const RnnProblem problem, ReadProblem(ctx, attrs_, has_lengths_ ? 4 : -1));
    WEIR_RETURN_IF_ERROR(CheckParams(ctx, problem, dropout_, static_cast<int64_t>(ctx.input(3).num_bytes())));
    const int after = has_lengths_ ? 5 : 4;  // output, output_h, output_c, their gradients, reserve_space
    for (int i : {after, after + 3}) WEIR_RETURN_IF_ERROR(CheckShape(ctx, i, problem.output));
    for (int i : {after + 1, after + 4}) WEIR_RETURN_IF_ERROR(CheckShape(ctx, i, problem.state));
    if (has_c) WEIR_RETURN_IF_ERROR(CheckShape(ctx, after + 5, problem.state));
    WEIR_ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(0, ctx.input(0).shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * dh, ctx.AllocateOutput(1, problem.state));
    WEIR_ASSIGN_OR_RETURN(Tensor * dc, ctx.AllocateOutput(2, has_c ? problem.state : Shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * dweights, ctx.AllocateOutput(3, ctx.input(3).shape()));
    if (!has_c) WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(*dc), dc->num_bytes()));
    WEIR_ASSIGN_OR_RETURN(const Tensor h, LayersFirst(ctx, problem, ctx.input(1)));
    WEIR_ASSIGN_OR_RETURN(const Tensor last_dh, LayersFirst(ctx, problem, ctx.input(after + 4)));
    WEIR_ASSIGN_OR_RETURN(const Tensor made_dh, RoomForState(ctx, problem, *dh));
    RecurrentTensors tensors;
    Tensor c, last_dc, made_dc;
    if (has_c) {
      WEIR_ASSIGN_OR_RETURN(c, LayersFirst(ctx, problem, ctx.input(2)));
      WEIR_ASSIGN_OR_RETURN(last_dc, LayersFirst(ctx, problem, ctx.input(after + 5)));
      WEIR_ASSIGN_OR_RETURN(made_dc, RoomForState(ctx, problem, *dc));
      tensors.c = Address(c);
      tensors.last_dc = Address(last_dc);
      tensors.dc = Address(made_dc);
    }
    tensors.x = Address(ctx.input(0));
    tensors.h = Address(h);
    tensors.weights = Address(ctx.input(3));
    tensors.y = Address(ctx.input(after));
    tensors.dy = Address(ctx.input(after + 3));
    tensors.last_dh = Address(last_dh);
    tensors.dx = Address(*dx);
    tensors.dh = Address(made_dh);
    tensors.dweights = Address(*dweights);
    WEIR_RETURN_IF_ERROR(
        RunRecurrentBackward(ctx, problem.layers, problem.data, dropout_, tensors, ctx.input(after + 6)));
    WEIR_RETURN_IF_ERROR(BatchFirst(ctx, problem, made_dh, *dh));
    return has_c ? BatchFirst(ctx, problem, made_dc, *dc) : OkStatus();
  }

  bool is_repeatable() const override { return attrs_.layers.dropout == 0; }

 private:
  static Status CheckShape(const KernelContext& ctx, int input, const Shape& shape) {
    if (ctx.input(input).shape() == shape) return OkStatus();
    return InvalidArgument("Invalid ", ctx.node().schema->inputs[input].name,
                           " shape: ", ctx.input(input).shape().ToString(), ", expected ", shape.ToString());
  }

  RnnAttrs attrs_;
  bool has_lengths_ = false;
  RecurrentDropout dropout_;
};

class CudnnRnnParamsSizeKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<CudnnRnnParamsSizeKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->attrs_, RnnAttrs::Read(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const RecurrentLayers layers, attrs_.FromInputs(ctx));
    WEIR_ASSIGN_OR_RETURN(const int64_t bytes, RecurrentWeightBytes(ctx, layers, dropout_));
    const auto size = static_cast<int64_t>(SizeOf(layers.dtype)), elements = (bytes + size - 1) / size;
    WEIR_ASSIGN_OR_RETURN(Tensor out, ctx.AllocateHost(ctx.output_type(0), Shape({1})));
    if (out.dtype() == DType::kInt32) {
      out.data<int32_t>()[0] = static_cast<int32_t>(elements);
    } else {
      out.data<int64_t>()[0] = elements;
    }
    ctx.set_output(0, std::move(out));
    return OkStatus();
  }

  bool is_repeatable() const override { return attrs_.layers.dropout == 0; }

 private:
  RnnAttrs attrs_;
  RecurrentDropout dropout_;
};

// Between cuDNN's vector and a matrix and a bias for each linear layer.
class CudnnRnnCanonicalKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<CudnnRnnCanonicalKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->attrs_, RnnAttrs::Read(init));
    kernel->to_params_ = init.schema().name.starts_with("CudnnRNNCanonicalToParams");
    const bool is_second = init.schema().name.ends_with("V2");
    WEIR_ASSIGN_OR_RETURN(kernel->weights_, init.Attr<int64_t>(is_second ? "num_params_weights" : "num_params"));
    WEIR_ASSIGN_OR_RETURN(kernel->biases_, init.Attr<int64_t>(is_second ? "num_params_biases" : "num_params"));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const RecurrentLayers layers, attrs_.FromInputs(ctx));
    const int64_t expected = layers.layers * layers.directions() * layers.linear_layers();
    if (weights_ != expected || biases_ != expected) {
      return InvalidArgument("Number of params mismatch. Expected ", expected, ", got ", weights_, " weights and ",
                             biases_, " biases");
    }
    WEIR_ASSIGN_OR_RETURN(const int64_t bytes, RecurrentWeightBytes(ctx, layers, dropout_));
    const auto element = static_cast<int64_t>(SizeOf(layers.dtype)), elements = (bytes + element - 1) / element;
    DeviceAddress params = 0;
    if (to_params_) {
      WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({elements})));
      WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(*out), out->num_bytes()));
      params = Address(*out);
    } else {
      if (ctx.input(3).num_elements() < elements) {
        return InvalidArgument("params has ", ctx.input(3).num_elements(), " elements; the layers need ", elements);
      }
      params = Address(ctx.input(3));
    }
    WEIR_ASSIGN_OR_RETURN(const std::vector<RecurrentWeight> found, RecurrentWeights(ctx, layers, dropout_, params));
    for (int i = 0; i < static_cast<int>(found.size()); ++i) {
      const RecurrentWeight& weight = found[static_cast<size_t>(i)];
      WEIR_RETURN_IF_ERROR(Move(ctx, i, Shape({weight.rows, weight.columns}), weight.matrix, params));
      WEIR_RETURN_IF_ERROR(Move(ctx, static_cast<int>(weights_) + i, Shape({weight.rows}), weight.bias, params));
    }
    return OkStatus();
  }

 private:
  // Copies the index-th matrix or bias to or from `offset` of the vector.
  Status Move(KernelContext& ctx, int index, const Shape& shape, int64_t offset, DeviceAddress params) const {
    const size_t element = SizeOf(attrs_.layers.dtype), bytes = static_cast<size_t>(shape.num_elements()) * element;
    const DeviceAddress place = params + static_cast<size_t>(std::max<int64_t>(offset, 0)) * element;
    if (!to_params_) {
      WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(index, shape));
      if (offset < 0) return FillZero(ctx, Address(*out), out->num_bytes());
      return CopyOnDevice(ctx, Address(*out), place, bytes);
    }
    const Tensor& in = ctx.input(3 + index);
    if (in.num_elements() != shape.num_elements()) {
      return InvalidArgument("Parameter ", index, " has shape ", in.shape().ToString(), ", expected ",
                             shape.ToString());
    }
    return offset < 0 ? OkStatus() : CopyOnDevice(ctx, place, Address(in), bytes);
  }

  RnnAttrs attrs_;
  bool to_params_ = false;
  int64_t weights_ = 0, biases_ = 0;
  RecurrentDropout dropout_;
};

}  // namespace

void RegisterCudnnRnnKernels(GpuRegistry& registry) {
  for (const char* version : {"", "V2", "V3"}) {
    registry.Add(Cat("CudnnRNN", version), MakeKernel<CudnnRnnKernel>);
    registry.Add(Cat("CudnnRNNBackprop", version), MakeKernel<CudnnRnnBackpropKernel>);
  }
  for (const char* version : {"", "V2"}) {
    registry.Add(Cat("CudnnRNNCanonicalToParams", version), MakeKernel<CudnnRnnCanonicalKernel>);
    registry.Add(Cat("CudnnRNNParamsToCanonical", version), MakeKernel<CudnnRnnCanonicalKernel>);
  }
  // All of its arguments are in the host's memory, but the host has no kernel for it.
  registry.kernels().Add(OnGpu("CudnnRNNParamsSize")
                             .Types("T", FloatTypes{})
                             .Types("S", TypeList<int32_t>{})
                             .HostMemory("num_layers")
                             .HostMemory("num_units")
                             .HostMemory("input_size")
                             .HostMemory("params_size"),
                         MakeKernel<CudnnRnnParamsSizeKernel>);
}

}  // namespace weir::cuda
