// Collectives between the processes of a job, as operations: they hand their tensor to the process's engine and are
// done when it answers.
#include "weir/collective/engine.h"
#include "weir/collective/engine_access.h"
#include "weir/collective/waiter.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/collective/collective_kernel.h"
#include "weir/ops/collective/register.h"

namespace weir {
namespace {

using collective::AllReduceOptions;
using collective::Answer;
using collective::ExchangeOptions;
using collective::RequestKind;
using ReduceTypes = TypeList<BFloat16, float, Half, double, int32_t, int64_t>;
using Take = std::function<Status(KernelContext& ctx, Answer& answer)>;

StatusOr<collective::ReduceOp> ParseReduction(std::string_view name) {
  static constexpr std::string_view kNames[] = {"Sum", "Average", "Min", "Max", "Product", "Adasum"};
  for (int i = 0; i < 6; ++i) {
    if (kNames[i] == name) return static_cast<collective::ReduceOp>(i);
  }
  return InvalidArgument("There is no reduction '", name, "'");
}

// What the nodes of this file say.
struct ProcessNode {
  std::string name;
  ExchangeOptions options;
};

StatusOr<ProcessNode> ReadProcessNode(const KernelInit& init) {
  ProcessNode node;
  WEIR_ASSIGN_OR_RETURN(node.name, init.Attr<std::string>("tensor_name"));
  if (node.name.empty()) node.name = init.node_name();
  WEIR_ASSIGN_OR_RETURN(int64_t set, init.Attr<int64_t>("process_set"));
  AllReduceOptions& reduce = node.options.reduce;
  reduce.set = static_cast<int>(set);
  if (init.HasAttr("reduction")) {
    WEIR_ASSIGN_OR_RETURN(std::string reduction, init.Attr<std::string>("reduction"));
    WEIR_ASSIGN_OR_RETURN(reduce.op, ParseReduction(reduction));
    WEIR_ASSIGN_OR_RETURN(float prescale, init.Attr<float>("prescale"));
    WEIR_ASSIGN_OR_RETURN(float postscale, init.Attr<float>("postscale"));
    reduce.prescale = static_cast<double>(prescale);
    reduce.postscale = static_cast<double>(postscale);
  }
  if (init.HasAttr("compression")) {
    WEIR_ASSIGN_OR_RETURN(std::string compression, init.Attr<std::string>("compression"));
    if (compression == "half") reduce.compression = collective::Compression::kHalf;
    if (compression == "int8") reduce.compression = collective::Compression::kInt8;
  }
  if (init.HasAttr("root")) {
    WEIR_ASSIGN_OR_RETURN(int64_t root, init.Attr<int64_t>("root"));
    node.options.root = static_cast<int>(root);
  }
  return node;
}

// A callback for the engine. If the step is cancelled first, the node ends without its answer; the other ranks get
// theirs.
std::function<void(StatusOr<Answer>)> WhenAnswered(KernelContext& ctx, Completion done, Take take) {
  auto completion = std::make_shared<Completion>(std::move(done));
  auto waiter = Waiter<Answer>::Make(
      &ctx.cancellation(), [] {},
      [&ctx, completion, take = std::move(take)](StatusOr<Answer> answer) {
        (*completion)(answer.ok() ? take(ctx, *answer) : answer.status());
      });
  return [waiter](StatusOr<Answer> answer) {
    if (waiter->Claim()) waiter->Answer(std::move(answer));
  };
}

// The tensors of the node, if they are in a device's memory.
collective::DevicePlace PlaceOf(KernelContext& ctx) {
  collective::DevicePlace place;
  const StepContext& step = ctx.step();
  auto* const chunks = dynamic_cast<ChunkDevice*>(&ctx.device());
  if (ctx.device().is_host() || step.device_run == nullptr || chunks == nullptr) return place;
  place.home = &ctx.device();
  place.arithmetic = chunks->ChunksOf(*step.device_run);
  place.deterministic = step.deterministic;
  return place;
}

Status TakeFirst(KernelContext& ctx, Answer& answer) {
  ctx.set_output(0, std::move(answer.values[0]));
  return OkStatus();
}

Status TakeAll(KernelContext& ctx, Answer& answer) {
  for (size_t i = 0; i < answer.values.size(); ++i) ctx.set_output(static_cast<int>(i), std::move(answer.values[i]));
  return OkStatus();
}

template <RequestKind kKind>
class ProcessKernel : public AsyncKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<ProcessKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->node_, ReadProcessNode(init));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  void ComputeAsync(KernelContext& ctx, Completion done) override {
    if constexpr (kKind == RequestKind::kAllReduce) {
      std::vector<Tensor> values;
      for (int i = 0; i < ctx.num_inputs(); ++i) values.push_back(ctx.input(i));
      collective::StartAllReduce(node_.name, values, node_.options.reduce, PlaceOf(ctx),
                                 WhenAnswered(ctx, std::move(done), TakeAll));
    } else if constexpr (kKind == RequestKind::kAllToAll) {
      const Tensor& splits = ctx.input(1);
      if (splits.rank() != 1) return done(InvalidArgument("The splits must be a vector"));
      ExchangeOptions options = node_.options;
      options.splits.assign(splits.data<int64_t>(), splits.data<int64_t>() + splits.num_elements());
      collective::StartExchange(kKind, node_.name, ctx.input(0), options, PlaceOf(ctx),
                                WhenAnswered(ctx, std::move(done), [](KernelContext& at, Answer& answer) {
                                  at.set_output(
                                      1, Tensor::Vector<int64_t>(std::span<const int64_t>(answer.received_splits)));
                                  return TakeFirst(at, answer);
                                }));
    } else {
      collective::StartExchange(kKind, node_.name, ctx.input(0), node_.options, PlaceOf(ctx),
                                WhenAnswered(ctx, std::move(done), TakeFirst));
    }
  }

