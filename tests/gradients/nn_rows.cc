#include "gradient_rows.h"

namespace weir::gradient_rows {

std::vector<GradientCase> Nn() {
  using Case = GradientCase;
  std::vector<Case> rows;
  auto add = [&](Case row) { rows.push_back(std::move(row)); };
  for (const char* op : {"Relu", "Relu6", "Elu", "Selu", "LeakyRelu"}) {
    add(Case(op).Values({6}, {-1.5, -0.4, 0.3, 2, 5, 7}).Types({DType::kDouble, DType::kFloat}).Twice());
  }
  for (const char* op : {"Softplus", "Softsign"}) add(Case(op).In({4}, -2, 2));
  add(Case("Softplus").In({4}, -2, 2).Twice());
  for (const char* op : {"Softmax", "LogSoftmax"}) add(Case(op).In({2, 3}).Types({DType::kDouble}).Twice());
  add(Case("L2Loss").In({2, 3}).Twice());
  add(Case("IsotonicRegression").In({2, 6}).Attr("output_dtype", DType::kDouble));
  add(Case("BiasAdd").In({2, 2, 3}).In({3}));
  add(Case("BiasAdd").In({2, 3, 2, 1}).In({3}).Attr("data_format", "NCHW").Twice());
  add(Case("BiasAddV1").In({2, 3}).In({3}));
  add(Case("BiasAddGrad").In({2, 3}));
  add(Case("SoftmaxCrossEntropyWithLogits").In({2, 3}).Values({2, 3}, {0.2, 0.3, 0.5, 0.1, 0.8, 0.1}).Outputs(1));
  // Operands that broadcast, along the classes and along the batch. The labels of a row must add up to 1.
  add(Case("SoftmaxCrossEntropyWithLogits").In({2, 3}).Values({3}, {0.2, 0.3, 0.5}).Outputs(1));
  add(Case("SoftmaxCrossEntropyWithLogits").In({1, 3}).Values({2, 1}, {1.0 / 3, 1.0 / 3}).Outputs(1));
  add(Case("SoftmaxCrossEntropyWithLogits").In({1}).Values({1, 2}, {0.4, 0.6}).Outputs(1));
  add(Case("SoftmaxCrossEntropyWithLogits").In({2, 1}).Values({2, 3}, {0.2, 0.3, 0.5, 0.1, 0.8, 0.1}).Outputs(1));
  add(Case("SparseSoftmaxCrossEntropyWithLogits").In({2, 3}).Ints({2, 0}).Outputs(1).Twice());
  const Attribute one = IntList({1, 1, 1, 1}), two = IntList({1, 2, 2, 1});
  for (const char* padding : {"SAME", "VALID"}) {
    for (const Attribute& strides : {one, two}) {
      add(Case("Conv2D")
              .In({1, 4, 3, 2})
              .In({2, 2, 2, 2})
              .Attr("strides", strides)
              .Attr("padding", padding)
              .Types({DType::kFloat}));
      add(Case("DepthwiseConv2dNative")
              .In({1, 3, 3, 2})
              .In({2, 2, 2, 1})
              .Attr("strides", strides)
              .Attr("padding", padding));
      add(Case("AvgPool").In({1, 4, 3, 1}).Attr("ksize", two).Attr("strides", strides).Attr("padding", padding));
      add(Case("MaxPool").In({1, 4, 3, 1}).Attr("ksize", two).Attr("strides", strides).Attr("padding", padding));
    }
  }
  const Attribute one3 = IntList({1, 1, 1, 1, 1}), two3 = IntList({1, 2, 2, 2, 1});
  add(Case("Conv3D")
          .In({1, 2, 3, 2, 1})
          .In({2, 2, 1, 1, 2})
          .Attr("strides", one3)
          .Attr("padding", "VALID")
          .Types({DType::kFloat}));
  // Windows that tile the image, and the same ones shifted.
  for (const auto& padding : {std::vector<int64_t>{}, {0, 0, 1, 0, 1, 0, 0, 0}}) {
    AttrList sizes, amounts;
    sizes.i = {1, 2, 2, 1};
    amounts.i = padding;
    add(Case("MaxPool")
            .In({2, 4, 4, 3})
            .Attr("ksize", sizes)
            .Attr("strides", sizes)
            .Attr("padding", padding.empty() ? "VALID" : "EXPLICIT")
            .Attr("explicit_paddings", amounts));
  }
  for (const char* op : {"AvgPool3D", "MaxPool3D"}) {
    Case row = Case(op).In({1, 2, 2, 2, 1}).Attr("ksize", two3).Attr("strides", one3).Attr("padding", "SAME");
    add(row.Types({DType::kFloat}));
  }
  for (bool training : {true, false}) {
    Case row = Case("FusedBatchNorm").In({2, 2, 1, 2}, -1, 2).In({2}, 0.5, 1.5).In({2});
    if (training) {
      const Tensor none = Tensor::Zeros(DType::kFloat, Shape({0})).value();
      row.In(none).In(none);
    } else {
      row.In({2}).In({2}, 0.5, 1);
    }
    row.Attr("is_training", training).Attr("epsilon", 0.1f).Types({DType::kFloat}).Outputs(1);
    add(row.Without({3, 4}).Twice());
  }
  add(Case("TopKV2").In({2, 4}).Int(2));
  add(Case("LRN").In({1, 1, 2, 4}, 0.5, 1).Types({DType::kFloat}));
  return rows;
}

}  // namespace weir::gradient_rows
