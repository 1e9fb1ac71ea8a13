#include "weir/passes/op_work.h"

#include <algorithm>

namespace weir {
namespace {

constexpr double kTranscendentalFlops = 10;

double Elements(const Shape& shape) { return static_cast<double>(shape.num_elements()); }

// The dimension that a matrix product sums over.
double SummedDimension(const Node& node, const Shape& left) {
  if (left.rank() < 2) return 1;
  bool transposed = false;
  for (const char* attr : {"transpose_a", "adj_x"}) {
    if (node.attrs.Find(attr) != nullptr) transposed |= node.Attr<bool>(attr).value_or(false);
  }
  return static_cast<double>(left.dim(left.rank() - (transposed ? 2 : 1)));
}

// Multiplications per result of a convolution: the size of the filter without its output channels.
double ProductsOfFilter(const Shape& filter, bool depthwise) {
  const int channels = filter.rank() - 1;
  if (channels < 1) return 1;
  const double last = static_cast<double>(std::max<int64_t>(1, filter.dim(channels)));
  const double before = static_cast<double>(std::max<int64_t>(1, filter.dim(channels - 1)));
  return Elements(filter) / last / (depthwise ? before : 1);
}

// The operations of Conv2D and its gradients, which have the filter and the forward result at different positions among
// their inputs and outputs.
double ConvolutionFlops(std::string_view op, std::span<const Shape> inputs, std::span<const Shape> outputs) {
  const bool depthwise = op.find("Depthwise") != op.npos;
  const bool to_input = op.find("BackpropInput") != op.npos, to_filter = op.find("BackpropFilter") != op.npos;
  if (inputs.size() < 2 || outputs.empty() || ((to_input || to_filter) && inputs.size() < 3)) return 0;
  const Shape& filter = to_filter ? outputs[0] : inputs[1];
  const Shape& results = to_input || to_filter ? inputs[2] : outputs[0];
  return 2 * Elements(results) * ProductsOfFilter(filter, depthwise);
}

}  // namespace

int64_t TensorBytes(DType dtype, const Shape& shape) {
  return CheckedMultiply(shape.num_elements(), static_cast<int64_t>(SizeOf(BaseType(dtype)))).value_or(INT64_MAX);
}

OpWork EstimateWork(const Node& node, std::span<const Shape> inputs, std::span<const Shape> outputs) {
  OpWork work;
  if (node.schema->cost == OpCost::kFree || IsControlFlow(node)) {
    work.is_free = true;
    return work;
  }
  double elements = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    elements = std::max(elements, Elements(inputs[i]));
    work.bytes += static_cast<double>(TensorBytes(node.input_type(static_cast<int>(i)), inputs[i]));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    elements = std::max(elements, Elements(outputs[i]));
    work.bytes += static_cast<double>(TensorBytes(node.output_type(static_cast<int>(i)), outputs[i]));
  }
  const OpSchema& schema = *node.schema;
  if (schema.contraction == Contraction::kConvolution) {
    work.flops = ConvolutionFlops(node.op(), inputs, outputs);
  } else if (schema.contraction != Contraction::kNone && !inputs.empty() && !outputs.empty()) {
    work.flops = 2 * Elements(outputs[0]) * SummedDimension(node, inputs[0]);
  } else {
    work.flops = elements * (schema.cost == OpCost::kTranscendental ? kTranscendentalFlops : 1);
  }
  return work;
}

}  // namespace weir
