#include "weir/testing/gradient_checker.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <random>

#include "weir/autodiff/emit.h"

namespace weir {
namespace {

bool IsNumber(DType dtype) { return IsFloating(dtype) || IsComplex(dtype); }

using NumberOf = decltype(FloatTypes{} + ComplexTypes{});

// The elements as real numbers; a complex one is two.
std::vector<double> ToReals(const Tensor& tensor) {
  std::vector<double> out;
  DispatchDType(tensor.dtype(), NumberOf{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (const T& value : tensor.span<T>()) {
      if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
        out.push_back(value.real());
        out.push_back(value.imag());
      } else if constexpr (std::is_same_v<T, double>) {
        out.push_back(value);
      } else {
        out.push_back(static_cast<float>(value));
      }
    }
  });
  return out;
}

Tensor FromReals(DType dtype, const Shape& shape, const std::vector<double>& reals) {
  Tensor out = Tensor::Zeros(dtype, shape).value();
  DispatchDType(dtype, NumberOf{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* data = out.data<T>();
    for (int64_t i = 0; i < shape.num_elements(); ++i) {
      if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
        data[i] =
            T(static_cast<typename T::value_type>(reals[2 * i]), static_cast<typename T::value_type>(reals[2 * i + 1]));
      } else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, float>) {
        data[i] = static_cast<T>(reals[i]);
      } else {
        data[i] = T(static_cast<float>(reals[i]));
      }
    }
  });
  return out;
}

Tensor Moved(const Tensor& tensor, size_t at, double by) {
  std::vector<double> reals = ToReals(tensor);
  reals[at] += by;
  return FromReals(tensor.dtype(), tensor.shape(), reals);
}

DType TypeUnderTest(const GradientCase& test, DType real) {
  if (!test.complex) return real;
  return real == DType::kDouble ? DType::kComplex128 : DType::kComplex64;
}

struct Checker {
  const GradientCase& test;
  const OpRegistry& ops;
  const GradientRegistry& gradients;
  GraphRunner& runner;
  DType real;
  bool known_shapes;

  std::vector<Tensor> inputs;
  std::vector<int> moved = {};            // inputs that are differentiated
  std::vector<std::string> fetches = {};  // outputs that are

  std::vector<std::pair<std::string, Tensor>> Feeds() const {
    std::vector<std::pair<std::string, Tensor>> feeds;
    for (int i : moved) feeds.emplace_back(Cat("x", i), inputs[i]);
    return feeds;
  }
  StatusOr<Endpoint> Placeholder(Graph& graph, const std::string& name, const Tensor& like) const {
    Graph::NodeSpec spec{.name = name, .op = "Placeholder"};
    spec.attrs.Set("dtype", like.dtype());
    if (known_shapes) spec.attrs.Set("shape", like.shape());
    WEIR_ASSIGN_OR_RETURN(Node * node, graph.AddNode(std::move(spec)));
    return Endpoint{node->id, 0};
  }

  // The name of a tensor that may be a fed one; empty if there is none.
  StatusOr<std::string> Fetchable(Graph& graph, Endpoint tensor) const {
    if (tensor.node == kNoNode) return std::string();
    Graph::NodeSpec spec{.op = "Identity", .inputs = {tensor}};
    spec.attrs.Set("T", BaseType(graph.type(tensor)));
    WEIR_ASSIGN_OR_RETURN(Node * node, graph.AddNode(std::move(spec)));
    return graph.TensorName({node->id, 0});
  }

