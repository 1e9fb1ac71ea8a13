#include "weir/io/example_parser.h"

#include <algorithm>
#include <mutex>

#include "weir/base/thread_pool.h"
#include "weir/io/example_wire_internal.h"
#include "weir/tensor/copy_elements.h"

namespace weir {
namespace {

// A guess for one example with a handful of features.
constexpr double kExampleNs = 1500;

bool IsPadded(const DenseFeature& feature) { return feature.shape.rank() > 0 && feature.shape.dim(0) < 0; }

// Elements of one row of a padded feature.
int64_t Stride(const DenseFeature& feature) {
  int64_t stride = 1;
  for (int i = 1; i < feature.shape.rank(); ++i) stride *= feature.shape.dim(i);
  return stride;
}

Status CheckType(DType dtype) {
  if (dtype == DType::kFloat || dtype == DType::kInt64 || dtype == DType::kString) return OkStatus();
  return InvalidArgument("Received invalid input dtype: ", Name(dtype));
}

// Where one feature of one example lies, or an empty FeatureValues if the example lacks it.
using Row = std::span<FeatureValues>;

// Finds features by their keys. Examples of one writer name their keys in the same order again and again, so the key
// that came at this place in the example before is tried first.
class KeyFinder {
 public:
  explicit KeyFinder(const absl::flat_hash_map<std::string_view, int>* slots) : slots_(slots) {}

  void BeginExample() { place_ = 0; }
  // The slot of a key, -1 if nobody asked for it.
  int Find(std::string_view key) {
    const size_t place = place_++;
    if (place < seen_.size() && seen_[place].first == key) return seen_[place].second;
    auto found = slots_->find(key);
    const int slot = found == slots_->end() ? -1 : found->second;
    if (place >= kMaxSeen) return slot;
    if (place >= seen_.size()) seen_.resize(place + 1, {std::string_view(), -1});
    // The view is into an example's bytes, which outlive the parsing.
    seen_[place] = {key, slot};
    return slot;
  }

 private:
  static constexpr size_t kMaxSeen = 1024;
  const absl::flat_hash_map<std::string_view, int>* slots_;
  std::vector<std::pair<std::string_view, int>> seen_;
  size_t place_ = 0;
};

}  // namespace

Status CheckDenseFeature(const DenseFeature& feature, size_t index) {
  WEIR_RETURN_IF_ERROR(CheckType(feature.dtype));
  const PartialShape& shape = feature.shape;
  bool known = shape.has_rank();
  std::optional<int64_t> stride = 1;
  for (int i = 1; known && i < shape.rank(); ++i) {
    known = shape.dim(i) >= 0;
    if (known && stride) stride = CheckedMultiply(*stride, shape.dim(i));
  }
  if (!known) {
    return InvalidArgument("dense_shapes[", index,
                           "] has unknown rank or unknown inner dimensions: ", shape.ToString());
  }
  if (!stride) return InvalidArgument("dense_shapes[", index, "] is too large: ", shape.ToString());
  const Tensor& value = feature.default_value;
  if (value.dtype() != feature.dtype) {
    return InvalidArgument("dense_defaults[", index, "].dtype() == ", Name(value.dtype()), " != dense_types_[", index,
                           "] == ", Name(feature.dtype));
  }
  if (IsPadded(feature)) {
    if (value.num_elements() == 1) return OkStatus();
    return InvalidArgument(
        "dense_shape[", index, "] is a variable length shape: ", shape.ToString(), ", therefore def_value[", index,
        "] must contain a single element (the padding element).  But its shape is: ", value.shape().ToString());
  }
  if (value.num_elements() > 0 && !shape.IsCompatibleWith(value.shape())) {
    return InvalidArgument("def_value[", index, "].shape() == ", value.shape().ToString(),
                           " is not compatible with dense_shapes_[", index, "] == ", shape.ToString());
  }
  return OkStatus();
}

class ExampleParser::Impl {
 public:
  explicit Impl(ExampleSpec spec) : spec_(std::move(spec)) {
    auto add = [&](const std::string& key, DType dtype) {
      auto [entry, fresh] = slots_.try_emplace(key, static_cast<int>(types_.size()));
      // A key that is asked for twice: the slots form a chain.
      if (!fresh) {
        int last = entry->second;
        while (next_[last] >= 0) last = next_[last];
        next_[last] = static_cast<int>(types_.size());
      }
      types_.push_back(dtype);
      next_.push_back(-1);
    };
    for (const DenseFeature& feature : spec_.dense) add(feature.key, feature.dtype);
    for (const SparseFeature& feature : spec_.sparse) add(feature.key, feature.dtype);
    for (const RaggedFeature& feature : spec_.ragged) add(feature.key, feature.dtype);
  }

