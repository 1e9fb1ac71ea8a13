#include "weir/io/sequence_example_parser.h"

#include <algorithm>
#include <optional>

#include "weir/io/example_wire_internal.h"

namespace weir {
namespace {

// The steps of one feature list in all examples, one example after the other.
struct Steps {
  std::vector<FeatureValues> values;
  std::vector<int64_t> ends;  // of each example's steps in `values`
  int64_t examples() const { return static_cast<int64_t>(ends.size()); }
  int64_t begin(int64_t example) const { return example == 0 ? 0 : ends[example - 1]; }
  int64_t length(int64_t example) const { return ends[example] - begin(example); }
  int64_t longest() const {
    int64_t out = 0;
    for (int64_t e = 0; e < examples(); ++e) out = std::max(out, length(e));
    return out;
  }
  int64_t num_values() const {
    int64_t out = 0;
    for (const FeatureValues& step : values) out += step.count;
    return out;
  }
};

struct BatchInput {
  std::span<const std::string> serialized;
  std::span<const std::string> names;
  bool single = false;
  std::string_view name(int64_t example) const {
    return names.empty() ? std::string_view("<unknown>") : std::string_view(names[example]);
  }
};

StatusOr<Tensor> AllValues(const Steps& steps, DType dtype) {
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(dtype, Shape({steps.num_values()})));
  int64_t at = 0;
  for (const FeatureValues& step : steps.values) {
    CopyValues(step, out, at);
    at += step.count;
  }
  return out;
}

StatusOr<Tensor> Numbers(const std::vector<int64_t>& numbers, DType dtype) {
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(dtype, Shape({static_cast<int64_t>(numbers.size())})));
  if (dtype == DType::kInt64) {
    std::copy(numbers.begin(), numbers.end(), out.data<int64_t>());
    return out;
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] > INT32_MAX) return InvalidArgument("Too many values for row splits of type int32");
    out.data<int32_t>()[i] = static_cast<int32_t>(numbers[i]);
  }
  return out;
}

}  // namespace

class SequenceExampleParser::Impl {
 public:
  Impl(SequenceSpec spec, std::unique_ptr<ExampleParser> context)
      : spec_(std::move(spec)), context_(std::move(context)) {
    for (const DenseList& list : spec_.dense) AddSlot(list.key, list.dtype);
    for (const SparseFeature& list : spec_.sparse) AddSlot(list.key, list.dtype);
    for (const RaggedFeature& list : spec_.ragged) AddSlot(list.key, list.dtype);
  }

  const ExampleParser& context() const { return *context_; }
  bool CheckFields(std::string_view example) const;
  Status Lists(const BatchInput& input, ParsedSequences& out) const;

 private:
  using Found = std::vector<std::optional<std::string_view>>;  // lists by slot

  void AddSlot(const std::string& key, DType dtype) {
    keys_.push_back(key);
    types_.push_back(dtype);
  }
  bool Locate(std::string_view example, Found& found) const;
  bool LocateLists(std::string_view lists, Found& found) const;
  Status AddSteps(size_t slot, std::string_view list, std::string_view name, Steps& steps) const;
  Status CheckStep(size_t slot, const FeatureValues& step) const;
  StatusOr<std::vector<Steps>> ReadSteps(const BatchInput& input) const;
  Status Dense(const DenseList& list, const Steps& steps, bool single, ParsedSequences& out) const;
  Status Sparse(const SparseFeature& list, const Steps& steps, bool single, ParsedSequences& out) const;
  Status Ragged(const RaggedFeature& list, const Steps& steps, bool single, ParsedSequences& out) const;

  const SequenceSpec spec_;
  const std::unique_ptr<ExampleParser> context_;
  std::vector<std::string> keys_;  // of the slots: dense, sparse, ragged
  std::vector<DType> types_;
};

// Whether the fields of the message itself are whole; what they hold is read later.
bool SequenceExampleParser::Impl::CheckFields(std::string_view example) const {
  WireReader reader(example);
  uint32_t tag = 0;
  std::string_view bytes;
  while (!reader.done()) {
    if (!reader.Tag(&tag) || !((tag & 7) == 2 ? reader.Delimited(&bytes) : reader.Skip(tag))) return false;
  }
  return true;
}

bool SequenceExampleParser::Impl::LocateLists(std::string_view lists, Found& found) const {
  WireReader reader(lists);
  uint32_t tag = 0;
  std::string_view entry, key, value;
  while (!reader.done()) {
    if (!reader.Tag(&tag) || tag != DelimitedTag(1) || !reader.Delimited(&entry)) return false;
    if (!ReadMapEntry(entry, &key, &value)) return false;
    for (size_t slot = 0; slot < keys_.size(); ++slot) {
      if (keys_[slot] == key) found[slot] = value;
    }
  }
  return true;
}

