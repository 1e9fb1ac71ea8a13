#include "weir/client/nn/batches.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

namespace weir::nn {
namespace {

// Rows of `all` in this order, as a tensor of their own.
StatusOr<Tensor> GatherRows(const Tensor& all, std::span<const int64_t> rows) {
  Shape shape = all.shape();
  WEIR_RETURN_IF_ERROR(shape.SetDim(0, static_cast<int64_t>(rows.size())));
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(all.dtype(), shape));
  const int64_t width = rows.empty() ? 0 : shape.num_elements() / static_cast<int64_t>(rows.size());
  if (all.dtype() == DType::kString) {
    for (size_t i = 0; i < rows.size(); ++i) {
      std::copy_n(all.data<std::string>() + rows[i] * width, width, out.data<std::string>() + i * width);
    }
    return out;
  }
  const size_t bytes = static_cast<size_t>(width) * SizeOf(all.dtype());
  const char* from = static_cast<const char*>(all.raw_data());
  char* to = static_cast<char*>(out.raw_data());
  for (size_t i = 0; i < rows.size(); ++i) std::memcpy(to + i * bytes, from + rows[i] * bytes, bytes);
  return out;
}

class InMemory : public Batches {
 public:
  InMemory(std::vector<Tensor> inputs, Tensor labels, const TensorBatchesOptions& options)
      : inputs_(std::move(inputs)), labels_(std::move(labels)), options_(options), order_(inputs_[0].dim(0)) {
    std::iota(order_.begin(), order_.end(), 0);
  }

  Status Start(int64_t epoch) override {
    position_ = 0;
    if (!options_.shuffle) return OkStatus();
    std::iota(order_.begin(), order_.end(), 0);
    std::mt19937_64 random(static_cast<uint64_t>(options_.seed) * 1000003u + static_cast<uint64_t>(epoch));
    // std::shuffle differs between libraries; this does not.
    for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random() % i]);
    return OkStatus();
  }

  StatusOr<bool> Next(Batch* batch) override {
    const int64_t total = static_cast<int64_t>(order_.size());
    const int64_t size = std::min(options_.batch_size, total - position_);
    if (size <= 0 || (options_.drop_remainder && size < options_.batch_size)) return false;
    batch->inputs.clear();
    for (const Tensor& input : inputs_) {
      WEIR_ASSIGN_OR_RETURN(Tensor rows, Take(input, size));
      batch->inputs.push_back(std::move(rows));
    }
    batch->labels = Tensor();
    if (labels_.has_value()) {
      WEIR_ASSIGN_OR_RETURN(batch->labels, Take(labels_, size));
    }
    position_ += size;
    return true;
  }

  int64_t count() const override {
    const int64_t total = static_cast<int64_t>(order_.size());
    return options_.drop_remainder ? total / options_.batch_size
                                   : (total + options_.batch_size - 1) / options_.batch_size;
  }

 private:
  StatusOr<Tensor> Take(const Tensor& all, int64_t size) {
    return GatherRows(all, std::span<const int64_t>(order_).subspan(position_, size));
  }

  std::vector<Tensor> inputs_;
  Tensor labels_;
  TensorBatchesOptions options_;
  std::vector<int64_t> order_;
  int64_t position_ = 0;
};

class Generated : public Batches {
 public:
  using Next_ = std::function<StatusOr<bool>(int64_t, int64_t, Batch*)>;
  Generated(Next_ next, int64_t count) : next_(std::move(next)), count_(count) {}
  Status Start(int64_t epoch) override {
    epoch_ = epoch;
    index_ = 0;
    return OkStatus();
  }
  StatusOr<bool> Next(Batch* batch) override {
    if (count_ >= 0 && index_ >= count_) return false;
    return next_(epoch_, index_++, batch);
  }
  int64_t count() const override { return count_; }

 private:
  Next_ next_;
  int64_t count_;
  int64_t epoch_ = 0;
  int64_t index_ = 0;
};

}  // namespace

StatusOr<std::unique_ptr<Batches>> TensorBatches(std::vector<Tensor> inputs, Tensor labels,
                                                 const TensorBatchesOptions& options) {
  if (inputs.empty()) return InvalidArgument("a model needs an input");
  if (options.batch_size < 1) return InvalidArgument("a batch needs at least one example, not ", options.batch_size);
  std::vector<Tensor> all = inputs;
  if (labels.has_value()) all.push_back(labels);
  for (const Tensor& tensor : all) {
    if (tensor.rank() < 1) return InvalidArgument("examples are rows of a tensor; a scalar has none");
    if (!IsPlain(tensor.dtype()) && tensor.dtype() != DType::kString) {
      return InvalidArgument("examples cannot be of type ", Name(tensor.dtype()));
    }
    if (tensor.dim(0) != inputs[0].dim(0)) {
      return InvalidArgument("one tensor has ", inputs[0].dim(0), " examples, another ", tensor.dim(0));
    }
  }
  return std::unique_ptr<Batches>(std::make_unique<InMemory>(std::move(inputs), std::move(labels), options));
}

std::unique_ptr<Batches> GeneratedBatches(std::function<StatusOr<bool>(int64_t, int64_t, Batch*)> next, int64_t count) {
  return std::make_unique<Generated>(std::move(next), count);
}

}  // namespace weir::nn