 private:
  ProcessNode node_;
};

// The sum of all ranks' gradients; of it the rows that this rank gave. How many rows the ranks before it gave is asked
// under a name of its own.
class GatherGradientKernel : public AsyncKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GatherGradientKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->node_, ReadProcessNode(init));
    kernel->node_.options.reduce.op = collective::ReduceOp::kSum;
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  void ComputeAsync(KernelContext& ctx, Completion done) override {
    const Tensor gradient = ctx.input(0);
    if (ctx.input(1).rank() < 1) return done(InvalidArgument("rows were gathered, but the input is a scalar"));
    const int64_t rows = ctx.input(1).dim(0);
    auto answer = WhenAnswered(ctx, std::move(done), TakeFirst);
    const ProcessNode node = node_;
    collective::StartExchange(
        RequestKind::kAllGather, node.name + "/rows", Tensor::Vector<int64_t>({rows}), node.options, {},
        [=](StatusOr<Answer> counts) {
          if (!counts.ok()) return answer(counts.status());
          const auto engine = collective::FindEngine();
          if (engine == nullptr) return answer(Cancelled("the collectives were shut down"));
          const std::vector<int> ranks = engine->RanksOf(node.options.reduce.set);
          int64_t begin = 0;
          for (size_t i = 0; i < ranks.size() && ranks[i] != engine->rank(); ++i) {
            begin += counts->values[0].data<int64_t>()[i];
          }
          collective::StartAllReduce(node.name, {gradient}, node.options.reduce, {}, [=](StatusOr<Answer> sum) {
            if (!sum.ok()) return answer(sum.status());
            Tensor& whole = sum->values[0];
            if (whole.rank() < 1 || whole.dim(0) < begin + rows) {
              return answer(InvalidArgument("the gradient has fewer rows than were gathered"));
            }
            StatusOr<Tensor> own = whole.Slice(begin, begin + rows).Clone();
            if (!own.ok()) return answer(own.status());
            Answer result;
            result.values = {*std::move(own)};
            answer(std::move(result));
          });
        });
  }

 private:
  ProcessNode node_;
};

// The sum of all ranks' gradients at the root, zeros elsewhere.
class BroadcastGradientKernel : public AsyncKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<BroadcastGradientKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->node_, ReadProcessNode(init));
    kernel->node_.options.reduce.op = collective::ReduceOp::kSum;
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  void ComputeAsync(KernelContext& ctx, Completion done) override {
    const ProcessNode& node = node_;
    collective::StartAllReduce(node.name, {ctx.input(0)}, node.options.reduce, {},
                               WhenAnswered(ctx, std::move(done), [&node](KernelContext& at, Answer& answer) -> Status {
                                 const auto engine = collective::FindEngine();
                                 const std::vector<int> ranks =
                                     engine != nullptr ? engine->RanksOf(node.options.reduce.set) : std::vector<int>();
                                 const size_t root = static_cast<size_t>(node.options.root);
                                 if (root < ranks.size() && ranks[root] == engine->rank()) return TakeFirst(at, answer);
                                 WEIR_ASSIGN_OR_RETURN(
                                     Tensor zeros, Tensor::Zeros(answer.values[0].dtype(), answer.values[0].shape()));
                                 at.set_output(0, std::move(zeros));
                                 return OkStatus();
                               }));
  }

 private:
  ProcessNode node_;
};

class ProcessSizeKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<ProcessSizeKernel>();
    WEIR_ASSIGN_OR_RETURN(int64_t set, init.Attr<int64_t>("process_set"));
    kernel->set_ = static_cast<int>(set);
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(KernelContext& ctx) override {
    const auto engine = collective::FindEngine();
    if (engine == nullptr) return FailedPrecondition("weir::collective::Init was not called");
    ctx.set_output(0, Tensor::Scalar<int32_t>(static_cast<int32_t>(engine->RanksOf(set_).size())));
    return OkStatus();
  }

 private:
  int set_ = 0;
};

}  // namespace

void RegisterProcessCollectiveKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("_ProcessAllReduce").Types("T", ReduceTypes{}),
               ProcessKernel<RequestKind::kAllReduce>::Make);
  registry.Add(KernelBuilder("_ProcessGroupedAllReduce").Types("T", ReduceTypes{}),
               ProcessKernel<RequestKind::kAllReduce>::Make);
  registry.Add(KernelBuilder("_ProcessReduceScatter").Types("T", ReduceTypes{}),
               ProcessKernel<RequestKind::kReduceScatter>::Make);
  registry.Add(KernelBuilder("_ProcessAllGather"), ProcessKernel<RequestKind::kAllGather>::Make);
  registry.Add(KernelBuilder("_ProcessBroadcast"), ProcessKernel<RequestKind::kBroadcast>::Make);
  registry.Add(KernelBuilder("_ProcessAllToAll").HostMemory("splits").HostMemory("received_splits"),
               ProcessKernel<RequestKind::kAllToAll>::Make);
  registry.Add(KernelBuilder("_ProcessAllGatherGrad").Types("T", ReduceTypes{}), GatherGradientKernel::Make);
  registry.Add(KernelBuilder("_ProcessBroadcastGrad").Types("T", ReduceTypes{}), BroadcastGradientKernel::Make);
  registry.Add(KernelBuilder("_ProcessSize"), ProcessSizeKernel::Make);
}

}  // namespace weir