  const ExampleSpec& spec() const { return spec_; }
  size_t num_slots() const { return types_.size(); }

  KeyFinder MakeFinder() const { return KeyFinder(&slots_); }
  // Fills `row` with what the example holds. False if the bytes are no Example.
  bool Locate(std::string_view example, KeyFinder& keys, Row row) const;
  // Whether what was found fits the spec; `where` begins the message, "Name: x, Key: y, Index: 1.  ".
  Status Check(Row row, int64_t example, std::string_view name, bool single) const;

  StatusOr<Tensor> Dense(size_t index, std::span<const FeatureValues> found, int64_t examples, bool single,
                         ThreadPool* pool) const;
  // The values of all examples, and where each example's begin: offsets[examples] is their number.
  StatusOr<Tensor> Values(size_t slot, std::span<const FeatureValues> found, std::vector<int64_t>& offsets,
                          ThreadPool* pool) const;
  Status Sparse(size_t slot, std::span<const FeatureValues> found, bool single, ThreadPool* pool,
                ParsedExamples& out) const;
  Status Ragged(size_t index, std::span<const FeatureValues> found, bool single, ThreadPool* pool,
                ParsedExamples& out) const;
  StatusOr<ParsedExamples> Assemble(std::span<const FeatureValues> found, int64_t examples, bool single,
                                    ThreadPool* pool) const;

 private:
  bool LocateFeatures(std::string_view features, KeyFinder& keys, Row row) const;
  Status CheckOne(size_t slot, const FeatureValues& values, std::string_view where, bool single) const;
  const std::string& Key(size_t slot) const {
    if (slot < spec_.dense.size()) return spec_.dense[slot].key;
    slot -= spec_.dense.size();
    return slot < spec_.sparse.size() ? spec_.sparse[slot].key : spec_.ragged[slot - spec_.sparse.size()].key;
  }

