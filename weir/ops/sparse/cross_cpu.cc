// SparseCross: all combinations of one value from each column, row by row.
#include <limits>

#include "weir/base/fingerprint.h"
#include "weir/framework/kernel_registry.h"
#include "weir/io/coding.h"
#include "weir/ops/sparse/register.h"
#include "weir/ops/sparse/sparse_input.h"

namespace weir {
namespace {

uint64_t Mix(uint64_t value) { return value ^ value >> 47; }

// Two fingerprints as one.
uint64_t JoinFingerprints(uint64_t a, uint64_t b) {
  constexpr uint64_t kFactor = 0xc6a4a7935bd1e995ull;
  uint64_t out = a ^ kFactor;
  out ^= Mix(b * kFactor) * kFactor;
  out *= kFactor;
  return Mix(Mix(out) * kFactor);
}

// A column of features, sparse or dense: the values of each row.
struct Column {
  Tensor values;
  std::vector<int64_t> begins;  // of the rows in `values`, and one more
  bool is_sparse = false;
  int64_t count(int64_t row) const { return begins[row + 1] - begins[row]; }
};

StatusOr<Column> SparseColumn(const Tensor& indices, const Tensor& values, const Tensor& shape) {
  if (indices.rank() != 2) {
    return InvalidArgument("Input indices should be a matrix but received shape ", indices.shape().ToString());
  }
  if (shape.num_elements() != 2 || indices.dim(1) != 2) return InvalidArgument("Expected sparse inputs of rank 2");
  WEIR_ASSIGN_OR_RETURN(SparseInput input, MakeSparse(indices, values, shape));
  const int64_t rows = input.shape.dim(0);
  if (rows > input.count() * 1024 + (int64_t{1} << 24)) return InvalidArgument("Too many rows to cross: ", rows);
  Column out{values, std::vector<int64_t>(static_cast<size_t>(rows) + 1, 0), true};
  for (int64_t i = 0; i < input.count(); ++i) {
    if (i > 0 && input.index(i)[0] < input.index(i - 1)[0]) {
      return InvalidArgument("indices of a sparse input are out of order at ", i);
    }
    ++out.begins[input.index(i)[0] + 1];
  }
  for (int64_t row = 0; row < rows; ++row) out.begins[row + 1] += out.begins[row];
  return out;
}

StatusOr<Column> DenseColumn(const Tensor& values) {
  if (values.rank() != 2) {
    return InvalidArgument("Dense inputs should be a matrix but received shape ", values.shape().ToString());
  }
  Column out{values, {}};
  for (int64_t row = 0; row <= values.dim(0); ++row) out.begins.push_back(row * values.dim(1));
  return out;
}

// What is made of the values that are crossed.
class Crosser {
 public:
  virtual ~Crosser() = default;
  // `chosen` has a place in every column's values.
  virtual void Put(const std::vector<Column>& columns, const std::vector<int64_t>& chosen, Tensor& out,
                   int64_t at) const = 0;
};

class TextCrosser : public Crosser {
 public:
  explicit TextCrosser(std::string separator) : separator_(std::move(separator)) {}
  void Put(const std::vector<Column>& columns, const std::vector<int64_t>& chosen, Tensor& out,
           int64_t at) const override {
    std::string text;
    for (size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) text += separator_;
      const Tensor& values = columns[i].values;
      text += values.dtype() == DType::kString ? values.data<std::string>()[chosen[i]]
                                               : std::to_string(values.data<int64_t>()[chosen[i]]);
    }
    out.data<std::string>()[at] = std::move(text);
  }

