// Holds the gradient of an op against differences of its values.
//
// The op is put into a graph, its floating and complex inputs as placeholders, the others as constants. Every element
// of those inputs is moved a little to and fro: that gives the numeric Jacobian. AddGradients with every element of
// every output as the one that something flows into gives the symbolic one. Both must agree, with known and with
// unknown shapes. A complex element is two real ones.
#ifndef WEIR_TESTING_GRADIENT_CHECKER_H_
#define WEIR_TESTING_GRADIENT_CHECKER_H_

#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "weir/autodiff/gradients.h"
#include "weir/graph/graph.h"

namespace weir {

// One op with its attributes and inputs.
struct GradientCase {
  explicit GradientCase(std::string op_name) : op(std::move(op_name)) {}

  // Random numbers of a shape, in [low, high), whole steps apart from each other so that no two are nearly equal.
  GradientCase& In(Shape shape, double low = -1, double high = 1);
  // A tensor as it is; differentiated too if it is floating.
  GradientCase& In(Tensor value);
  // Values of the type under test.
  GradientCase& Values(Shape shape, std::vector<double> values);
  GradientCase& Ints(std::vector<int64_t> values);  // an int32 vector
  GradientCase& Int(int64_t value);                 // an int32 scalar
  GradientCase& Attr(std::string_view name, Attribute value);
  // Numbers are complex.
  GradientCase& Complex();
  // In these types too; the default is double alone.
  GradientCase& Types(std::vector<DType> types);
  // The first `count` outputs only; the others are for the op's own gradient.
  GradientCase& Outputs(int count);
  // Nothing is known to flow to these inputs.
  GradientCase& Without(std::initializer_list<int> inputs);
  // The derivative of the derivative too.
  GradientCase& Twice();

  struct Input {
    bool of_type = false;  // made for the type under test from `numbers`
    Tensor value;
    Shape shape;
    std::vector<double> numbers;
    std::vector<double> imaginary;
  };
  std::string op;
  std::vector<Input> inputs;
  AttrMap attrs;
  bool complex = false;
  bool twice = false;
  std::vector<DType> types = {DType::kDouble};
  int outputs = -1;
  std::vector<int> without;
};

// Runs a graph: feeds by placeholder name, fetches by tensor name. A new graph each time `graph` is not the last one.
class GraphRunner {
 public:
  virtual ~GraphRunner() = default;
  virtual Status Load(const Graph& graph) = 0;
  virtual StatusOr<std::vector<Tensor>> Run(const std::vector<std::pair<std::string, Tensor>>& feeds,
                                            const std::vector<std::string>& fetches) = 0;
};

// OK, or what differs where.
Status CheckGradient(const GradientCase& test, const OpRegistry& ops, const GradientRegistry& gradients,
                     GraphRunner& runner);

// Whether the row leaves the type of its numbers open.
bool CanNarrow(const GradientCase& test);
// Holds the gradient in a narrower type against the one of doubles, which CheckGradient has held against differences:
// in a narrow type itself they show nothing.
Status CheckNarrowGradient(const GradientCase& test, DType narrow, const OpRegistry& ops,
                           const GradientRegistry& gradients, GraphRunner& runner);

}  // namespace weir

#endif  // WEIR_TESTING_GRADIENT_CHECKER_H_
