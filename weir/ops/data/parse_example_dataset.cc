// Features of batches of serialised examples, several batches at once.
#include <map>

#include "weir/io/example_parser.h"
#include "weir/ops/data/dataset_kernel.h"
#include "weir/ops/data/parallel_map.h"
#include "weir/ops/data/register.h"
#include "weir/tensor/variant.h"

namespace weir {
namespace {

// What a batch is parsed into: the components are ordered by the features' keys.
struct ParsePlan {
  std::unique_ptr<ExampleParser> parser;
  std::vector<size_t> dense;  // component of each feature
  std::vector<size_t> sparse;
  std::vector<size_t> ragged;
  size_t components = 0;
};

// A tensor as a variant of a registered kind.
StatusOr<Variant> AsVariant(std::string type_name, std::string metadata, std::vector<Tensor> tensors) {
  return DecodeVariant(VariantData{std::move(type_name), std::move(metadata), std::move(tensors)});
}

StatusOr<Tensor> SparseComponent(const ParsedExamples& parsed, size_t i) {
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(DType::kVariant, Shape({3})));
  const Tensor* parts[] = {&parsed.sparse_indices[i], &parsed.sparse_values[i], &parsed.sparse_shapes[i]};
  for (int k = 0; k < 3; ++k) {
    WEIR_ASSIGN_OR_RETURN(out.data<Variant>()[k], AsVariant("tensorflow::Tensor", "", {*parts[k]}));
  }
  return out;
}

Status ParseBatch(const ParsePlan& plan, const Element& element, Element* out) {
  if (element.size() != 1 || element[0].dtype() != DType::kString || element[0].rank() != 1) {
    return InvalidArgument("ParseExampleDataset expects batches of serialized examples: vectors of strings");
  }
  WEIR_ASSIGN_OR_RETURN(ParsedExamples parsed, plan.parser->ParseBatch(element[0].span<std::string>()));
  out->resize(plan.components);
  for (size_t i = 0; i < plan.dense.size(); ++i) (*out)[plan.dense[i]] = std::move(parsed.dense_values[i]);
  for (size_t i = 0; i < plan.sparse.size(); ++i) {
    WEIR_ASSIGN_OR_RETURN((*out)[plan.sparse[i]], SparseComponent(parsed, i));
  }
  for (size_t i = 0; i < plan.ragged.size(); ++i) {
    WEIR_ASSIGN_OR_RETURN(Variant ragged,
                          AsVariant("RaggedTensorVariant", "", {parsed.ragged_splits[i], parsed.ragged_values[i]}));
    (*out)[plan.ragged[i]] = Tensor::Scalar(std::move(ragged));
  }
  return OkStatus();
}

StatusOr<ExampleSpec> ReadSpec(DatasetNode& node) {
  ExampleSpec spec;
  WEIR_ASSIGN_OR_RETURN(std::vector<std::string> dense_keys, node.Attr<std::vector<std::string>>("dense_keys"));
  WEIR_ASSIGN_OR_RETURN(std::vector<DType> dense_types, node.Attr<std::vector<DType>>("Tdense"));
  WEIR_ASSIGN_OR_RETURN(std::vector<PartialShape> dense_shapes, node.Attr<std::vector<PartialShape>>("dense_shapes"));
  WEIR_ASSIGN_OR_RETURN(Element defaults, node.Tensors("dense_defaults"));
  if (dense_keys.size() != dense_types.size() || dense_keys.size() != dense_shapes.size() ||
      dense_keys.size() != defaults.size()) {
    return InvalidArgument("Expected len(dense_keys) == len(dense_types) == len(dense_shapes) == len(dense_defaults)");
  }
  for (size_t i = 0; i < dense_keys.size(); ++i) {
    spec.dense.push_back({dense_keys[i], dense_types[i], dense_shapes[i], defaults[i]});
  }
  WEIR_ASSIGN_OR_RETURN(std::vector<std::string> sparse_keys, node.Attr<std::vector<std::string>>("sparse_keys"));
  WEIR_ASSIGN_OR_RETURN(std::vector<DType> sparse_types, node.Attr<std::vector<DType>>("sparse_types"));
  if (sparse_keys.size() != sparse_types.size()) {
    return InvalidArgument("len(sparse_keys) != len(sparse_types): ", sparse_keys.size(), " vs. ", sparse_types.size());
  }
  for (size_t i = 0; i < sparse_keys.size(); ++i) spec.sparse.push_back({sparse_keys[i], sparse_types[i]});
  if (!node.HasAttr("ragged_keys")) return spec;
  WEIR_ASSIGN_OR_RETURN(std::vector<std::string> ragged_keys, node.Attr<std::vector<std::string>>("ragged_keys"));
  WEIR_ASSIGN_OR_RETURN(std::vector<DType> ragged_types, node.Attr<std::vector<DType>>("ragged_value_types"));
  WEIR_ASSIGN_OR_RETURN(std::vector<DType> split_types, node.Attr<std::vector<DType>>("ragged_split_types"));
  if (ragged_keys.size() != ragged_types.size() || ragged_keys.size() != split_types.size()) {
    return InvalidArgument("Expected len(ragged_keys) == len(ragged_value_types) == len(ragged_split_types)");
  }
  for (size_t i = 0; i < ragged_keys.size(); ++i)
    spec.ragged.push_back({ragged_keys[i], ragged_types[i], split_types[i]});
  return spec;
}

StatusOr<std::shared_ptr<const ParsePlan>> MakePlan(ExampleSpec spec) {
  auto plan = std::make_shared<ParsePlan>();
  std::map<std::string, size_t> order;
  for (const auto& feature : spec.dense) order[feature.key] = 0;
  for (const auto& feature : spec.sparse) order[feature.key] = 0;
  for (const auto& feature : spec.ragged) order[feature.key] = 0;
  for (auto& [key, component] : order) component = plan->components++;
  if (plan->components != spec.dense.size() + spec.sparse.size() + spec.ragged.size()) {
    return InvalidArgument("A feature is asked for twice");
  }
  for (const auto& feature : spec.dense) plan->dense.push_back(order[feature.key]);
  for (const auto& feature : spec.sparse) plan->sparse.push_back(order[feature.key]);
  for (const auto& feature : spec.ragged) plan->ragged.push_back(order[feature.key]);
  WEIR_ASSIGN_OR_RETURN(plan->parser, ExampleParser::Create(std::move(spec)));
  return std::shared_ptr<const ParsePlan>(std::move(plan));
}

StatusOr<DatasetPtr> MakeParseExample(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WEIR_ASSIGN_OR_RETURN(ElementSpec spec, node.Spec());
  WEIR_ASSIGN_OR_RETURN(ExampleSpec features, ReadSpec(node));
  ParallelMapOptions options;
  options.preserve_cardinality = true;
  WEIR_ASSIGN_OR_RETURN(options.num_parallel_calls, node.Scalar<int64_t>("num_parallel_calls"));
  if (options.num_parallel_calls <= 0 && options.num_parallel_calls != -1) {
    return InvalidArgument("num_parallel_calls must be greater than zero.");
  }
  if (node.HasAttr("sloppy")) {
    WEIR_ASSIGN_OR_RETURN(bool sloppy, node.Attr<bool>("sloppy"));
    options.deterministic = !sloppy;
  } else {
    WEIR_ASSIGN_OR_RETURN(std::string deterministic, node.Attr<std::string>("deterministic"));
    options.deterministic = deterministic != "false";
  }
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<const ParsePlan> plan, MakePlan(std::move(features)));
  if (plan->components != spec.types.size()) {
    return InvalidArgument("ParseExampleDataset gives ", plan->components, " components, but ", spec.types.size(),
                           " are declared");
  }
  return MakeParallelMapDataset(
      std::move(spec), std::move(input),
      [plan](IteratorContext&) -> StatusOr<ElementFunction> {
        return ElementFunction([plan](IteratorContext&, Element element, int64_t, Element* out, bool*) {
          return ParseBatch(*plan, element, out);
        });
      },
      options);
}

}  // namespace

void RegisterParseExampleDatasets(KernelRegistry& registry) {
  RegisterDataset(registry, {"ParseExampleDataset", "ParseExampleDatasetV2", "ExperimentalParseExampleDataset"},
                  MakeParseExample);
}

}  // namespace weir