  // The op and what feeds it.
  StatusOr<Node*> Build(Graph& graph) {
    std::vector<Endpoint> endpoints;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool constant = !IsNumber(inputs[i].dtype()) || std::ranges::find(test.without, i) != test.without.end();
      if (!constant) {
        moved.push_back(static_cast<int>(i));
        WEIR_ASSIGN_OR_RETURN(Endpoint x, Placeholder(graph, Cat("x", i), inputs[i]));
        endpoints.push_back(x);
        continue;
      }
      Graph::NodeSpec spec{.name = Cat("c", i), .op = "Const"};
      spec.attrs.Set("dtype", inputs[i].dtype());
      spec.attrs.Set("value", inputs[i]);
      WEIR_ASSIGN_OR_RETURN(Node * node, graph.AddNode(std::move(spec)));
      endpoints.push_back({node->id, 0});
    }
    Graph::NodeSpec spec{.name = "op", .op = test.op};
    spec.attrs = test.attrs;
    spec.inputs = endpoints;
    WEIR_RETURN_IF_ERROR(InferTypes(spec));
    return graph.AddNode(std::move(spec));
  }

  // Types and lengths that follow from the inputs.
  Status InferTypes(Graph::NodeSpec& spec) const {
    WEIR_ASSIGN_OR_RETURN(const OpSchema* schema, ops.LookUp(test.op));
    size_t next = 0;
    int lists = 0;
    for (const ArgSchema& arg : schema->inputs) lists += !arg.number_attr.empty();
    for (const ArgSchema& arg : schema->inputs) {
      size_t count = 1;
      if (!arg.type_list_attr.empty()) return Unimplemented("Lists of types in a gradient case");
      if (!arg.number_attr.empty()) {
        const Attribute* given = spec.attrs.Find(arg.number_attr);
        count = given != nullptr ? static_cast<size_t>(*given->get_if<int64_t>())
                                 : inputs.size() - (schema->inputs.size() - 1);
        if (given == nullptr) spec.attrs.Set(arg.number_attr, static_cast<int64_t>(count));
      }
      if (next + count > inputs.size()) return InvalidArgument("Too few inputs for ", test.op);
      if (!arg.type_attr.empty() && spec.attrs.Find(arg.type_attr) == nullptr) {
        spec.attrs.Set(arg.type_attr, inputs[next].dtype());
      }
      next += count;
    }
    return OkStatus();
  }

  // Rows: elements of outputs; columns: elements of inputs.
  using Matrix = std::vector<std::vector<double>>;

  StatusOr<std::vector<double>> Values(const std::vector<std::pair<std::string, Tensor>>& feeds,
                                       const std::vector<std::string>& names) {
    WEIR_ASSIGN_OR_RETURN(std::vector<Tensor> out, runner.Run(feeds, names));
    std::vector<double> reals;
    for (const Tensor& tensor : out) {
      std::vector<double> each = ToReals(tensor);
      reals.insert(reals.end(), each.begin(), each.end());
    }
    return reals;
  }

  StatusOr<Matrix> Numeric(const std::vector<std::pair<std::string, Tensor>>& more,
                           const std::vector<std::string>& names) {
    const double step = real == DType::kDouble ? 1e-5 : 2e-2;
    Matrix columns;
    std::vector<std::pair<std::string, Tensor>> feeds = Feeds();
    feeds.insert(feeds.end(), more.begin(), more.end());
    for (size_t i = 0; i < moved.size(); ++i) {
      const Tensor value = inputs[moved[i]];
      for (size_t j = 0; j < ToReals(value).size(); ++j) {
        feeds[i].second = Moved(value, j, step);
        WEIR_ASSIGN_OR_RETURN(std::vector<double> above, Values(feeds, names));
        feeds[i].second = Moved(value, j, -step);
        WEIR_ASSIGN_OR_RETURN(std::vector<double> below, Values(feeds, names));
        for (size_t k = 0; k < above.size(); ++k) above[k] = (above[k] - below[k]) / (2 * step);
        columns.push_back(std::move(above));
      }
      feeds[i].second = value;
    }
    return columns;
  }

  // Flows one element of `flows` after the other; the gradients are fetched by name, empty: none.
  StatusOr<Matrix> Symbolic(const std::vector<std::pair<std::string, Tensor>>& flows,
                            const std::vector<std::string>& gradient_names) {
    Matrix rows;
    std::vector<std::string> names;
    for (const std::string& name : gradient_names) {
      if (!name.empty()) names.push_back(name);
    }
    for (size_t i = 0; i < flows.size(); ++i) {
      for (size_t j = 0; j < ToReals(flows[i].second).size(); ++j) {
        auto feeds = Feeds();
        for (const auto& [name, zeros] : flows) feeds.emplace_back(name, zeros);
        feeds[moved.size() + i].second = Moved(flows[i].second, j, 1.0);
        std::vector<Tensor> out;
        if (!names.empty()) {
          WEIR_ASSIGN_OR_RETURN(out, runner.Run(feeds, names));
        }
        std::vector<double> row;
        size_t next = 0;
        for (size_t k = 0; k < gradient_names.size(); ++k) {
          const Tensor& x = inputs[moved[k]];
          if (gradient_names[k].empty()) {
            row.insert(row.end(), ToReals(x).size(), 0.0);
            continue;
          }
          const Tensor& gradient = out[next++];
          if (gradient.dtype() != x.dtype() || gradient.shape() != x.shape()) {
            return InvalidArgument("The gradient of input ", moved[k], " is ", Name(gradient.dtype()), " ",
                                   gradient.shape().ToString(), ", the input ", Name(x.dtype()), " ",
                                   x.shape().ToString());
          }
          std::vector<double> each = ToReals(gradient);
          row.insert(row.end(), each.begin(), each.end());
        }
        rows.push_back(std::move(row));
      }
    }
    return rows;
  }

  // Every element of the outputs by every element of the inputs, without differences.
  StatusOr<Matrix> SymbolicJacobian() {
    Graph graph(ops);
    graph.versions().producer = kGraphDefVersion;
    std::vector<std::pair<std::string, Tensor>> flows;
    std::vector<std::string> names;
    std::vector<Endpoint> xs, dense;
    WEIR_RETURN_IF_ERROR(AddGradientsOf(graph, flows, names, xs, dense));
    WEIR_RETURN_IF_ERROR(runner.Load(graph));
    return Symbolic(flows, names);
  }

  Status Compare(const Matrix& numeric, const Matrix& symbolic) const {
    const double tolerance = real == DType::kDouble ? 2e-6 : 2e-2;
    for (size_t column = 0; column < numeric.size(); ++column) {
      for (size_t row = 0; row < symbolic.size(); ++row) {
        if (row >= numeric[column].size()) return Internal("The Jacobians have different sizes");
        const double a = numeric[column][row], b = symbolic[row][column];
        if (std::abs(a - b) <= tolerance * std::max({1.0, std::abs(a), std::abs(b)})) continue;
        return InvalidArgument("d output[", row, "] / d input[", column, "] is ", b, " but differences give ", a);
      }
    }
    return OkStatus();
  }

  // The op, zeros of its outputs' shapes to let flow in, and the names of what then comes out for each input.
  Status AddGradientsOf(Graph& graph, std::vector<std::pair<std::string, Tensor>>& flows,
                        std::vector<std::string>& names, std::vector<Endpoint>& xs, std::vector<Endpoint>& dense) {
    WEIR_ASSIGN_OR_RETURN(Node * op, Build(graph));
    std::vector<Endpoint> ys;
    for (int i = 0; i < op->num_outputs(); ++i) {
      if (IsNumber(op->output_type(i)) && (test.outputs < 0 || i < test.outputs)) ys.push_back({op->id, i});
    }
    for (int i : moved) xs.push_back(op->inputs[i]);
    for (Endpoint y : ys) fetches.push_back(graph.TensorName(y));

    // The outputs' shapes must be known for what flows into them.
    WEIR_RETURN_IF_ERROR(runner.Load(graph));
    WEIR_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, runner.Run(Feeds(), fetches));
    std::vector<Endpoint> grad_ys;
    for (size_t i = 0; i < ys.size(); ++i) {
      WEIR_ASSIGN_OR_RETURN(Tensor zeros, Tensor::Zeros(outputs[i].dtype(), outputs[i].shape()));
      flows.emplace_back(Cat("flow", i), zeros);
      WEIR_ASSIGN_OR_RETURN(Endpoint flow, Placeholder(graph, Cat("flow", i), zeros));
      grad_ys.push_back(flow);
    }
    WEIR_ASSIGN_OR_RETURN(dense, AddDenseGradients(graph, gradients, ys, xs, grad_ys));
    for (Endpoint each : dense) {
      WEIR_ASSIGN_OR_RETURN(std::string name, Fetchable(graph, each));
      names.push_back(std::move(name));
    }
    return OkStatus();
  }

  Status Run() {
    Graph graph(ops);
    graph.versions().producer = kGraphDefVersion;
    std::vector<std::pair<std::string, Tensor>> flows;
    std::vector<std::string> names, second_names;
    std::vector<Endpoint> xs, dense;
    WEIR_RETURN_IF_ERROR(AddGradientsOf(graph, flows, names, xs, dense));
    if (test.twice) {
      WEIR_RETURN_IF_ERROR(AddSecond(graph, xs, dense, second_names));
    }
    WEIR_RETURN_IF_ERROR(runner.Load(graph));
    WEIR_ASSIGN_OR_RETURN(Matrix numeric, Numeric({}, fetches));
    WEIR_ASSIGN_OR_RETURN(Matrix symbolic, Symbolic(flows, names));
    WEIR_RETURN_IF_ERROR(Compare(numeric, symbolic));
    return test.twice ? CheckSecond(flows, names, second_names) : OkStatus();
  }

  Status AddSecond(Graph& graph, const std::vector<Endpoint>& xs, const std::vector<Endpoint>& firsts,
                   std::vector<std::string>& second_names) {
    std::vector<Endpoint> ys, grad_ys;
    for (size_t i = 0; i < firsts.size(); ++i) {
      if (firsts[i].node == kNoNode) continue;
      ys.push_back(firsts[i]);
      WEIR_ASSIGN_OR_RETURN(Endpoint flow, Placeholder(graph, Cat("second", i), inputs[moved[i]]));
      grad_ys.push_back(flow);
    }
    WEIR_ASSIGN_OR_RETURN(std::vector<Endpoint> dense, AddDenseGradients(graph, gradients, ys, xs, grad_ys));
    for (Endpoint each : dense) {
      WEIR_ASSIGN_OR_RETURN(std::string name, Fetchable(graph, each));
      second_names.push_back(std::move(name));
    }
    return OkStatus();
  }

  // The gradient is a function of the inputs like any other, once what flows in is fixed.
  Status CheckSecond(const std::vector<std::pair<std::string, Tensor>>& flows, const std::vector<std::string>& names,
                     const std::vector<std::string>& second_names) {
    std::mt19937 random(7);
    std::vector<std::pair<std::string, Tensor>> fixed;
    for (const auto& [name, zeros] : flows) {
      std::vector<double> reals = ToReals(zeros);
      for (double& each : reals) each = std::uniform_real_distribution<double>(0.5, 1.5)(random);
      fixed.emplace_back(name, FromReals(zeros.dtype(), zeros.shape(), reals));
    }
    std::vector<std::string> firsts;
    std::vector<std::pair<std::string, Tensor>> second_flows;
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i].empty()) continue;
      firsts.push_back(names[i]);
      const Tensor& x = inputs[moved[i]];
      WEIR_ASSIGN_OR_RETURN(Tensor zeros, Tensor::Zeros(x.dtype(), x.shape()));
      second_flows.emplace_back(Cat("second", i), zeros);
    }
    WEIR_ASSIGN_OR_RETURN(Matrix numeric, Numeric(fixed, firsts));
    Matrix symbolic;
    {
      std::vector<std::pair<std::string, Tensor>> all = second_flows;
      FixedRunner with_fixed(runner, fixed);
      Checker inner{test, ops, gradients, with_fixed, real, known_shapes, inputs, moved, fetches};
      WEIR_ASSIGN_OR_RETURN(symbolic, inner.Symbolic(all, second_names));
    }
    return Annotate(Compare(numeric, symbolic), "Second derivative: ");
  }

  // Adds feeds that stay the same.
  class FixedRunner : public GraphRunner {
   public:
    FixedRunner(GraphRunner& runner, std::vector<std::pair<std::string, Tensor>> fixed)
        : runner_(runner), fixed_(std::move(fixed)) {}
    Status Load(const Graph& graph) override { return runner_.Load(graph); }
    StatusOr<std::vector<Tensor>> Run(const std::vector<std::pair<std::string, Tensor>>& feeds,
                                      const std::vector<std::string>& fetches) override {
      auto all = feeds;
      all.insert(all.end(), fixed_.begin(), fixed_.end());
      return runner_.Run(all, fetches);
    }

   private:
    GraphRunner& runner_;
    std::vector<std::pair<std::string, Tensor>> fixed_;
  };
};

}  // namespace

