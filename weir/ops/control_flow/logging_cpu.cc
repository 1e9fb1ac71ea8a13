// Assert, Print, PrintV2, Timestamp, Abort-like: what looks at values or the outside.
#include <atomic>
#include <cstdio>

#include "absl/time/clock.h"
#include "weir/framework/kernel_registry.h"
#include "weir/io/file_system.h"
#include "weir/ops/control_flow/register.h"

namespace weir {
namespace {

class AssertKernel : public Kernel {
 public:
  explicit AssertKernel(int64_t summarize) : summarize_(summarize) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(int64_t summarize, init.Attr<int64_t>("summarize"));
    return std::unique_ptr<Kernel>(std::make_unique<AssertKernel>(summarize));
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor& condition = ctx.input(0);
    if (condition.rank() != 0) return InvalidArgument("In[0] should be a scalar: ", condition.shape().ToString());
    if (condition.scalar<bool>()) return OkStatus();
    std::string message = "assertion failed: ";
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      message += Cat(i > 1 ? " " : "", "[", ctx.input(i).SummarizeValues(summarize_), "]");
    }
    return InvalidArgument(message);
  }
  bool is_expensive() const override { return false; }

 private:
  const int64_t summarize_;
};

class PrintKernel : public Kernel {
 public:
  PrintKernel(std::string message, int64_t first_n, int64_t summarize)
      : message_(std::move(message)), first_n_(first_n), summarize_(summarize) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(std::string message, init.Attr<std::string>("message"));
    WEIR_ASSIGN_OR_RETURN(int64_t first_n, init.Attr<int64_t>("first_n"));
    WEIR_ASSIGN_OR_RETURN(int64_t summarize, init.Attr<int64_t>("summarize"));
    return std::unique_ptr<Kernel>(std::make_unique<PrintKernel>(std::move(message), first_n, summarize));
  }
  Status Compute(KernelContext& ctx) override {
    if (first_n_ < 0 || calls_.fetch_add(1, std::memory_order_relaxed) < first_n_) {
      std::string line = message_;
      for (int i = 1; i < ctx.num_inputs(); ++i) line += Cat("[", ctx.input(i).SummarizeValues(summarize_), "]");
      line += "\n";
      std::fwrite(line.data(), 1, line.size(), stderr);
    }
    ctx.set_output(0, ctx.TakeInput(0));
    return OkStatus();
  }

 private:
  const std::string message_;
  const int64_t first_n_;
  const int64_t summarize_;
  std::atomic<int64_t> calls_{0};
};

class PrintV2Kernel : public Kernel {
 public:
  PrintV2Kernel(std::string stream, std::string end) : stream_(std::move(stream)), end_(std::move(end)) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(std::string stream, init.Attr<std::string>("output_stream"));
    WEIR_ASSIGN_OR_RETURN(std::string end, init.Attr<std::string>("end"));
    static constexpr std::string_view kStreams[] = {"stdout", "stderr", "log(info)", "log(warning)", "log(error)"};
    bool known = stream.starts_with("file://");
    for (std::string_view name : kStreams) known |= stream == name;
    if (!known) {
      return InvalidArgument("Unknown output stream: ", stream,
                             ", Valid streams are: stdout, stderr, log(info), log(warning), log(error)");
    }
    return std::unique_ptr<Kernel>(std::make_unique<PrintV2Kernel>(std::move(stream), std::move(end)));
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.rank() != 0) return InvalidArgument("Input is expected to be scalar, but got ", input.shape().ToString());
    std::string text = input.scalar<std::string>() + end_;
    if (stream_.starts_with("file://")) {
      WEIR_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, OpenForWriting(stream_, WriteMode::kAppend));
      WEIR_RETURN_IF_ERROR(file->Append(text));
      return file->Close();
    }
    FILE* out = stream_ == "stdout" ? stdout : stderr;
    std::fwrite(text.data(), 1, text.size(), out);
    std::fflush(out);
    return OkStatus();
  }

 private:
  const std::string stream_;
  const std::string end_;
};

class TimestampKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    ctx.set_output(0, Tensor::Scalar<double>(static_cast<double>(absl::GetCurrentTimeNanos()) / 1e9));
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

}  // namespace

void RegisterLoggingKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("Assert"), MakeKernel<AssertKernel>);
  registry.Add(KernelBuilder("Print"), MakeKernel<PrintKernel>);
  registry.Add(KernelBuilder("PrintV2"), MakeKernel<PrintV2Kernel>);
  registry.Add(KernelBuilder("Timestamp"), MakeKernel<TimestampKernel>);
}

void RegisterControlFlowKernels(KernelRegistry& registry) {
  RegisterFunctionalKernels(registry);
  RegisterLoggingKernels(registry);
  RegisterRemoteCallKernels(registry);
}

}  // namespace weir
