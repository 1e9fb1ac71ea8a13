#include "benchmarks/models/networks.h"

namespace weir::bench {
namespace {

using emit::operator+;

Value ConvNorm(Net& n, const std::string& name, Value x, int64_t size, int64_t out, int64_t stride = 1,
               bool has_relu = true) {
  x = n.BatchNorm(name + "/bn", n.Conv(name, x, size, out, stride, -1, false));
  return has_relu ? n.Relu(x) : x;
}

Value LstmFeatures(Net& n, Value ids) {
  return n.Reshape(n.Lstm("lstm", n.Embed("embed", ids, 10'000, 256), 256), {-1, 256});
}

Value Transformer(Net& n, Value ids, int layers, int64_t width, int64_t heads, int64_t words) {
  const int64_t steps = ids.shape().dim(1);
  n.Reserve("token/table", {words, width});
  n.Reserve("out/w", {width, words});
  Value x = n.Embed("token", ids, words, width);
  x = x + n.Declare("position/table", {steps, width});
  for (int i = 0; i < layers; ++i) {
    const std::string name = Cat("block", i);
    const NodeId begin = n.begin();
    Value attended = n.CausalAttention(n.Dense(name + "/qkv", n.LayerNorm(name + "/ln1", x), 3 * width), heads);
    x = x + n.Dense(name + "/proj", attended, width);
    Value expanded = n.Gelu(n.Dense(name + "/up", n.LayerNorm(name + "/ln2", x), 4 * width));
    x = x + n.Dense(name + "/down", expanded, width);
    n.MarkBlock(begin);
  }
  return n.Dense("out", n.Reshape(n.LayerNorm("ln", x), {-1, width}), words, false);
}

}  // namespace

Value MnistCnn(Net& n, Value x) {
  x = n.MaxPool(n.Relu(n.Conv("conv1", x, 5, 32)), 2, 2);
  x = n.MaxPool(n.Relu(n.Conv("conv2", x, 5, 64)), 2, 2);
  return n.Dense("fc2", n.Dropout(n.Relu(n.Dense("fc1", n.Flatten(x), 1024))), 10);
}

Value Mlp(Net& n, Value x) {
  x = n.Relu(n.Dense("fc1", x, 256));
  return n.Dense("fc3", n.Relu(n.Dense("fc2", x, 128)), 10);
}

Value ResNet20(Net& n, Value x) {
  x = ConvNorm(n, "stem", x, 3, 16);
  int64_t in = 16;
  for (int stage = 0; stage < 3; ++stage) {
    const int64_t out = 16 << stage;
    for (int block = 0; block < 3; ++block) {
      const std::string name = Cat("s", stage, "b", block);
      const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      const NodeId begin = n.begin();
      Value body = ConvNorm(n, name + "/c1", x, 3, out, stride);
      body = ConvNorm(n, name + "/c2", body, 3, out, 1, false);
      Value shortcut = in != out ? ConvNorm(n, name + "/proj", x, 1, out, stride, false) : x;
      x = n.Relu(body + shortcut);
      n.MarkBlock(begin);
      in = out;
    }
  }
  return n.Dense("fc", n.MeanOfImage(x), 10);
}

Value ResNet50(Net& n, Value x) {
  x = n.MaxPool(ConvNorm(n, "stem", x, 7, 64, 2), 3, 2, 1);
  constexpr int kBlocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    const int64_t middle = 64 << stage;
    for (int block = 0; block < kBlocks[stage]; ++block) {
      const std::string name = Cat("s", stage, "b", block);
      const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      const NodeId begin = n.begin();
      Value body = ConvNorm(n, name + "/c1", x, 1, middle);
      body = ConvNorm(n, name + "/c2", body, 3, middle, stride);
      body = ConvNorm(n, name + "/c3", body, 1, 4 * middle, 1, false);
      Value shortcut = block == 0 ? ConvNorm(n, name + "/proj", x, 1, 4 * middle, stride, false) : x;
      x = n.Relu(body + shortcut);
      n.MarkBlock(begin);
    }
  }
  return n.Dense("fc", n.MeanOfImage(x), 1000);
}

Value AlexNet(Net& n, Value x) {
  x = n.MaxPool(n.Relu(n.Conv("conv1", x, 11, 64, 4, 2)), 3, 2);
  x = n.MaxPool(n.Relu(n.Conv("conv2", x, 5, 192)), 3, 2);
  x = n.Relu(n.Conv("conv3", x, 3, 384));
  x = n.Relu(n.Conv("conv4", x, 3, 256));
  x = n.Flatten(n.MaxPool(n.Relu(n.Conv("conv5", x, 3, 256)), 3, 2));
  x = n.Relu(n.Dense("fc6", x, 4096));
  return n.Dense("fc8", n.Relu(n.Dense("fc7", x, 4096)), 1000);
}

Value LstmSampled(Net& n, Value ids) {
  n.Reserve("out/table", {10'000, 256});
  return LstmFeatures(n, ids);
}

Value LstmLanguageModel(Net& n, Value ids) { return n.Dense("out", LstmFeatures(n, ids), 10'000); }

Value SmallTransformer(Net& n, Value ids) { return Transformer(n, ids, 4, 128, 4, 1000); }
Value GptLike(Net& n, Value ids) { return Transformer(n, ids, 12, 768, 12, 50'304); }

Value Wide(Net& n, Value ids) {
  n.Reserve("dot/w", {26 * 32, 1});
  Value rows = n.Reshape(n.Embed("embed", ids, 1'000'000, 32), {-1, 26 * 32});
  return n.Reshape(n.Dense("dot", rows, 1), {-1});
}

}  // namespace weir::bench