GradientCase& GradientCase::In(Shape shape, double low, double high) {
  // A fixed order of evenly spaced numbers: no two are closer than the steps of the differences.
  const int64_t count = shape.num_elements();
  std::mt19937 random(static_cast<uint32_t>(11 + inputs.size() * 31 + count));
  std::vector<double> reals(static_cast<size_t>(count)), imaginary(reals.size());
  for (int64_t i = 0; i < count; ++i) {
    reals[i] = low + (high - low) * (static_cast<double>(i) + 0.37) / static_cast<double>(count);
    imaginary[i] = low + (high - low) * (static_cast<double>(i) + 0.71) / static_cast<double>(count);
  }
  std::shuffle(reals.begin(), reals.end(), random);
  std::shuffle(imaginary.begin(), imaginary.end(), random);
  inputs.push_back({true, Tensor(), shape, std::move(reals), std::move(imaginary)});
  return *this;
}
GradientCase& GradientCase::In(Tensor value) {
  inputs.push_back({false, std::move(value), {}, {}, {}});
  return *this;
}
GradientCase& GradientCase::Values(Shape shape, std::vector<double> values) {
  std::vector<double> imaginary(values.size(), 0.25);
  inputs.push_back({true, Tensor(), shape, std::move(values), std::move(imaginary)});
  return *this;
}
GradientCase& GradientCase::Ints(std::vector<int64_t> values) { return In(emit::IntsTensor(values)); }
GradientCase& GradientCase::Int(int64_t value) { return In(Tensor::Scalar(static_cast<int32_t>(value))); }
GradientCase& GradientCase::Attr(std::string_view name, Attribute value) {
  attrs.Set(name, std::move(value));
  return *this;
}
GradientCase& GradientCase::Complex() {
  complex = true;
  return *this;
}
GradientCase& GradientCase::Types(std::vector<DType> list) {
  types = std::move(list);
  return *this;
}
GradientCase& GradientCase::Outputs(int count) {
  outputs = count;
  return *this;
}
GradientCase& GradientCase::Without(std::initializer_list<int> list) {
  without = list;
  return *this;
}
GradientCase& GradientCase::Twice() {
  twice = true;
  return *this;
}

