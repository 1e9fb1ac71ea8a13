// The networks that only devices other than the host train.
#include "benchmarks/models/networks.h"

namespace weir::bench {
namespace {

Value Classifier(Net& n, Value x, std::initializer_list<int64_t> widths) {
  x = n.Flatten(x);
  int layer = 1;
  for (int64_t width : widths) {
    if (layer > 1) x = n.Relu(x);
    x = n.Dense(Cat("fc", layer++), x, width);
  }
  return x;
}

// A convolution, a batch norm and a rectifier, as GoogLeNet and its successors have them. Names count up.
class Normed {
 public:
  explicit Normed(Net& net) : net_(net) {}
  Value operator()(Value x, int64_t out, int64_t size, int64_t stride = 1, int64_t pad = -1) {
    return Finish(net_.Conv(NextName(), x, size, out, stride, pad, false));
  }
  // A window of other height than width, which keeps the image's size.
  Value Strip(Value x, int64_t out, int64_t height, int64_t width) {
    return Finish(net_.ConvStrip(NextName(), x, height, width, out));
  }

 private:
  std::string NextName() { return name_ = Cat("conv", ++count_); }
  Value Finish(Value x) { return net_.Relu(net_.BatchNorm(name_ + "/bn", x, 1e-3f)); }
  Net& net_;
  std::string name_;
  int count_ = 0;
};

Value JoinChannels(const std::vector<Value>& parts) { return emit::Concat(parts, 3); }

// torchvision's: the third branch has a window of 3x3, too.
Value GoogLeNetBlock(Net& n, Normed& conv, Value x, const std::array<int64_t, 6>& widths) {
  Value pool = conv(n.MaxPoolSame(x, 3, 1), widths[5], 1);
  return JoinChannels({conv(x, widths[0], 1), conv(conv(x, widths[1], 1), widths[2], 3),
                       conv(conv(x, widths[3], 1), widths[4], 3), pool});
}

// Inception v3's blocks, named by the sizes of their images.
Value Block35(Net& n, Normed& conv, Value x, int64_t pool_width) {
  Value small = conv(x, 64, 1), large = conv(conv(x, 48, 1), 64, 5);
  Value deep = conv(conv(conv(x, 64, 1), 96, 3), 96, 3);
  return JoinChannels({small, large, deep, conv(n.AveragePoolSame(x, 3), pool_width, 1)});
}
Value Block17(Net& n, Normed& conv, Value x, int64_t width) {
  Value small = conv(x, 192, 1);
  Value cross = conv.Strip(conv.Strip(conv(x, width, 1), width, 1, 7), 192, 7, 1);
  Value deep = conv.Strip(conv.Strip(conv(x, width, 1), width, 7, 1), width, 1, 7);
  deep = conv.Strip(conv.Strip(deep, width, 7, 1), 192, 1, 7);
  return JoinChannels({small, cross, deep, conv(n.AveragePoolSame(x, 3), 192, 1)});
}
Value Block8(Net& n, Normed& conv, Value x) {
  Value small = conv(x, 320, 1), middle = conv(x, 384, 1), deep = conv(conv(x, 448, 1), 384, 3);
  return JoinChannels({small, conv.Strip(middle, 384, 1, 3), conv.Strip(middle, 384, 3, 1), conv.Strip(deep, 384, 1, 3),
                       conv.Strip(deep, 384, 3, 1), conv(n.AveragePoolSame(x, 3), 192, 1)});
}

}  // namespace

Value SmallMnistCnn(Net& n, Value x) {
  return Classifier(n, n.MaxPool(n.Relu(n.Conv("conv", x, 3, 32, 1, 0)), 2, 2), {64, 10});
}

Value OverFeat(Net& n, Value x) {
  x = n.MaxPool(n.Relu(n.Conv("conv1", x, 11, 96, 4, 0)), 2, 2);
  x = n.MaxPool(n.Relu(n.Conv("conv2", x, 5, 256, 1, 0)), 2, 2);
  x = n.Relu(n.Conv("conv3", x, 3, 512));
  x = n.Relu(n.Conv("conv4", x, 3, 1024));
  x = n.Relu(n.Conv("conv5", x, 3, 1024));
  return Classifier(n, n.MaxPool(x, 2, 2), {3072, 4096, 1000});
}

Value VggA(Net& n, Value x) {
  int count = 0;
  for (const std::vector<int64_t>& stage : {std::vector<int64_t>{64}, {128}, {256, 256}, {512, 512}, {512, 512}}) {
    for (int64_t width : stage) x = n.Relu(n.Conv(Cat("conv", ++count), x, 3, width));
    x = n.MaxPool(x, 2, 2);
  }
  return Classifier(n, x, {4096, 4096, 1000});
}

Value GoogLeNet(Net& n, Value x) {
  Normed conv(n);
  // Windows that reach over the edge are what torchvision's ceil_mode leaves.
  x = n.MaxPoolSame(conv(x, 64, 7, 2), 3, 2);
  x = n.MaxPoolSame(conv(conv(x, 64, 1), 192, 3), 3, 2);
  auto block = [&](const std::array<int64_t, 6>& widths) { x = GoogLeNetBlock(n, conv, x, widths); };
  block({64, 96, 128, 16, 32, 32});
  block({128, 128, 192, 32, 96, 64});
  x = n.MaxPoolSame(x, 3, 2);
  block({192, 96, 208, 16, 48, 64});
  block({160, 112, 224, 24, 64, 64});
  block({128, 128, 256, 24, 64, 64});
  block({112, 144, 288, 32, 64, 64});
  block({256, 160, 320, 32, 128, 128});
  x = n.MaxPoolSame(x, 2, 2);
  block({256, 160, 320, 32, 128, 128});
  block({384, 192, 384, 48, 128, 128});
  return n.Dense("fc", n.Dropout(n.MeanOfImage(x), 0.2f), 1000);
}

Value InceptionV3(Net& n, Value x) {
  Normed conv(n);
  x = conv(conv(conv(x, 32, 3, 2, 0), 32, 3, 1, 0), 64, 3);
  x = conv(conv(n.MaxPool(x, 3, 2), 80, 1), 192, 3, 1, 0);
  x = n.MaxPool(x, 3, 2);
  for (int64_t pool_width : {32, 64, 64}) x = Block35(n, conv, x, pool_width);
  Value narrow = conv(x, 384, 3, 2, 0), deep = conv(conv(conv(x, 64, 1), 96, 3), 96, 3, 2, 0);
  x = JoinChannels({narrow, deep, n.MaxPool(x, 3, 2)});
  for (int64_t width : {128, 160, 160, 192}) x = Block17(n, conv, x, width);
  narrow = conv(conv(x, 192, 1), 320, 3, 2, 0);
  deep = conv(conv.Strip(conv.Strip(conv(x, 192, 1), 192, 1, 7), 192, 7, 1), 192, 3, 2, 0);
  x = JoinChannels({narrow, deep, n.MaxPool(x, 3, 2)});
  for (int i = 0; i < 2; ++i) x = Block8(n, conv, x);
  return n.Dense("fc", n.Dropout(n.MeanOfImage(x)), 1000);
}

Value LargeLstmLanguageModel(Net& n, Value ids) {
  constexpr int64_t kWords = 40'000, kUnits = 512;
  Value by_step = n.LstmBySteps("lstm", n.Embed("embed", emit::Transpose(ids, {1, 0}), kWords, kUnits), kUnits);
  return n.Dense("out", n.Reshape(by_step, {-1, kUnits}), kWords);
}

}  // namespace weir::bench
