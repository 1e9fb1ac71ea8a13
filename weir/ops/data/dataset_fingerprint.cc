#include "weir/ops/data/dataset_fingerprint.h"

#include "weir/base/fingerprint.h"
#include "weir/framework/node_fingerprint.h"

namespace weir {
namespace {

// The attributes that count, in TensorFlow's order.
OpSchema SchemaOf(std::string_view op, std::initializer_list<const char*> attrs) {
  OpSchema schema;
  schema.name = op;
  for (const char* attr : attrs) schema.attrs.push_back({.name = attr});
  return schema;
}

// Shuffling is the same transformation whatever its seed.
bool IsSeed(const OpSchema& schema, int input) {
  if (!schema.name.starts_with("ShuffleDataset") && !schema.name.starts_with("ShuffleAndRepeatDataset")) return false;
  const std::string& name = schema.inputs[input].name;
  return name == "seed" || name == "seed2" || name == "seed_generator";
}

StatusOr<uint64_t> OfDataset(const Dataset& dataset, const FunctionFingerprints& functions);

StatusOr<uint64_t> OfTensor(const Tensor& tensor, const FunctionFingerprints& functions) {
  if (tensor.dtype() == DType::kVariant) {
    WEIR_ASSIGN_OR_RETURN(DatasetPtr dataset, DatasetFromTensor(tensor));
    return OfDataset(*dataset, functions);
  }
  // What a handle stands for is known to this process only.
  if (tensor.dtype() == DType::kResource) return Hash64("Placeholder");
  static const OpSchema* schema = new OpSchema(SchemaOf("Const", {"value", "dtype"}));
  AttrMap attrs;
  attrs.Set("value", tensor);
  attrs.Set("dtype", tensor.dtype());
  WEIR_ASSIGN_OR_RETURN(uint64_t node,
                        NodeFingerprint(Hash64(schema->name), *schema, attrs, "", TensorForm::kOfDataset, functions));
  return WithInputs(node, 0, 0);
}

StatusOr<uint64_t> OfDataset(const Dataset& dataset, const FunctionFingerprints& functions) {
  const DatasetOrigin& origin = dataset.origin();
  if (origin.node == nullptr) return Unimplemented("This dataset was made by no node, so it has no fingerprint");
  const OpSchema& schema = *origin.node->schema;
  WEIR_ASSIGN_OR_RETURN(uint64_t node, NodeFingerprint(Hash64(schema.name), schema, origin.node->attrs, "",
                                                       TensorForm::kOfDataset, functions));
  uint64_t inputs = 0;
  for (size_t i = 0; i < origin.inputs.size(); ++i) {
    if (IsSeed(schema, static_cast<int>(i))) continue;
    WEIR_ASSIGN_OR_RETURN(uint64_t input, OfTensor(origin.inputs[i], functions));
    inputs = AddInput(inputs, input, 0);
  }
  return WithInputs(node, 0, inputs);
}

}  // namespace

StatusOr<uint64_t> DatasetFingerprint(const Dataset& dataset, FunctionRuntime* functions) {
  const FunctionFingerprints of_function = [functions](const FunctionAttr& function) -> StatusOr<uint64_t> {
    if (functions == nullptr) return FailedPrecondition("No function library is provided.");
    return functions->Fingerprint(function);
  };
  WEIR_ASSIGN_OR_RETURN(uint64_t hash, OfDataset(dataset, of_function));
  // TensorFlow takes that of the graph, which ends in a result.
  static const OpSchema* result = new OpSchema(SchemaOf("_Retval", {"T", "index"}));
  AttrMap attrs;
  attrs.Set("T", DType::kVariant);
  attrs.Set("index", int64_t{0});
  WEIR_ASSIGN_OR_RETURN(uint64_t node,
                        NodeFingerprint(Hash64(result->name), *result, attrs, "", TensorForm::kOfDataset, of_function));
  return WithInputs(node, 0, AddInput(0, hash, 0));
}

}  // namespace weir
