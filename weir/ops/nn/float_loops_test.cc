// Operations whose loops over floats are written apart from those over other types: both must agree, also on tensors
// that are large enough to be split over threads and vectors.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "weir/ops/nn/register.h"
#include "weir/testing/kernel_runner.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

// Never twice the same value in one window, and some of both signs.
template <typename T>
Tensor Wave(const Shape& shape, double frequency, double height = 1) {
  Tensor out = Tensor::Zeros(kDTypeOf<T>, shape).value();
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    out.data<T>()[i] = static_cast<float>(height * std::sin(static_cast<double>(i) * frequency));
  }
  return out;
}

Tensor Narrowed(const Tensor& wide) {
  if (wide.dtype() != DType::kDouble) return wide;
  Tensor out = Tensor::Zeros(DType::kFloat, wide.shape()).value();
  for (int64_t i = 0; i < out.num_elements(); ++i) out.data<float>()[i] = static_cast<float>(wide.data<double>()[i]);
  return out;
}

class FloatLoopsTest : public testing::Test {
 protected:
  std::vector<Tensor> RunAll(KernelCall& call) {
    auto out = call.Run();
    EXPECT_TRUE(out.ok()) << out.status();
    return out.ok() ? *out : std::vector<Tensor>();
  }
  void ExpectSame(KernelCall narrow, KernelCall wide, double tolerance = 1e-5) {
    std::vector<Tensor> a = RunAll(narrow), b = RunAll(wide);
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) ExpectTensorNear(a[i], Narrowed(b[i]), tolerance, tolerance);
  }
  KernelCall Pool(std::string_view op, int64_t size, int64_t stride, std::string_view padding) {
    return run(op)
        .Attr("ksize", std::vector<int64_t>{1, size, size, 1})
        .Attr("strides", std::vector<int64_t>{1, stride, stride, 1})
        .Attr("padding", Attribute(padding));
  }
  KernelRunner run{RegisterNnKernels};
};

TEST_F(FloatLoopsTest, Pools) {
  for (int64_t channels : {1, 3, 32, 37}) {
    for (int64_t size : {2, 3, 5}) {
      for (std::string_view padding : {"SAME", "VALID"}) {
        SCOPED_TRACE(Cat(channels, " ", size, " ", padding));
        const Shape shape{4, 21, 18, channels};
        auto narrow = Wave<float>(shape, 1.7);
        auto wide = Wave<double>(shape, 1.7);
        for (std::string_view op : {"MaxPool", "AvgPool"}) {
          ExpectSame(Pool(op, size, 2, padding).Input(narrow), Pool(op, size, 2, padding).Input(wide));
        }
        KernelCall forward = Pool("MaxPool", size, 2, padding).Input(narrow);
        const Shape pooled = RunAll(forward)[0].shape();
        ExpectSame(
            Pool("MaxPoolGrad", size, 2, padding).Inputs({narrow, Wave<float>(pooled, 0.3), Wave<float>(pooled, 0.9)}),
            Pool("MaxPoolGrad", size, 2, padding).Inputs({wide, Wave<double>(pooled, 0.3), Wave<double>(pooled, 0.9)}));
      }
    }
  }
}

TEST_F(FloatLoopsTest, PoolsOfWhatIsNoNumber) {
  const Shape shape{2, 9, 9, 75};
  auto narrow = Wave<float>(shape, 1.7);
  auto wide = Wave<double>(shape, 1.7);
  for (int64_t i = 0; i < shape.num_elements(); i += 61) {
    const float odd = i % 3 == 0 ? std::nanf("") : i % 3 == 1 ? INFINITY : -INFINITY;
    narrow.data<float>()[i] = odd;
    wide.data<double>()[i] = odd;
  }
  for (std::string_view op : {"MaxPool", "AvgPool"}) {
    ExpectSame(Pool(op, 3, 2, "SAME").Input(narrow), Pool(op, 3, 2, "SAME").Input(wide));
  }
}

TEST_F(FloatLoopsTest, GradientsOfMeans) {
  for (std::string_view padding : {"SAME", "VALID"}) {
    const int64_t size = padding == "SAME" ? 11 : 10;
    auto call = [&](Tensor gradient) {
      return Pool("AvgPoolGrad", 3, 2, padding).Inputs({Tensor::Vector<int32_t>({3, 21, 21, 19}), std::move(gradient)});
    };
    const Shape shape{3, size, size, 19};
    ExpectSame(call(Wave<float>(shape, 0.7)), call(Wave<double>(shape, 0.7)));
  }
}