  const ExampleSpec spec_;
  absl::flat_hash_map<std::string_view, int> slots_;
  std::vector<DType> types_;  // of the slots: dense, sparse, ragged
  std::vector<int> next_;
};

bool ExampleParser::Impl::LocateFeatures(std::string_view features, KeyFinder& keys, Row row) const {
  WireReader reader(features);
  uint32_t tag = 0;
  std::string_view entry, key, value;
  while (!reader.done()) {
    if (!reader.Tag(&tag) || tag != DelimitedTag(1) || !reader.Delimited(&entry)) return false;
    if (!ReadMapEntry(entry, &key, &value)) return false;
    // The last entry of a key counts.
    for (int slot = keys.Find(key); slot >= 0; slot = next_[slot]) row[slot] = ReadFeature(value);
  }
  return true;
}

bool ExampleParser::Impl::Locate(std::string_view example, KeyFinder& keys, Row row) const {
  keys.BeginExample();
  WireReader reader(example);
  uint32_t tag = 0;
  std::string_view features;
  while (!reader.done()) {
    if (!reader.Tag(&tag)) return false;
    if (tag != DelimitedTag(1)) {
      if (!reader.Skip(tag)) return false;
    } else if (!reader.Delimited(&features) || !LocateFeatures(features, keys, row)) {
      return false;
    }
  }
  return true;
}

Status ExampleParser::Impl::CheckOne(size_t slot, const FeatureValues& values, std::string_view where,
                                     bool single) const {
  const bool is_dense = slot < spec_.dense.size();
  if (values.malformed && values.dtype == DType::kInvalid) return InvalidArgument(where, "Unsupported datatype.");
  if (values.dtype != types_[slot]) {
    if (is_dense) {
      return InvalidArgument(where, "Data types don't match. Data type: ", Name(values.dtype),
                             " but expected type: ", Name(types_[slot]));
    }
    return InvalidArgument(where, "Data types don't match. Expected type: ", Name(types_[slot]),
                           ", Actual type: ", Name(values.dtype));
  }
  if (values.malformed) return InvalidArgument(where, "Can't parse serialized Example.");
  if (!is_dense) return OkStatus();
  const DenseFeature& feature = spec_.dense[slot];
  const std::string_view type = values.dtype == DType::kString  ? "bytes"
                                : values.dtype == DType::kFloat ? "float"
                                                                : "int64";
  if (IsPadded(feature)) {
    const int64_t stride = Stride(feature);
    if (stride > 0 ? values.count % stride == 0 : values.count == 0) return OkStatus();
    return InvalidArgument(where, "Number of ", type, " values is not a multiple of stride length. Saw ", values.count,
                           " values but output shape is: ", feature.shape.ToString());
  }
  if (values.count == feature.shape.num_elements()) return OkStatus();
  if (single) {
    return InvalidArgument(where, "Can't parse serialized Example: Some ", type, "_list slice was not parsed.");
  }
  return InvalidArgument(where, "Number of ", type, " values != expected.  Values size: ", values.count,
                         " but output shape: ", feature.shape.ToString());
}

Status ExampleParser::Impl::Check(Row row, int64_t example, std::string_view name, bool single) const {
  for (size_t slot = 0; slot < row.size(); ++slot) {
    const FeatureValues& values = row[slot];
    if (values.dtype == DType::kInvalid && !values.malformed) {
      if (slot >= spec_.dense.size()) continue;
      const DenseFeature& feature = spec_.dense[slot];
      if (IsPadded(feature) || feature.default_value.num_elements() > 0 || feature.shape.num_elements() == 0) continue;
      return InvalidArgument(single ? "" : Cat("Name: ", name, ", "), "Feature: ", feature.key,
                             " (data type: ", Name(feature.dtype), ") is required but could not be found.");
    }
    // The message's beginning is only made where there is something to say.
    Status status = CheckOne(slot, values, "", single);
    if (status.ok()) continue;
    return Annotate(status, single ? Cat("Key: ", Key(slot), ".  ")
                                   : Cat("Name: ", name, ", Key: ", Key(slot), ", Index: ", example, ".  "));
  }
  return OkStatus();
}

namespace {

// Calls `body` over the examples, in the pool if there is one.
void ForExamples(ThreadPool* pool, int64_t examples, absl::FunctionRef<void(int64_t, int64_t)> body) {
  if (pool == nullptr) return body(0, examples);
  pool->ParallelFor(examples, kExampleNs, body);
}

void FillWith(const Tensor& element, Tensor& out, int64_t begin, int64_t end) {
  DispatchDType(out.dtype(), TypeList<float, int64_t, std::string>{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::fill(out.data<T>() + begin, out.data<T>() + end, element.data<T>()[0]);
  });
}

}  // namespace

StatusOr<Tensor> ExampleParser::Impl::Dense(size_t index, std::span<const FeatureValues> found, int64_t examples,
                                            bool single, ThreadPool* pool) const {
  const DenseFeature& feature = spec_.dense[index];
  const bool padded = IsPadded(feature);
  int64_t row_elements = padded ? 0 : feature.shape.num_elements();
  std::vector<int64_t> dims(feature.shape.dims().begin(), feature.shape.dims().end());
  if (padded) {
    for (int64_t e = 0; e < examples; ++e) {
      row_elements = std::max(row_elements, found[e * num_slots() + index].count);
    }
    const int64_t stride = Stride(feature);
    dims[0] = stride > 0 ? row_elements / stride : 0;
  }
  if (!single) dims.insert(dims.begin(), examples);
  WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(feature.dtype, shape));
  ForExamples(pool, examples, [&](int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; ++e) {
      const FeatureValues& values = found[e * num_slots() + index];
      if (values.dtype != DType::kInvalid) {
        CopyValues(values, out, e * row_elements);
      } else if (!padded) {
        CopyElements(feature.default_value, 0, out, e * row_elements, row_elements);
      }
      if (padded) FillWith(feature.default_value, out, e * row_elements + values.count, (e + 1) * row_elements);
    }
  });
  return out;
}

