// Shapes of single operations against those that TensorFlow infers (tests/fixtures/make_shape_goldens.py).
#include <gtest/gtest.h>

#include "weir/graph/import.h"
#include "weir/graph/shape_inference.h"
#include "weir/io/record_reader.h"
#include "weir/ops/op_tables.h"

namespace weir {
namespace {

// What was inferred for node `op`, as text; or the error without what names the node.
std::string Inferred(const Graph& graph, const Node& op) {
  auto shapes = InferShapes(graph);
  if (!shapes.ok()) {
    std::string message = Message(shapes.status());
    return message.substr(0, message.find(" for '{{node"));
  }
  std::string out;
  for (const InferredTensor& tensor : shapes->outputs[op.id]) out += Cat(tensor.shape.ToString(), " ");
  return out;
}

std::string Expected(const Node& op) {
  if (auto error = op.Attr<std::string>("_error"); error.ok()) return *error;
  std::string out;
  const auto shapes = op.Attr<std::vector<PartialShape>>("_shapes").value();
  for (const PartialShape& shape : shapes) out += Cat(shape.ToString(), " ");
  return out;
}

TEST(ShapeGoldens, AreTensorFlows) {
  OpRegistry ops;
  ASSERT_TRUE(RegisterBuiltinOps(ops).ok());
  auto reader = RecordReader::Open(WEIR_SOURCE_DIR "/tests/fixtures/shape_goldens.tfrecord").value();
  int rows = 0;
  for (std::string record; reader->Read(&record).ok(); ++rows) {
    Graph graph(ops);
    const Status imported = ImportGraphDefBytes(record, &graph);
    ASSERT_TRUE(imported.ok()) << "row " << rows << ": " << imported;
    const Node* op = graph.Find("op");
    ASSERT_NE(op, nullptr) << "row " << rows;
    std::string about = Cat("row ", rows, ": ", op->op());
    for (Endpoint input : op->inputs) {
      const Node& from = *graph.node(input.node);
      const Attribute* value = from.attrs.Find(from.op() == "Const" ? "value" : "shape");
      about += Cat(", ", value != nullptr ? value->ToString() : from.op());
    }
    const std::string inferred = Inferred(graph, *op), expected = Expected(*op);
    if (op->attrs.Find("_error") != nullptr) {
      EXPECT_TRUE(inferred.find(expected.substr(0, expected.find('\n'))) != inferred.npos)
          << about << "\ninferred: " << inferred << "\nexpected: " << expected;
    } else {
      EXPECT_EQ(inferred, expected) << about;
    }
  }
  EXPECT_GT(rows, 300);
}

}  // namespace
}  // namespace weir
