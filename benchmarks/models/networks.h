// The networks of the benchmark, without their losses. What they take is a batch: images, or the numbers of words.
#ifndef BENCHMARKS_MODELS_NETWORKS_H_
#define BENCHMARKS_MODELS_NETWORKS_H_

#include "benchmarks/models/net.h"

namespace weir::bench {

using Network = Value (*)(Net&, Value x);

// Those of the sections `train` and `infer`.
Value MnistCnn(Net& net, Value x);
Value Mlp(Net& net, Value x);
Value ResNet20(Net& net, Value x);
Value ResNet50(Net& net, Value x);
Value AlexNet(Net& net, Value x);
Value LstmSampled(Net& net, Value ids);  // ends with features, for MeanSampledSoftmax
Value LstmLanguageModel(Net& net, Value ids);
Value SmallTransformer(Net& net, Value ids);
Value GptLike(Net& net, Value ids);
Value Wide(Net& net, Value ids);

// Those that only devices other than the host train.
Value SmallMnistCnn(Net& net, Value x);
Value OverFeat(Net& net, Value x);
Value VggA(Net& net, Value x);
Value GoogLeNet(Net& net, Value x);
Value InceptionV3(Net& net, Value x);
Value LargeLstmLanguageModel(Net& net, Value ids);  // its logits are those of one time step after the other

}  // namespace weir::bench

#endif  // BENCHMARKS_MODELS_NETWORKS_H_