 private:
  const std::string separator_;
};

class HashCrosser : public Crosser {
 public:
  uint64_t buckets = 0;
  std::optional<uint64_t> start;               // what the first value is joined to, if anything
  std::optional<std::array<uint64_t, 2>> key;  // of a strong hash
  // Whether numbers of sparse columns are hashed, by their lower four bytes; all others stand for themselves.
  bool hashes_numbers = false;
  void Put(const std::vector<Column>& columns, const std::vector<int64_t>& chosen, Tensor& out,
           int64_t at) const override {
    std::optional<uint64_t> hash = start;
    for (size_t i = 0; i < columns.size(); ++i) {
      const uint64_t one = HashOf(columns[i], chosen[i]);
      hash = hash ? JoinFingerprints(*hash, one) : one;
    }
    // Without buckets the result must still not be negative.
    constexpr uint64_t kLargest = std::numeric_limits<int64_t>::max();
    out.data<int64_t>()[at] = static_cast<int64_t>(hash.value_or(0) % (buckets > 0 ? buckets : kLargest));
  }

 private:
  uint64_t HashOf(const Column& column, int64_t i) const {
    if (column.values.dtype() == DType::kString) return HashOf(column.values.data<std::string>()[i]);
    const int64_t number = column.values.data<int64_t>()[i];
    if (!column.is_sparse || !hashes_numbers) return static_cast<uint64_t>(number);
    std::string low;
    AppendFixed32(&low, static_cast<uint32_t>(number));
    return HashOf(low);
  }
  uint64_t HashOf(const std::string& text) const { return key ? SipHash(*key, text) : Fingerprint64(text); }
};

class CrossKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<CrossKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->sparse_, init.Attr<int64_t>("N"));
    WEIR_ASSIGN_OR_RETURN(std::vector<DType> sparse, init.Attr<std::vector<DType>>("sparse_types"));
    WEIR_ASSIGN_OR_RETURN(std::vector<DType> dense, init.Attr<std::vector<DType>>("dense_types"));
    if (static_cast<int64_t>(sparse.size()) != kernel->sparse_) {
      return InvalidArgument("Expected as many values as indices, got ", sparse.size(), " and ", kernel->sparse_);
    }
    kernel->dense_ = static_cast<int64_t>(dense.size());
    kernel->op_ = init.schema().name;
    if (kernel->op_ != "SparseCross") return std::unique_ptr<Kernel>(std::move(kernel));
    WEIR_ASSIGN_OR_RETURN(DType internal, init.Attr<DType>("internal_type"));
    WEIR_ASSIGN_OR_RETURN(kernel->hashed_, init.Attr<bool>("hashed_output"));
    WEIR_ASSIGN_OR_RETURN(kernel->buckets_, init.Attr<int64_t>("num_buckets"));
    WEIR_ASSIGN_OR_RETURN(kernel->hash_key_, init.Attr<int64_t>("hash_key"));
    if (kernel->hashed_ != (init.output_type(1) == DType::kInt64)) {
      return InvalidArgument("out_type must be int64 exactly if hashed_output is set");
    }
    // Numbers are only crossed as numbers.
    for (const std::vector<DType>& types : {sparse, dense}) {
      for (DType type : types) {
        if (type == DType::kInt64 && internal != DType::kInt64) {
          return InvalidArgument("Input values should be of internal type ", static_cast<int>(internal),
                                 " but received ", static_cast<int>(type));
        }
      }
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    std::vector<Column> columns;
    for (int64_t i = 0; i < sparse_; ++i) {
      const int at = static_cast<int>(i), step = static_cast<int>(sparse_);
      WEIR_ASSIGN_OR_RETURN(columns.emplace_back(),
                            SparseColumn(ctx.input(at), ctx.input(at + step), ctx.input(at + 2 * step)));
    }
    for (int64_t i = 0; i < dense_; ++i) {
      WEIR_ASSIGN_OR_RETURN(columns.emplace_back(), DenseColumn(ctx.input(static_cast<int>(3 * sparse_ + i))));
    }
    for (const Column& column : columns) {
      if (column.begins.size() == columns[0].begins.size()) continue;
      return InvalidArgument("Expected batch size ", columns[0].begins.size() - 1, " but found ",
                             column.begins.size() - 1);
    }
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Crosser> crosser, MakeCrosser(ctx));
    return Cross(ctx, columns, *crosser);
  }

 private:
  StatusOr<std::unique_ptr<Crosser>> MakeCrosser(KernelContext& ctx) const {
    const int extra = static_cast<int>(3 * sparse_ + dense_);
    if (op_ == "SparseCrossV2") {
      if (!ctx.input(extra).shape().IsScalar()) {
        return InvalidArgument("Input separator should be a scalar. Received: ", ctx.input(extra).shape().ToString());
      }
      return std::unique_ptr<Crosser>(std::make_unique<TextCrosser>(ctx.input(extra).scalar<std::string>()));
    }
    if (op_ == "SparseCross" && !hashed_) return std::unique_ptr<Crosser>(std::make_unique<TextCrosser>("_X_"));
    auto hasher = std::make_unique<HashCrosser>();
    if (op_ == "SparseCross") {
      hasher->buckets = static_cast<uint64_t>(buckets_);
      hasher->start = static_cast<uint64_t>(hash_key_);
      return std::unique_ptr<Crosser>(std::move(hasher));
    }
    const Tensor &buckets = ctx.input(extra), &strong = ctx.input(extra + 1), &salt = ctx.input(extra + 2);
    if (buckets.num_elements() != 1 || strong.num_elements() != 1 || salt.num_elements() != 2) {
      return InvalidArgument("num_buckets and strong_hash should be scalars, salt should have two elements");
    }
    hasher->hashes_numbers = true;
    hasher->buckets = static_cast<uint64_t>(std::max<int64_t>(buckets.scalar<int64_t>(), 0));
    if (strong.scalar<bool>()) {
      hasher->key = {static_cast<uint64_t>(salt.data<int64_t>()[0]), static_cast<uint64_t>(salt.data<int64_t>()[1])};
    }
    return std::unique_ptr<Crosser>(std::move(hasher));
  }

  static Status Cross(KernelContext& ctx, const std::vector<Column>& columns, const Crosser& crosser) {
    const int64_t rows = columns.empty() ? 0 : static_cast<int64_t>(columns[0].begins.size()) - 1;
    std::vector<int64_t> counts(static_cast<size_t>(rows), 1);
    std::optional<int64_t> total = 0;
    int64_t longest = 0;
    for (int64_t row = 0; row < rows; ++row) {
      std::optional<int64_t> count = 1;
      for (const Column& column : columns) count = CheckedMultiply(*count, column.count(row)).value_or(INT64_MAX);
      counts[row] = *count;
      longest = std::max(longest, *count);
      total = total ? CheckedAdd(*total, *count) : total;
    }
    if (!total) return InvalidArgument("Too many combinations to cross");
    WEIR_ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(0, Shape({*total, 2})));
    WEIR_ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(1, Shape({*total})));
    int64_t at = 0;
    std::vector<int64_t> chosen(columns.size());
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t k = 0; k < counts[row]; ++k, ++at) {
        // The last column changes fastest.
        int64_t left = k;
        for (size_t c = columns.size(); c-- > 0;) {
          chosen[c] = columns[c].begins[row] + left % columns[c].count(row);
          left /= columns[c].count(row);
        }
        indices->data<int64_t>()[2 * at] = row;
        indices->data<int64_t>()[2 * at + 1] = k;
        crosser.Put(columns, chosen, *values, at);
      }
    }
    ctx.set_output(2, Tensor::Vector<int64_t>({rows, longest}));
    return OkStatus();
  }

  std::string op_;
  int64_t sparse_ = 0, dense_ = 0;
  bool hashed_ = false;
  int64_t buckets_ = 0, hash_key_ = 0;
};

}  // namespace

void RegisterSparseCrossKernels(KernelRegistry& registry) {
  for (const char* op : {"SparseCross", "SparseCrossV2", "SparseCrossHashed"}) {
    registry.Add(KernelBuilder(op), MakeKernel<CrossKernel>);
  }
}

}  // namespace weir