namespace {

// The inputs of a row in the type under test. Numbers are those of `rounded`, if that is narrower.
std::vector<Tensor> InputsOf(const GradientCase& test, DType real, DType rounded) {
  std::vector<Tensor> out;
  for (const GradientCase::Input& input : test.inputs) {
    if (!input.of_type) {
      out.push_back(input.value);
      continue;
    }
    std::vector<double> reals = input.numbers;
    if (test.complex) {
      reals.clear();
      for (size_t i = 0; i < input.numbers.size(); ++i) {
        reals.push_back(input.numbers[i]);
        reals.push_back(input.imaginary[i]);
      }
    }
    if (rounded != real) reals = ToReals(FromReals(rounded, input.shape, reals));
    out.push_back(FromReals(TypeUnderTest(test, real), input.shape, reals));
  }
  return out;
}

}  // namespace

Status CheckGradient(const GradientCase& test, const OpRegistry& ops, const GradientRegistry& gradients,
                     GraphRunner& runner) {
  for (DType real : test.types) {
    for (bool known_shapes : {true, false}) {
      Checker checker{test, ops, gradients, runner, real, known_shapes, InputsOf(test, real, real)};
      Status status = checker.Run();
      if (!status.ok()) {
        return Annotate(status, Cat(test.op, " of ", Name(real), known_shapes ? "" : ", shapes unknown", ": "));
      }
    }
  }
  return OkStatus();
}

