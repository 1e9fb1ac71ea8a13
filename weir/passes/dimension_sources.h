// Which dimensions of tensors are equal though nobody knows them: the batch of two layers, of a value and its gradient.
//
// A dimension that is not known is traced back to where it comes from: through elementwise operations, transposes,
// reshapes to shapes that were taken of tensors, products, gathers and others.
#ifndef WEIR_PASSES_DIMENSION_SOURCES_H_
#define WEIR_PASSES_DIMENSION_SOURCES_H_

#include <utility>

#include "weir/passes/rewrite_context.h"

namespace weir {

class DimensionSources {
 public:
  // REQUIRES: the context outlives this, and nodes that were asked for do not change their values.
  explicit DimensionSources(RewriteContext& context) : context_(context), graph_(context.graph()) {}

  // Whether dimension `i` of `a` is as large as dimension `j` of `b` in every run. False if that is not sure.
  bool AreEqual(Endpoint a, int i, Endpoint b, int j);
  // Whether two tensors have the same shape.
  bool HaveOneShape(Endpoint a, Endpoint b);
  // Whether the dimension of a Reshape's result that is not known is what the others leave over.
  bool IsLeftOver(const Node& reshape, int axis);

 private:
  // A size, or the dimension that it is, so many times.
  struct Source {
    int64_t size = -1;
    Endpoint tensor{kNoNode, 0};
    int axis = 0;
    int64_t factor = 1;
    bool is_known() const { return size >= 0 || tensor.node != kNoNode; }
    bool operator==(const Source& other) const = default;
  };
  Source Of(Endpoint tensor, int axis, int depth = 0);
  Source Trace(const Node& node, int output, int axis, int depth);
  Source OfOperands(const Node& node, int rank, int axis, int depth);
  Source LeftOver(const Node& reshape, int axis, int depth);
  Source OfProduct(const Node& node, int rank, int axis, int depth);
  Source OfEinsum(const Node& node, int axis, int depth);
  Source OfSlice(const Node& node, int axis, int depth);
  Source OfReduction(const Node& node, int axis, int depth);
  // An element of a vector of sizes, or a scalar.
  Source Element(Endpoint sizes, int64_t at, int depth);

  RewriteContext& context_;
  Graph& graph_;
  absl::flat_hash_map<std::pair<Endpoint, int>, Source> known_;
};

}  // namespace weir

#endif  // WEIR_PASSES_DIMENSION_SOURCES_H_
