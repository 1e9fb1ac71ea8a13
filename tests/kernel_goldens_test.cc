// Single operations against the values that TensorFlow gave for them (tests/fixtures/make_kernel_goldens.py).
#include <gtest/gtest.h>

#include "absl/strings/ascii.h"
#include "weir/client/environment.h"
#include "weir/io/record_reader.h"
#include "weir/proto/graph.pb.h"
#include "weir/runtime/session.h"
#include "weir/tensor/tensor_proto.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

std::vector<GraphDef> Goldens() {
  std::vector<GraphDef> out;
  auto reader = RecordReader::Open(WEIR_SOURCE_DIR "/tests/fixtures/kernel_goldens.tfrecord").value();
  for (std::string record; reader->Read(&record).ok();) EXPECT_TRUE(out.emplace_back().ParseFromString(record));
  return out;
}

// "INVALID_ARGUMENT" as Python's TensorFlow calls it: "InvalidArgumentError".
std::string PythonName(const Status& status) {
  std::string out;
  bool upper = true;
  for (char c : absl::StatusCodeToString(status.code())) {
    if (c != '_') out += upper ? c : absl::ascii_tolower(static_cast<unsigned char>(c));
    upper = c == '_';
  }
  return out + "Error";
}

// Takes the constants that say what is expected out of the graph.
std::map<std::string, Tensor> TakeExpectations(GraphDef& graph) {
  std::map<std::string, Tensor> out;
  GraphDef rest;
  for (NodeDef& node : *graph.mutable_node()) {
    if (node.name() == "op" || node.name().starts_with("in_")) {
      *rest.add_node() = std::move(node);
    } else {
      out[node.name()] = FromProto(node.attr().at("value").tensor()).value();
    }
  }
  graph.mutable_node()->Swap(rest.mutable_node());
  return out;
}

std::string OpOf(const GraphDef& graph) {
  for (const NodeDef& node : graph.node()) {
    if (node.name() == "op") return node.op();
  }
  return "";
}

void Check(GraphDef graph) {
  std::map<std::string, Tensor> expected = TakeExpectations(graph);
  auto session = Session::Create(DefaultEnvironment()).value();
  std::vector<std::string> fetches;
  for (size_t i = 0; expected.contains(Cat("expected_", i)); ++i) fetches.push_back(Cat("op:", i));
  const std::string only[] = {"op"};
  std::vector<Tensor> outputs;
  Status status = session->ExtendBytes(graph.SerializeAsString());
  if (status.ok()) status = session->Run({}, fetches, only, &outputs);
  if (auto error = expected.find("error"); error != expected.end()) {
    EXPECT_EQ(PythonName(status), error->second.scalar<std::string>()) << status;
    return;
  }
  ASSERT_TRUE(status.ok()) << status;
  const double tolerance = expected["tolerance"].scalar<float>();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& wanted = expected[Cat("expected_", i)];
    if (tolerance > 0 && IsFloating(wanted.dtype())) {
      ExpectTensorNear(outputs[i], wanted, tolerance, tolerance);
    } else {
      ExpectTensorEqual(outputs[i], wanted);
    }
  }
}

TEST(KernelGoldens, AreTensorFlows) {
  std::map<std::string, int> seen;
  for (const GraphDef& graph : Goldens()) {
    const std::string op = OpOf(graph);
    SCOPED_TRACE(Cat(op, " ", seen[op]++));
    Check(graph);
  }
  EXPECT_GE(seen.size(), 52);
}

}  // namespace
}  // namespace weir