bool CanNarrow(const GradientCase& test) {
  // Inputs and attributes that name a type of their own leave no choice.
  for (const GradientCase::Input& input : test.inputs) {
    if (!input.of_type && IsNumber(input.value.dtype())) return false;
  }
  for (const auto& [name, value] : test.attrs) {
    const DType* type = value.get_if<DType>();
    if (type != nullptr && IsNumber(*type)) return false;
  }
  return !test.complex;
}

Status CheckNarrowGradient(const GradientCase& test, DType narrow, const OpRegistry& ops,
                           const GradientRegistry& gradients, GraphRunner& runner) {
  Checker exact{test, ops, gradients, runner, DType::kDouble, true, InputsOf(test, DType::kDouble, narrow)};
  WEIR_ASSIGN_OR_RETURN(const Checker::Matrix wanted, exact.SymbolicJacobian());
  Checker checker{test, ops, gradients, runner, narrow, true, InputsOf(test, narrow, narrow)};
  WEIR_ASSIGN_OR_RETURN(const Checker::Matrix found, checker.SymbolicJacobian());
  double largest = 1;
  for (const std::vector<double>& row : wanted) {
    for (double x : row) largest = std::max(largest, std::abs(x));
  }
  // A gradient is a few sums and products of numbers with so many bits, which may cancel.
  const double tolerance = largest * (narrow == DType::kFloat ? 1e-5 : narrow == DType::kHalf ? 1e-2 : 6e-2);
  if (found.size() != wanted.size()) return Internal("The Jacobians have different sizes");
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (found[i].size() != wanted[i].size()) return Internal("The Jacobians have different sizes");
    for (size_t j = 0; j < wanted[i].size(); ++j) {
      if (std::abs(wanted[i][j] - found[i][j]) <= tolerance) continue;
      return InvalidArgument(test.op, " of ", Name(narrow), ": d output[", i, "] / d input[", j, "] is ", found[i][j],
                             ", of double ", wanted[i][j]);
    }
  }
  return OkStatus();
}

}  // namespace weir