bool SequenceExampleParser::Impl::Locate(std::string_view example, Found& found) const {
  WireReader reader(example);
  uint32_t tag = 0;
  std::string_view bytes;
  while (!reader.done()) {
    if (!reader.Tag(&tag)) return false;
    if (tag == DelimitedTag(2)) {
      if (!reader.Delimited(&bytes) || !LocateLists(bytes, found)) return false;
    } else if (!reader.Skip(tag)) {
      return false;
    }
  }
  return true;
}

Status SequenceExampleParser::Impl::CheckStep(size_t slot, const FeatureValues& step) const {
  if (step.malformed && step.dtype == DType::kInvalid) return InvalidArgument("Unsupported datatype.");
  const bool is_dense = slot < spec_.dense.size();
  if (step.dtype != types_[slot]) {
    // A step without values has no type.
    if (step.dtype == DType::kInvalid && !is_dense) return OkStatus();
    return InvalidArgument("Data types don't match. Expected type: ", Name(types_[slot]), ", Actual type: ",
                           step.dtype == DType::kInvalid ? std::string_view("none") : Name(step.dtype));
  }
  if (step.malformed) return InvalidArgument("Can't parse serialized SequenceExample.");
  if (!is_dense) return OkStatus();
  const int64_t expected = spec_.dense[slot].shape.num_elements();
  if (step.count == expected) return OkStatus();
  return InvalidArgument("Number of ", Name(step.dtype), " values != expected.  values size: ", step.count,
                         " but output shape: ", spec_.dense[slot].shape.ToString());
}

Status SequenceExampleParser::Impl::AddSteps(size_t slot, std::string_view list, std::string_view name,
                                             Steps& steps) const {
  WireReader reader(list);
  uint32_t tag = 0;
  std::string_view feature;
  for (int64_t index = 0; !reader.done(); ++index) {
    if (!reader.Tag(&tag) || tag != DelimitedTag(1) || !reader.Delimited(&feature)) {
      return InvalidArgument("Name: ", name, ", Key: ", keys_[slot], ".  Can't parse serialized SequenceExample.");
    }
    steps.values.push_back(ReadFeature(feature));
    Status status = CheckStep(slot, steps.values.back());
    if (!status.ok()) return Annotate(status, Cat("Name: ", name, ", Key: ", keys_[slot], ", Index: ", index, ".  "));
  }
  return OkStatus();
}

StatusOr<std::vector<Steps>> SequenceExampleParser::Impl::ReadSteps(const BatchInput& input) const {
  std::vector<Steps> steps(keys_.size());
  Found found;
  for (size_t e = 0; e < input.serialized.size(); ++e) {
    const std::string_view name = input.name(static_cast<int64_t>(e));
    found.assign(keys_.size(), std::nullopt);
    if (!Locate(input.serialized[e], found)) {
      return InvalidArgument("Invalid protocol message input, example id: ", name);
    }
    for (size_t slot = 0; slot < keys_.size(); ++slot) {
      if (found[slot]) {
        WEIR_RETURN_IF_ERROR(AddSteps(slot, *found[slot], name, steps[slot]));
      } else if (slot < spec_.dense.size() && !spec_.dense[slot].may_be_missing) {
        return InvalidArgument("Name: ", name, ", Feature list '", keys_[slot],
                               "' is required but could not be found.  Did you mean to include it in "
                               "feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?");
      }
      steps[slot].ends.push_back(static_cast<int64_t>(steps[slot].values.size()));
    }
  }
  return steps;
}

Status SequenceExampleParser::Impl::Dense(const DenseList& list, const Steps& steps, bool single,
                                          ParsedSequences& out) const {
  const int64_t longest = steps.longest();
  const int64_t stride = list.shape.num_elements();
  std::vector<int64_t> dims;
  if (!single) dims.push_back(steps.examples());
  dims.push_back(longest);
  dims.insert(dims.end(), list.shape.dims().begin(), list.shape.dims().end());
  WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
  WEIR_ASSIGN_OR_RETURN(Tensor values, Tensor::Zeros(list.dtype, shape));
  std::vector<int64_t> lengths;
  for (int64_t e = 0; e < steps.examples(); ++e) {
    lengths.push_back(steps.length(e));
    for (int64_t i = 0; i < steps.length(e); ++i) {
      CopyValues(steps.values[steps.begin(e) + i], values, (e * longest + i) * stride);
    }
  }
  out.dense_values.push_back(std::move(values));
  out.dense_lengths.push_back(single ? Tensor::Scalar<int64_t>(lengths[0])
                                     : Tensor::Vector<int64_t>(std::span<const int64_t>(lengths)));
  return OkStatus();
}