TEST_F(FloatLoopsTest, HalfTheSumOfSquares) {
  for (int64_t n : {0, 1, 17, 100'000}) {
    ExpectSame(run("L2Loss").Input(Wave<float>({n}, 0.7)), run("L2Loss").Input(Wave<double>({n}, 0.7)));
  }
}

TEST_F(FloatLoopsTest, TheFirstOfEqualsGetsTheGradient) {
  Tensor same = Tensor::Zeros(DType::kFloat, {1, 2, 2, 1}).value();
  KernelCall call = Pool("MaxPoolGrad", 2, 2, "VALID")
                        .Inputs({same, TensorOf<float>({1, 1, 1, 1}, {0}), TensorOf<float>({1, 1, 1, 1}, {5})});
  ExpectTensorEqual(RunAll(call)[0], TensorOf<float>({1, 2, 2, 1}, {5, 0, 0, 0}));
}

TEST_F(FloatLoopsTest, Softmax) {
  for (int64_t columns : {1, 7, 16, 1000, 1234}) {
    SCOPED_TRACE(columns);
    const Shape shape{37, columns};
    for (std::string_view op : {"Softmax", "LogSoftmax"}) {
      ExpectSame(run(op).Input(Wave<float>(shape, 0.7, 20)), run(op).Input(Wave<double>(shape, 0.7, 20)), 3e-5);
    }
    ExpectSame(run("SoftmaxCrossEntropyWithLogits").Inputs({Wave<float>(shape, 0.7, 9), Wave<float>(shape, 0.2)}),
               run("SoftmaxCrossEntropyWithLogits").Inputs({Wave<double>(shape, 0.7, 9), Wave<double>(shape, 0.2)}),
               2e-4);
    Tensor labels = Tensor::Zeros(DType::kInt32, {37}).value();
    for (int64_t i = 0; i < 37; ++i) labels.data<int32_t>()[i] = static_cast<int32_t>(i * 31 % columns);
    ExpectSame(run("SparseSoftmaxCrossEntropyWithLogits").Inputs({Wave<float>(shape, 0.7, 9), labels}),
               run("SparseSoftmaxCrossEntropyWithLogits").Inputs({Wave<double>(shape, 0.7, 9), labels}), 3e-5);
  }
}

TEST_F(FloatLoopsTest, SoftmaxOfWhatIsNotFinite) {
  for (float odd : {NAN, INFINITY}) {
    Tensor x = Wave<float>({1, 100}, 0.7);
    x.data<float>()[41] = odd;
    KernelCall call = run("Softmax").Input(x);
    EXPECT_TRUE(std::isnan(RunAll(call)[0].data<float>()[41]));
  }
  Tensor x = Wave<float>({1, 100}, 0.7);
  x.data<float>()[41] = -INFINITY;
  KernelCall call = run("Softmax").Input(x);
  EXPECT_EQ(RunAll(call)[0].data<float>()[41], 0);
}

TEST_F(FloatLoopsTest, Biases) {
  for (int64_t channels : {1, 3, 16, 300}) {
    SCOPED_TRACE(channels);
    const Shape shape{50, 31, channels};
    ExpectSame(run("BiasAdd").Inputs({Wave<float>(shape, 0.7), Wave<float>({channels}, 0.2)}),
               run("BiasAdd").Inputs({Wave<double>(shape, 0.7), Wave<double>({channels}, 0.2)}));
    ExpectSame(run("BiasAddGrad").Input(Wave<float>(shape, 0.7)), run("BiasAddGrad").Input(Wave<double>(shape, 0.7)),
               2e-4);
  }
}

// The other order of dimensions has loops of its own.
TEST_F(FloatLoopsTest, BatchNormOfEitherOrder) {
  const int64_t n = 6, h = 5, w = 7;
  for (int64_t c : {1, 3, 16, 40}) {
    SCOPED_TRACE(c);
    Tensor last = Wave<float>({n, h, w, c}, 1.3, 3), gradient = Wave<float>({n, h, w, c}, 0.9);
    for (float& x : last.span<float>()) x += 100;  // far from zero, where squares would drown
    auto second = [&](const Tensor& x) {
      Tensor out = Tensor::Zeros(DType::kFloat, {n, c, h, w}).value();
      for (int64_t i = 0; i < n * h * w; ++i) {
        for (int64_t k = 0; k < c; ++k) {
          out.data<float>()[(i / (h * w) * c + k) * h * w + i % (h * w)] = x.data<float>()[i * c + k];
        }
      }
      return out;
    };
    Tensor scale = Wave<float>({c}, 0.4), offset = Wave<float>({c}, 0.6),
           none = Tensor::Zeros(DType::kFloat, {0}).value();
    auto forward = [&](const Tensor& x, std::string_view format) {
      KernelCall call =
          run("FusedBatchNormV3").Attr("data_format", Attribute(format)).Inputs({x, scale, offset, none, none});
      return RunAll(call);
    };
    auto backward = [&](const Tensor& dy, const Tensor& x, const std::vector<Tensor>& out, std::string_view format) {
      KernelCall call = run("FusedBatchNormGradV3")
                            .Attr("data_format", Attribute(format))
                            .Inputs({dy, x, scale, out[3], out[4], out[5]});
      return RunAll(call);
    };
    std::vector<Tensor> a = forward(last, "NHWC"), b = forward(second(last), "NCHW");
    ExpectTensorNear(second(a[0]), b[0], 1e-4, 1e-4);
    for (size_t i = 1; i < 5; ++i) ExpectTensorNear(a[i], b[i], 1e-5, 1e-5);
    std::vector<Tensor> da = backward(gradient, last, a, "NHWC"),
                        db = backward(second(gradient), second(last), a, "NCHW");
    ExpectTensorNear(second(da[0]), db[0], 1e-4, 1e-4);
    for (size_t i = 1; i < 3; ++i) ExpectTensorNear(da[i], db[i], 1e-4, 1e-4);
  }
}

}  // namespace
}  // namespace weir
