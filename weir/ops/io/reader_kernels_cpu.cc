// The kernels of readers, of both kinds of handle.
#include "weir/framework/kernel_registry.h"
#include "weir/framework/resource_node.h"
#include "weir/ops/io/reader.h"
#include "weir/ops/io/reader_sources.h"
#include "weir/ops/io/register.h"

namespace weir {
namespace {

// Makes a source from a node's attributes.
using SourceFactory = StatusOr<std::function<std::unique_ptr<RecordSource>()>> (*)(const KernelInit&);
using SourceMaker = std::function<std::unique_ptr<RecordSource>()>;

class ReaderNode : public ResourceNodeKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init, SourceFactory factory) {
    WEIR_ASSIGN_OR_RETURN(SourceMaker make, factory(init));
    WEIR_ASSIGN_OR_RETURN(ResourceKey key, NodeResourceKey(init, false));
    return std::unique_ptr<Kernel>(new ReaderNode(init, std::move(key), std::move(make)));
  }

 protected:
  StatusOr<std::shared_ptr<Resource>> Create(KernelContext&) override {
    return std::shared_ptr<Resource>(std::make_shared<Reader>(key().name, make_()));
  }

 private:
  ReaderNode(const KernelInit& init, ResourceKey key, SourceMaker make)
      : ResourceNodeKernel(init, std::move(key), Reader::kTypeName), make_(std::move(make)) {}
  const SourceMaker make_;
};

StatusOr<SourceMaker> Identity(const KernelInit&) { return SourceMaker(MakeIdentitySource); }
StatusOr<SourceMaker> WholeFile(const KernelInit&) { return SourceMaker(MakeWholeFileSource); }
StatusOr<SourceMaker> TextLine(const KernelInit& init) {
  WEIR_ASSIGN_OR_RETURN(int64_t skip, init.Attr<int64_t>("skip_header_lines"));
  if (skip < 0) return InvalidArgument("skip_header_lines must be >= 0 not ", skip);
  return SourceMaker([skip] { return MakeTextLineSource(skip); });
}
StatusOr<SourceMaker> RecordFile(const KernelInit& init) {
  WEIR_ASSIGN_OR_RETURN(std::string name, init.Attr<std::string>("compression_type"));
  WEIR_ASSIGN_OR_RETURN(Compression compression, ParseCompression(name));
  return SourceMaker([compression] { return MakeRecordFileSource(compression); });
}
StatusOr<SourceMaker> FixedLength(const KernelInit& init) {
  FixedLengthLayout layout;
  WEIR_ASSIGN_OR_RETURN(layout.header_bytes, init.Attr<int64_t>("header_bytes"));
  WEIR_ASSIGN_OR_RETURN(layout.record_bytes, init.Attr<int64_t>("record_bytes"));
  WEIR_ASSIGN_OR_RETURN(layout.footer_bytes, init.Attr<int64_t>("footer_bytes"));
  WEIR_ASSIGN_OR_RETURN(layout.hop_bytes, init.Attr<int64_t>("hop_bytes"));
  if (layout.header_bytes < 0) return InvalidArgument("header_bytes must be >= 0 not ", layout.header_bytes);
  if (layout.record_bytes <= 0) return InvalidArgument("record_bytes must be > 0 not ", layout.record_bytes);
  if (layout.footer_bytes < 0) return InvalidArgument("footer_bytes must be >= 0 not ", layout.footer_bytes);
  if (layout.hop_bytes < 0) return InvalidArgument("hop_bytes must be >= 0 not ", layout.hop_bytes);
  if (!CheckedAdd(layout.record_bytes, layout.footer_bytes)) return InvalidArgument("record_bytes is too large");
  // Another name than these means no compression, as it does to TensorFlow.
  Compression compression = Compression::kNone;
  if (init.HasAttr("encoding")) {
    WEIR_ASSIGN_OR_RETURN(std::string encoding, init.Attr<std::string>("encoding"));
    if (encoding == "ZLIB") compression = Compression::kZlib;
    if (encoding == "GZIP") compression = Compression::kGzip;
  }
  return SourceMaker([layout, compression] { return MakeFixedLengthSource(layout, compression); });
}

