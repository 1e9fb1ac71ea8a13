#include "weir/client/data/dataset.h"

#include "weir/client/eager/ops/data_ops.h"
#include "weir/client/eager_execute.h"
#include "weir/client/tracer_internal.h"

namespace weir::data {
namespace {

std::vector<ArgumentSpec> Arguments(const ElementSpec& spec) {
  std::vector<ArgumentSpec> out;
  for (size_t i = 0; i < spec.types.size(); ++i) out.push_back({spec.types[i], spec.shapes[i]});
  return out;
}

// `shape` with one more dimension in front.
PartialShape Batched(int64_t size, const PartialShape& shape) {
  if (!shape.has_rank()) return PartialShape();
  PartialShape out({size});
  for (int64_t dim : shape.dims()) out.add_dim(dim);
  return out;
}

PartialShape Row(const PartialShape& shape) {
  if (!shape.has_rank() || shape.rank() < 1) return PartialShape();
  return *PartialShape::Make(shape.dims().subspan(1));
}

ElementSpec BatchedSpec(const ElementSpec& spec, int64_t size, bool drop_remainder) {
  ElementSpec out = spec;
  for (PartialShape& shape : out.shapes) shape = Batched(drop_remainder ? size : -1, shape);
  return out;
}

// What two datasets promise both.
StatusOr<ElementSpec> Common(const ElementSpec& a, const ElementSpec& b) {
  if (a.types != b.types) return InvalidArgument("the datasets' elements have different types");
  ElementSpec out = a;
  for (size_t i = 0; i < a.shapes.size(); ++i) {
    if (!a.shapes[i].has_rank() || !b.shapes[i].has_rank() || a.shapes[i].rank() != b.shapes[i].rank()) {
      out.shapes[i] = PartialShape();
      continue;
    }
    for (int d = 0; d < a.shapes[i].rank(); ++d) {
      if (a.shapes[i].dim(d) != b.shapes[i].dim(d)) out.shapes[i].set_dim(d, PartialShape::kUnknown);
    }
  }
  return out;
}

// Inside a function that is traced it may use that function's tensors.
StatusOr<TracedFunction> Trace(const char* name, const ElementSpec& spec, const MapFunction& function) {
  return TraceFunction(name, Arguments(spec), function, TracedScope());
}

// A function from elements to a dataset, and what its datasets give.
struct DatasetFunction {
  TracedFunction traced;
  ElementSpec spec;
};
StatusOr<DatasetFunction> TraceDatasetFunction(const char* name, const ElementSpec& spec,
                                               const std::function<Dataset(const EagerTensors&)>& function) {
  DatasetFunction out;
  WEIR_ASSIGN_OR_RETURN(out.traced, Trace(name, spec, [&](const EagerTensors& element) {
                          Dataset dataset = function(element);
                          out.spec = dataset.spec();
                          return EagerTensors{dataset.handle()};
                        }));
  return out;
}

Dataset FileDataset(EagerTensor handle) {
  return Dataset(std::move(handle), {{DType::kString}, {PartialShape(Shape())}});
}

}  // namespace

Status Dataset::status() const {
  if (handle_.has_value()) return OkStatus();
  return handle_.ok() ? FailedPrecondition("the dataset was never set") : handle_.status();
}

Dataset Dataset::Failed(Status error) const { return Dataset(EagerTensor::Error(std::move(error)), spec_); }

StatusOr<int64_t> Dataset::Cardinality() const {
  WEIR_RETURN_IF_ERROR(status());
  WEIR_ASSIGN_OR_RETURN(Tensor count, eager::DatasetCardinality(handle_).value());
  return count.scalar<int64_t>();
}

Dataset Dataset::Map(const MapFunction& function, const MapOptions& options) const {
  if (Status error = status(); !error.ok()) return Failed(error);
  StatusOr<TracedFunction> traced = Trace("map", spec_, function);
  if (!traced.ok()) return Failed(traced.status());
  EagerTensor handle =
      options.parallel == 1
          ? eager::MapDataset(handle_, traced->captures, traced->function, traced->types, traced->shapes,
                              {.preserve_cardinality = true})
          : eager::ParallelMapDatasetV2(
                handle_, traced->captures, options.parallel, traced->function, traced->types, traced->shapes,
                {.deterministic = options.deterministic ? "true" : "false", .preserve_cardinality = true});
  return Dataset(std::move(handle), {traced->types, traced->shapes});
}

Dataset Dataset::Filter(const std::function<EagerTensor(const EagerTensors&)>& predicate) const {
  if (Status error = status(); !error.ok()) return Failed(error);
  StatusOr<TracedFunction> traced =
      Trace("filter", spec_, [&](const EagerTensors& element) { return EagerTensors{predicate(element)}; });
  if (!traced.ok()) return Failed(traced.status());
  if (traced->types[0] != DType::kBool)
    return Failed(InvalidArgument("a filter must return a bool, not ", Name(traced->types[0])));
  return Dataset(eager::FilterDataset(handle_, traced->captures, traced->function, spec_.types, spec_.shapes), spec_);
}

Dataset Dataset::Shuffle(int64_t buffer_size, const ShuffleOptions& options) const {
  return Dataset(
      eager::ShuffleDataset(handle_, buffer_size, options.seed, options.seed == 0 ? 0 : 87654321, spec_.types,
                            spec_.shapes, {.reshuffle_each_iteration = options.reshuffle_each_epoch}),
      spec_);
}

Dataset Dataset::Batch(int64_t size, bool drop_remainder) const {
  const ElementSpec spec = BatchedSpec(spec_, size, drop_remainder);
  return Dataset(eager::BatchDatasetV2(handle_, size, drop_remainder, spec.types, spec.shapes), spec);
}

Dataset Dataset::PaddedBatch(int64_t size, const PaddedBatchOptions& options) const {
  if (Status error = status(); !error.ok()) return Failed(error);
  ElementSpec padded = spec_;
  if (!options.shapes.empty()) padded.shapes = options.shapes;
  if (padded.shapes.size() != spec_.shapes.size())
    return Failed(InvalidArgument("PaddedBatch needs one shape for each tensor of an element"));
  EagerTensors shapes, values;
  for (size_t i = 0; i < padded.shapes.size(); ++i) {
    if (!padded.shapes[i].has_rank()) return Failed(InvalidArgument("PaddedBatch needs shapes of known rank"));
    std::vector<int64_t> dims(padded.shapes[i].dims().begin(), padded.shapes[i].dims().end());
    shapes.push_back(EagerTensor(Tensor::Vector<int64_t>(std::span<const int64_t>(dims))));
    StatusOr<Tensor> zero = Tensor::Zeros(spec_.types[i], Shape());
    if (!zero.ok()) return Failed(zero.status());
    values.push_back(EagerTensor(*std::move(zero)));
  }
  const ElementSpec spec = BatchedSpec(padded, size, options.drop_remainder);
  return Dataset(eager::PaddedBatchDatasetV2(handle_, size, shapes, values, options.drop_remainder, spec.shapes), spec);
}

Dataset Dataset::Unbatch() const {
  ElementSpec spec = spec_;
  for (PartialShape& shape : spec.shapes) shape = Row(shape);
  return Dataset(eager::UnbatchDataset(handle_, spec.types, spec.shapes), spec);
}

Dataset Dataset::Repeat(int64_t count) const {
  return Dataset(eager::RepeatDataset(handle_, count, spec_.types, spec_.shapes), spec_);
}
Dataset Dataset::Cache(const std::string& path) const {
  return Dataset(eager::CacheDataset(handle_, path, spec_.types, spec_.shapes), spec_);
}
Dataset Dataset::Prefetch(int64_t count) const {
  return Dataset(eager::PrefetchDataset(handle_, count, spec_.types, spec_.shapes), spec_);
}
Dataset Dataset::Take(int64_t count) const {
  return Dataset(eager::TakeDataset(handle_, count, spec_.types, spec_.shapes), spec_);
}
Dataset Dataset::Skip(int64_t count) const {
  return Dataset(eager::SkipDataset(handle_, count, spec_.types, spec_.shapes), spec_);
}
Dataset Dataset::Shard(int64_t count, int64_t index) const {
  return Dataset(eager::ShardDataset(handle_, count, index, spec_.types, spec_.shapes), spec_);
}

Dataset Dataset::Concatenate(const Dataset& other) const {
  StatusOr<ElementSpec> spec = Common(spec_, other.spec_);
  if (!spec.ok()) return Failed(spec.status());
  return Dataset(eager::ConcatenateDataset(handle_, other.handle_, spec->types, spec->shapes), *spec);
}

Dataset Dataset::Interleave(const std::function<Dataset(const EagerTensors&)>& function,
                            const InterleaveOptions& options) const {
  if (Status error = status(); !error.ok()) return Failed(error);
  StatusOr<DatasetFunction> f = TraceDatasetFunction("interleave", spec_, function);
  if (!f.ok()) return Failed(f.status());
  EagerTensor handle = options.parallel == 1
                           ? eager::InterleaveDataset(handle_, f->traced.captures, options.cycle, options.block,
                                                      f->traced.function, f->spec.types, f->spec.shapes)
                           : eager::ParallelInterleaveDatasetV4(
                                 handle_, f->traced.captures, options.cycle, options.block, -1, -1, options.parallel,
                                 f->traced.function, f->spec.types, f->spec.shapes, {.deterministic = "true"});
  return Dataset(std::move(handle), f->spec);
}

Dataset Dataset::FlatMap(const std::function<Dataset(const EagerTensors&)>& function) const {
  if (Status error = status(); !error.ok()) return Failed(error);
  StatusOr<DatasetFunction> f = TraceDatasetFunction("flat_map", spec_, function);
  if (!f.ok()) return Failed(f.status());
  return Dataset(eager::FlatMapDataset(handle_, f->traced.captures, f->traced.function, f->spec.types, f->spec.shapes),
                 f->spec);
}

Dataset FromTensors(const Tensors& tensors) {
  ElementSpec spec;
  for (const Tensor& tensor : tensors) {
    spec.types.push_back(tensor.dtype());
    spec.shapes.push_back(Row(PartialShape(tensor.shape())));
  }
  return Dataset(eager::TensorSliceDataset(EagerTensors(tensors.begin(), tensors.end()), spec.shapes), spec);
}

Dataset FromElement(const Tensors& element) {
  ElementSpec spec;
  for (const Tensor& tensor : element) {
    spec.types.push_back(tensor.dtype());
    spec.shapes.push_back(PartialShape(tensor.shape()));
  }
  return Dataset(eager::TensorDataset(EagerTensors(element.begin(), element.end()), spec.shapes), spec);
}

Dataset Range(int64_t start, int64_t stop, int64_t step) {
  const ElementSpec spec{{DType::kInt64}, {PartialShape(Shape())}};
  return Dataset(eager::RangeDataset(start, stop, step, spec.types, spec.shapes), spec);
}

Dataset Zip(const std::vector<Dataset>& datasets) {
  ElementSpec spec;
  EagerTensors handles;
  for (const Dataset& dataset : datasets) {
    handles.push_back(dataset.handle());
    spec.types.insert(spec.types.end(), dataset.spec().types.begin(), dataset.spec().types.end());
    spec.shapes.insert(spec.shapes.end(), dataset.spec().shapes.begin(), dataset.spec().shapes.end());
  }
  return Dataset(eager::ZipDataset(handles, spec.types, spec.shapes), spec);
}

Dataset TextLines(const Input& paths, const FileOptions& options) {
  return FileDataset(eager::TextLineDataset(paths, options.compression, options.buffer_size));
}

Dataset Records(const Input& paths, const FileOptions& options) {
  return FileDataset(eager::TFRecordDataset(paths, options.compression, options.buffer_size));
}

Dataset FixedLengthRecords(const Input& paths, int64_t bytes, int64_t header_bytes, int64_t footer_bytes,
                           const FileOptions& options) {
  return FileDataset(eager::FixedLengthRecordDatasetV2(paths, header_bytes, bytes, footer_bytes, options.buffer_size,
                                                       options.compression));
}

Dataset CsvLines(const Input& paths, const std::vector<DType>& types, const CsvFileOptions& options) {
  EagerTensors defaults;  // an empty vector: the field is required
  ElementSpec spec{types, std::vector<PartialShape>(types.size(), PartialShape(Shape()))};
  for (DType type : types) {
    StatusOr<Tensor> none = Tensor::Zeros(type, Shape({0}));
    defaults.push_back(none.ok() ? EagerTensor(*std::move(none)) : EagerTensor::Error(none.status()));
  }
  return Dataset(eager::CSVDataset(paths, options.compression, options.buffer_size, options.header, options.delimiter,
                                   true, "", options.columns, defaults, spec.shapes),
                 spec);
}

Dataset MatchingFiles(const Input& patterns) { return FileDataset(eager::MatchingFilesDataset(patterns)); }

}  // namespace weir::data