Status SequenceExampleParser::Impl::Sparse(const SparseFeature& list, const Steps& steps, bool single,
                                           ParsedSequences& out) const {
  WEIR_ASSIGN_OR_RETURN(Tensor values, AllValues(steps, list.dtype));
  WEIR_ASSIGN_OR_RETURN(Tensor indices,
                        Tensor::Allocate(DType::kInt64, Shape({values.num_elements(), single ? 2 : 3})));
  int64_t* at = indices.data<int64_t>();
  int64_t widest = 0;
  for (int64_t e = 0; e < steps.examples(); ++e) {
    for (int64_t i = 0; i < steps.length(e); ++i) {
      const int64_t count = steps.values[steps.begin(e) + i].count;
      widest = std::max(widest, count);
      for (int64_t j = 0; j < count; ++j) {
        if (!single) *at++ = e;
        *at++ = i;
        *at++ = j;
      }
    }
  }
  out.sparse_indices.push_back(std::move(indices));
  out.sparse_values.push_back(std::move(values));
  out.sparse_shapes.push_back(single ? Tensor::Vector<int64_t>({steps.longest(), widest})
                                     : Tensor::Vector<int64_t>({steps.examples(), steps.longest(), widest}));
  return OkStatus();
}

Status SequenceExampleParser::Impl::Ragged(const RaggedFeature& list, const Steps& steps, bool single,
                                           ParsedSequences& out) const {
  WEIR_ASSIGN_OR_RETURN(Tensor values, AllValues(steps, list.dtype));
  std::vector<int64_t> outer = {0}, inner = {0};
  for (int64_t end : steps.ends) outer.push_back(end);
  for (const FeatureValues& step : steps.values) inner.push_back(inner.back() + step.count);
  WEIR_ASSIGN_OR_RETURN(Tensor outer_splits, Numbers(outer, list.splits_dtype));
  WEIR_ASSIGN_OR_RETURN(Tensor inner_splits, Numbers(inner, list.splits_dtype));
  // There is no outer dimension to split in a single example.
  if (single) {
    WEIR_ASSIGN_OR_RETURN(outer_splits, Tensor::Zeros(list.splits_dtype, Shape()));
  }
  out.ragged_values.push_back(std::move(values));
  out.ragged_outer_splits.push_back(std::move(outer_splits));
  out.ragged_inner_splits.push_back(std::move(inner_splits));
  return OkStatus();
}

Status SequenceExampleParser::Impl::Lists(const BatchInput& input, ParsedSequences& out) const {
  WEIR_ASSIGN_OR_RETURN(std::vector<Steps> steps, ReadSteps(input));
  size_t slot = 0;
  for (const DenseList& list : spec_.dense) WEIR_RETURN_IF_ERROR(Dense(list, steps[slot++], input.single, out));
  for (const SparseFeature& list : spec_.sparse) WEIR_RETURN_IF_ERROR(Sparse(list, steps[slot++], input.single, out));
  for (const RaggedFeature& list : spec_.ragged) WEIR_RETURN_IF_ERROR(Ragged(list, steps[slot++], input.single, out));
  return OkStatus();
}

SequenceExampleParser::SequenceExampleParser(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SequenceExampleParser::~SequenceExampleParser() = default;

StatusOr<std::unique_ptr<SequenceExampleParser>> SequenceExampleParser::Create(SequenceSpec spec) {
  for (const DenseFeature& feature : spec.context.dense) {
    if (!feature.shape.IsFullyDefined()) {
      return InvalidArgument("Shape ", feature.shape.ToString(), " of context feature ", feature.key,
                             " is not fully defined");
    }
  }
  for (size_t i = 0; i < spec.dense.size(); ++i) {
    if (spec.dense[i].shape.IsFullyDefined()) continue;
    return InvalidArgument("feature_list_dense_shapes[", i, "] is not fully defined: ", spec.dense[i].shape.ToString());
  }
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<ExampleParser> context, ExampleParser::Create(spec.context));
  return std::unique_ptr<SequenceExampleParser>(
      new SequenceExampleParser(std::make_unique<Impl>(std::move(spec), std::move(context))));
}

// To an ExampleParser the context looks like an Example's features, and the feature lists like a field to skip.
StatusOr<ParsedSequences> SequenceExampleParser::ParseBatch(std::span<const std::string> serialized,
                                                            std::span<const std::string> names,
                                                            ThreadPool* pool) const {
  ParsedSequences out;
  WEIR_ASSIGN_OR_RETURN(out.context, impl_->context().ParseBatch(serialized, names, pool));
  WEIR_RETURN_IF_ERROR(impl_->Lists({.serialized = serialized, .names = names}, out));
  return out;
}

StatusOr<ParsedSequences> SequenceExampleParser::ParseSingle(const std::string& serialized, const std::string& name,
                                                             bool strict) const {
  if (strict && !impl_->CheckFields(serialized)) {
    return InvalidArgument("Could not parse example input, value: '", serialized, "'");
  }
  ParsedSequences out;
  StatusOr<ParsedExamples> context = impl_->context().ParseSingle(serialized);
  if (!context.ok()) return Annotate(context.status(), Cat("Name: ", name, ", Context: "));
  out.context = *std::move(context);
  for (Tensor& splits : out.context.ragged_splits) {
    WEIR_ASSIGN_OR_RETURN(splits, Tensor::Zeros(splits.dtype(), Shape()));
  }
  const BatchInput input{.serialized = std::span(&serialized, 1), .names = std::span(&name, 1), .single = true};
  WEIR_RETURN_IF_ERROR(impl_->Lists(input, out));
  return out;
}

}  // namespace weir