// ReaderRead and ReaderReadUpTo.
class ReadKernel : public AsyncKernel {
 public:
  void ComputeAsync(KernelContext& ctx, Completion done) override {
    auto reader = FindByHandle<Reader>(ctx, 0);
    if (!reader.ok()) return done(reader.status());
    auto queue = FindByHandle<Queue>(ctx, 1);
    if (!queue.ok()) return done(queue.status());
    const bool many = ctx.num_inputs() == 3;
    int64_t count = 1;
    if (many) {
      if (ctx.input(2).num_elements() != 1) {
        return done(InvalidArgument("num_records must be a scalar, got shape: ", ctx.input(2).shape().ToString()));
      }
      count = ctx.input(2).scalar<int64_t>();
      if (count <= 0) return done(InvalidArgument("num_records must be positive, got: ", count));
    }
    (*reader)->Read(*queue, count, ctx.cancellation(), ctx.step().runner,
                    [&ctx, many, reader = *reader, done = std::move(done)](auto records) mutable {
                      if (!records.ok()) return done(records.status());
                      done(Put(ctx, many, *std::move(records)));
                    });
  }

 private:
  static Status Put(KernelContext& ctx, bool many, std::vector<ReadRecord> records) {
    const Shape shape = many ? Shape({static_cast<int64_t>(records.size())}) : Shape();
    WEIR_ASSIGN_OR_RETURN(Tensor * keys, ctx.AllocateOutput(0, shape));
    WEIR_ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(1, shape));
    for (size_t i = 0; i < records.size(); ++i) {
      keys->data<std::string>()[i] = std::move(records[i].key);
      values->data<std::string>()[i] = std::move(records[i].value);
    }
    return OkStatus();
  }
};

// What a node does with a reader without waiting.
using ReaderAction = Status (*)(KernelContext&, Reader&);

class ReaderActionKernel : public Kernel {
 public:
  explicit ReaderActionKernel(ReaderAction action) : action_(action) {}
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Reader> reader, FindByHandle<Reader>(ctx, 0));
    return action_(ctx, *reader);
  }

 private:
  const ReaderAction action_;
};

Status RecordsProduced(KernelContext& ctx, Reader& reader) {
  ctx.set_output(0, Tensor::Scalar<int64_t>(reader.records_produced()));
  return OkStatus();
}
Status WorkUnitsCompleted(KernelContext& ctx, Reader& reader) {
  ctx.set_output(0, Tensor::Scalar<int64_t>(reader.work_units_completed()));
  return OkStatus();
}
Status Reset(KernelContext&, Reader& reader) {
  reader.Reset();
  return OkStatus();
}
Status SerializeState(KernelContext& ctx, Reader& reader) {
  WEIR_ASSIGN_OR_RETURN(std::string state, reader.SerializeState());
  ctx.set_output(0, Tensor::Scalar(std::move(state)));
  return OkStatus();
}
Status RestoreState(KernelContext& ctx, Reader& reader) {
  const Tensor& state = ctx.input(1);
  if (!state.shape().IsScalar()) {
    return InvalidArgument("Reader state must be scalar, but had shape: ", state.shape().ToString());
  }
  return reader.RestoreState(state.scalar<std::string>());
}

}  // namespace

void RegisterReaderKernels(KernelRegistry& registry) {
  const std::pair<const char*, SourceFactory> nodes[] = {{"IdentityReader", Identity},
                                                         {"WholeFileReader", WholeFile},
                                                         {"TextLineReader", TextLine},
                                                         {"TFRecordReader", RecordFile},
                                                         {"FixedLengthRecordReader", FixedLength}};
  const std::pair<const char*, ReaderAction> actions[] = {{"ReaderNumRecordsProduced", RecordsProduced},
                                                          {"ReaderNumWorkUnitsCompleted", WorkUnitsCompleted},
                                                          {"ReaderReset", Reset},
                                                          {"ReaderSerializeState", SerializeState},
                                                          {"ReaderRestoreState", RestoreState}};
  for (const char* version : {"", "V2"}) {
    for (const auto& [op, factory] : nodes) {
      registry.Add(KernelBuilder(Cat(op, version)),
                   [factory = factory](const KernelInit& init) { return ReaderNode::Make(init, factory); });
    }
    for (const auto& [op, action] : actions) {
      registry.Add(KernelBuilder(Cat(op, version)), [action = action](const KernelInit&) {
        return StatusOr<std::unique_ptr<Kernel>>(std::make_unique<ReaderActionKernel>(action));
      });
    }
    for (const char* op : {"ReaderRead", "ReaderReadUpTo"}) {
      registry.Add(KernelBuilder(Cat(op, version)), MakeKernel<ReadKernel>);
    }
  }
}

}  // namespace weir