StatusOr<Tensor> ExampleParser::Impl::Values(size_t slot, std::span<const FeatureValues> found,
                                             std::vector<int64_t>& offsets, ThreadPool* pool) const {
  const int64_t examples = static_cast<int64_t>(offsets.size()) - 1;
  for (int64_t e = 0; e < examples; ++e) offsets[e + 1] = offsets[e] + found[e * num_slots() + slot].count;
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(types_[slot], Shape({offsets[examples]})));
  ForExamples(pool, examples, [&](int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; ++e) CopyValues(found[e * num_slots() + slot], out, offsets[e]);
  });
  return out;
}

Status ExampleParser::Impl::Sparse(size_t slot, std::span<const FeatureValues> found, bool single, ThreadPool* pool,
                                   ParsedExamples& out) const {
  const int64_t examples = static_cast<int64_t>(found.size() / num_slots());
  std::vector<int64_t> offsets(examples + 1, 0);
  WEIR_ASSIGN_OR_RETURN(Tensor values, Values(slot, found, offsets, pool));
  const int64_t count = offsets[examples];
  const int64_t columns = single ? 1 : 2;
  WEIR_ASSIGN_OR_RETURN(Tensor indices, Tensor::Allocate(DType::kInt64, Shape({count, columns})));
  int64_t longest = 0;
  int64_t* at = indices.data<int64_t>();
  for (int64_t e = 0; e < examples; ++e) {
    const int64_t length = offsets[e + 1] - offsets[e];
    longest = std::max(longest, length);
    for (int64_t i = 0; i < length; ++i) {
      if (!single) *at++ = e;
      *at++ = i;
    }
  }
  out.sparse_indices.push_back(std::move(indices));
  out.sparse_values.push_back(std::move(values));
  out.sparse_shapes.push_back(single ? Tensor::Vector<int64_t>({longest})
                                     : Tensor::Vector<int64_t>({examples, longest}));
  return OkStatus();
}

Status ExampleParser::Impl::Ragged(size_t index, std::span<const FeatureValues> found, bool single, ThreadPool* pool,
                                   ParsedExamples& out) const {
  const size_t slot = spec_.dense.size() + spec_.sparse.size() + index;
  const int64_t examples = static_cast<int64_t>(found.size() / num_slots());
  std::vector<int64_t> offsets(examples + 1, 0);
  WEIR_ASSIGN_OR_RETURN(Tensor values, Values(slot, found, offsets, pool));
  const DType dtype = spec_.ragged[index].splits_dtype;
  if (dtype == DType::kInt32 && offsets[examples] > INT32_MAX) {
    return InvalidArgument("Feature: ", Key(slot), " has too many values for row splits of type int32");
  }
  WEIR_ASSIGN_OR_RETURN(Tensor splits, Tensor::Allocate(dtype, Shape({single ? 0 : examples + 1})));
  DispatchDType(dtype, IndexTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < splits.num_elements(); ++i) splits.data<T>()[i] = static_cast<T>(offsets[i]);
  });
  out.ragged_values.push_back(std::move(values));
  out.ragged_splits.push_back(std::move(splits));
  return OkStatus();
}

