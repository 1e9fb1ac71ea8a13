// Arithmetic of float tensors in the host's memory, for tests of values in variants.
#ifndef WEIR_TESTING_FLOAT_ARITHMETIC_H_
#define WEIR_TESTING_FLOAT_ARITHMETIC_H_

#include "weir/tensor/variant.h"

namespace weir {

class FloatArithmetic : public TensorArithmetic {
 public:
  StatusOr<Tensor> Zeros(DType dtype, const Shape& shape) override { return Tensor::Zeros(dtype, shape); }

 protected:
  StatusOr<Tensor> Add(Tensor a, const Tensor& b) override {
    WEIR_ASSIGN_OR_RETURN(Tensor sum, a.Clone());
    for (int64_t i = 0; i < sum.num_elements(); ++i) sum.data<float>()[i] += b.data<float>()[i];
    return sum;
  }
};

}  // namespace weir

#endif  // WEIR_TESTING_FLOAT_ARITHMETIC_H_
