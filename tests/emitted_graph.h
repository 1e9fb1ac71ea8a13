// For tests of whole graphs: one that is written operation by operation, its feeds, and sessions that run it.
#ifndef WEIR_TESTS_EMITTED_GRAPH_H_
#define WEIR_TESTS_EMITTED_GRAPH_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "weir/autodiff/emit.h"
#include "weir/autodiff/graph_emitter.h"
#include "weir/client/environment.h"
#include "weir/passes/rewrite_context.h"
#include "weir/runtime/session.h"

namespace weir {

inline AttrList Ints(std::vector<int64_t> values) {
  AttrList list;
  list.i = std::move(values);
  return list;
}

class EmittedGraphTest : public testing::Test {
 protected:
  EmittedGraphTest()
      : environment_(DefaultEnvironment()), graph_(environment_->ops), shapes_(graph_), emit_(graph_, shapes_) {}

  // A placeholder that is fed this in every run.
  Value Feed(Tensor value) {
    Value out = emit_.Op("Placeholder", {}, {{"dtype", value.dtype()}, {"shape", value.shape()}});
    feeds_.emplace_back(Cat(graph_.node(out.node())->name, ":0"), std::move(value));
    return out;
  }

  Status Apply(Status (*pass)(RewriteContext&)) {
    RewriteContext context(&graph_);
    return pass(context);
  }

  // What the last of `times` steps of a new session gives.
  std::vector<Tensor> RunIn(const SessionOptions& options, const std::vector<Value>& fetches, int times = 1) {
    auto session = Session::Create(environment_, options).value();
    EXPECT_TRUE(session->Extend(graph_).ok());
    std::vector<std::string> names;
    for (Value fetch : fetches) names.push_back(graph_.TensorName({fetch.node(), fetch.index()}));
    std::vector<Tensor> out;
    for (int i = 0; i < times; ++i) {
      Status status = session->Run(feeds_, names, {}, &out);
      EXPECT_TRUE(status.ok()) << status;
    }
    out.resize(fetches.size());
    return out;
  }

  std::shared_ptr<Environment> environment_;
  Graph graph_;
  GraphShapes shapes_;
  GraphEmitter emit_;
  std::vector<weir::Feed> feeds_;
};

}  // namespace weir

#endif  // WEIR_TESTS_EMITTED_GRAPH_H_