StatusOr<ParsedExamples> ExampleParser::Impl::Assemble(std::span<const FeatureValues> found, int64_t examples,
                                                       bool single, ThreadPool* pool) const {
  ParsedExamples out;
  for (size_t i = 0; i < spec_.dense.size(); ++i) {
    WEIR_ASSIGN_OR_RETURN(out.dense_values.emplace_back(), Dense(i, found, examples, single, pool));
  }
  for (size_t i = 0; i < spec_.sparse.size(); ++i) {
    WEIR_RETURN_IF_ERROR(Sparse(spec_.dense.size() + i, found, single, pool, out));
  }
  for (size_t i = 0; i < spec_.ragged.size(); ++i) WEIR_RETURN_IF_ERROR(Ragged(i, found, single, pool, out));
  return out;
}

ExampleParser::ExampleParser(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ExampleParser::~ExampleParser() = default;
const ExampleSpec& ExampleParser::spec() const { return impl_->spec(); }

StatusOr<std::unique_ptr<ExampleParser>> ExampleParser::Create(ExampleSpec spec) {
  for (size_t i = 0; i < spec.dense.size(); ++i) WEIR_RETURN_IF_ERROR(CheckDenseFeature(spec.dense[i], i));
  for (const SparseFeature& feature : spec.sparse) WEIR_RETURN_IF_ERROR(CheckType(feature.dtype));
  for (const RaggedFeature& feature : spec.ragged) {
    WEIR_RETURN_IF_ERROR(CheckType(feature.dtype));
    if (feature.splits_dtype != DType::kInt32 && feature.splits_dtype != DType::kInt64) {
      return InvalidArgument("Invalid ragged_split_type: ", Name(feature.splits_dtype));
    }
  }
  return std::unique_ptr<ExampleParser>(new ExampleParser(std::make_unique<Impl>(std::move(spec))));
}

StatusOr<ParsedExamples> ExampleParser::ParseBatch(std::span<const std::string> serialized,
                                                   std::span<const std::string> names, ThreadPool* pool) const {
  const auto examples = static_cast<int64_t>(serialized.size());
  const size_t slots = impl_->num_slots();
  std::vector<FeatureValues> found(serialized.size() * slots);
  std::mutex mu;
  int64_t first_bad = examples;
  Status status;
  ForExamples(pool, examples, [&](int64_t begin, int64_t end) {
    KeyFinder keys = impl_->MakeFinder();
    for (int64_t e = begin; e < end; ++e) {
      const Row row(found.data() + e * slots, slots);
      Status one = impl_->Locate(serialized[e], keys, row)
                       ? impl_->Check(row, e, names.empty() ? std::string_view("<unknown>") : names[e], false)
                       : InvalidArgument("Could not parse example input, value: '", serialized[e], "'");
      if (one.ok()) continue;
      std::lock_guard lock(mu);
      if (e < first_bad) {
        first_bad = e;
        status = one;
      }
      return;
    }
  });
  WEIR_RETURN_IF_ERROR(status);
  return impl_->Assemble(found, examples, false, pool);
}

StatusOr<ParsedExamples> ExampleParser::ParseSingle(std::string_view serialized) const {
  std::vector<FeatureValues> found(impl_->num_slots());
  KeyFinder keys = impl_->MakeFinder();
  if (!impl_->Locate(serialized, keys, found)) {
    return InvalidArgument("Could not parse example input, value: '", serialized, "'");
  }
  WEIR_RETURN_IF_ERROR(impl_->Check(found, 0, "", true));
  return impl_->Assemble(found, 1, true, nullptr);
}

}  // namespace weir
