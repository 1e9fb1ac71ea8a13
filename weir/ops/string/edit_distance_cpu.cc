// Levenshtein distance of the sequences along the last dimension of two sparse tensors.
#include <algorithm>
#include <limits>
#include <numeric>

#include "absl/container/btree_map.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/string/register.h"

namespace weir {
namespace {

using EditTypes = decltype(NumberTypes{} + TypeList<bool, std::string>{});

// One sparse tensor, its inputs checked.
struct Sparse {
  Tensor indices, values, shape;

  static StatusOr<Sparse> Input(KernelContext& ctx, int first, std::string_view name) {
    Sparse out{ctx.input(first), ctx.input(first + 1), ctx.input(first + 2)};
    if (!out.indices.shape().IsMatrix()) {
      return InvalidArgument(name, "_indices should be a matrix, but got shape: ", out.indices.shape().ToString());
    }
    if (!out.values.shape().IsVector()) {
      return InvalidArgument(name, "_values should be a vector, but got shape: ", out.values.shape().ToString());
    }
    if (!out.shape.shape().IsVector()) {
      return InvalidArgument(name, "_shape should be a vector, but got shape: ", out.shape.shape().ToString());
    }
    if (out.shape.num_elements() != out.indices.dim(1)) {
      return InvalidArgument(name, "_shape.NumElements() (", out.shape.num_elements(), ") must equal the columns of ",
                             name, "_indices (", out.indices.dim(1), ")");
    }
    if (out.values.num_elements() != out.indices.dim(0)) {
      return InvalidArgument(name, "_values.NumElements() (", out.values.num_elements(), ") must equal the rows of ",
                             name, "_indices (", out.indices.dim(0), ")");
    }
    return out;
  }
  int rank() const { return static_cast<int>(shape.num_elements()); }
  int64_t dim(int d) const { return shape.data<int64_t>()[d]; }

  // Rows of the values that belong to each place of the output.
  StatusOr<absl::btree_map<int64_t, std::vector<int64_t>>> Groups(const Shape& output, std::string_view name) const {
    absl::btree_map<int64_t, std::vector<int64_t>> groups;
    for (int64_t row = 0; row < indices.dim(0); ++row) {
      const int64_t* index = indices.data<int64_t>() + row * rank();
      int64_t place = 0;
      for (int d = 0; d < rank(); ++d) {
        if (index[d] < 0 || index[d] >= dim(d)) {
          return InvalidArgument(name, "_indices[", row, "] is out of bounds: ", index[d], " in dimension ", d,
                                 " of size ", dim(d));
        }
        if (d < output.rank()) place = place * output.dim(d) + index[d];
      }
      groups[place].push_back(row);
    }
    return groups;
  }
};

template <typename T>
int64_t Distance(const T* a, const std::vector<int64_t>& rows_a, const T* b, const std::vector<int64_t>& rows_b) {
  std::vector<int64_t> line(rows_b.size() + 1);
  std::iota(line.begin(), line.end(), 0);
  for (size_t i = 0; i < rows_a.size(); ++i) {
    int64_t diagonal = line[0];
    line[0] = static_cast<int64_t>(i) + 1;
    for (size_t j = 0; j < rows_b.size(); ++j) {
      const int64_t replaced = diagonal + (a[rows_a[i]] == b[rows_b[j]] ? 0 : 1);
      diagonal = line[j + 1];
      line[j + 1] = std::min({replaced, line[j] + 1, line[j + 1] + 1});
    }
  }
  return line.back();
}

class EditDistanceKernel : public Kernel {
 public:
  explicit EditDistanceKernel(bool normalize) : normalize_(normalize) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(bool normalize, init.Attr<bool>("normalize"));
    return std::unique_ptr<Kernel>(std::make_unique<EditDistanceKernel>(normalize));
  }
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(Sparse hypothesis, Sparse::Input(ctx, 0, "hypothesis"));
    WEIR_ASSIGN_OR_RETURN(Sparse truth, Sparse::Input(ctx, 3, "truth"));
    if (hypothesis.rank() != truth.rank()) {
      return InvalidArgument("Expected truth and hypothesis to have matching ranks, but their shapes are: [",
                             truth.rank(), "] and [", hypothesis.rank(), "]");
    }
    if (truth.rank() < 2) {
      return InvalidArgument("Input SparseTensors must have rank at least 2, but truth_shape rank is: ", truth.rank());
    }
    Shape shape;
    for (int d = 0; d + 1 < truth.rank(); ++d) {
      WEIR_RETURN_IF_ERROR(shape.AddDim(std::max(truth.dim(d), hypothesis.dim(d))));
    }
    if (shape.num_elements() == 0) {
      return InvalidArgument("Got output shape ", shape.ToString(), " which has 0 elements");
    }
    WEIR_ASSIGN_OR_RETURN(auto guesses, hypothesis.Groups(shape, "hypothesis"));
    WEIR_ASSIGN_OR_RETURN(auto truths, truth.Groups(shape, "truth"));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    float* to = out->data<float>();
    std::fill_n(to, shape.num_elements(), 0.f);
    for (const auto& [place, rows] : guesses) {
      if (truths.contains(place)) continue;
      to[place] = normalize_ ? std::numeric_limits<float>::infinity() : static_cast<float>(rows.size());
    }
    const bool known = DispatchDType(truth.values.dtype(), EditTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (const auto& [place, rows] : truths) {
        const float distance =
            static_cast<float>(Distance(truth.values.data<T>(), rows, hypothesis.values.data<T>(), guesses[place]));
        to[place] = normalize_ ? distance / static_cast<float>(rows.size()) : distance;
      }
    });
    if (!known) return Unimplemented("EditDistance of ", Name(truth.values.dtype()));
    return OkStatus();
  }

 private:
  const bool normalize_;
};

}  // namespace

void RegisterEditDistanceKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("EditDistance").Types("T", EditTypes{}), MakeKernel<EditDistanceKernel>);
}

}  // namespace weir
