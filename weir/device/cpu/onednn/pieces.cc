#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>

#include "absl/synchronization/mutex.h"
#include "weir/device/cpu/onednn/pieces_internal.h"
#include "weir/device/cpu/vector.h"
#include "weir/framework/kernel.h"

namespace weir::onednn {

int64_t NumPieces(const KernelContext& ctx, double operations) {
  constexpr double kFewOperations = 1e6;  // done by one thread in less time than another needs to wake up
  const int threads = ctx.step().intra_op->num_threads();
  if (ctx.step().deterministic || threads == 1 || operations <= kFewOperations) return 1;
  return std::clamp<int64_t>(static_cast<int64_t>(std::min(operations / (kFewOperations / 2), 1e6)), 1, threads);
}

Range PartOf(int64_t total, int64_t count, int64_t index, int64_t unit) {
  if (total < count * unit) unit = 1;
  const int64_t units = (total + unit - 1) / unit;
  return {std::min(total, units * index / count * unit), std::min(total, units * (index + 1) / count * unit)};
}

Groups GroupItems(int64_t items, int64_t pieces) {
  constexpr int64_t kMany = 4;  // groups of so many items differ little in size
  if (items % pieces == 0 || items >= kMany * pieces) return {pieces, 1};
  return {items, pieces / std::gcd(items, pieces)};
}

WEIR_VECTOR static void StoreRow(const float* from, const float* addend, bool relu, int64_t count, float* to) {
  if (addend == nullptr) {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i];
  } else if (relu) {
    for (int64_t i = 0; i < count; ++i) {
      const float sum = from[i] + addend[i];
      to[i] = sum > 0 ? sum : 0;
    }
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i] + addend[i];
  }
}

void Columns::Load(float* to) const {
  for (int64_t row = 0; row < rows; ++row) std::copy_n(at + row * stride, columns, to + row * columns);
}

void Columns::Store(const float* from) const {
  for (int64_t row = 0; row < rows; ++row) {
    StoreRow(from + row * columns, addend == nullptr ? nullptr : addend + row * stride, relu, columns,
             at + row * stride);
  }
}

namespace {

size_t Aligned(size_t bytes) { return (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment; }

// Memory for each piece that runs at a time.
class Workspaces {
 public:
  Workspaces(std::span<const Piece> pieces, int threads) {
    for (const Piece& piece : pieces) {
      bytes_ = std::max(bytes_, Aligned(piece.operation->scratch_bytes()) + Aligned(piece.columns.bytes()));
    }
    const size_t count = std::min(pieces.size(), static_cast<size_t>(threads));
    memory_.emplace(bytes_ * count);
    for (size_t i = 0; i < count; ++i) free_.push_back(memory_->data() + i * bytes_);
  }
  bool ok() const { return memory_->ok(); }
  // Never none: no more run at a time than there are threads.
  char* Take() {
    absl::MutexLock lock(&mu_);
    char* out = free_.back();
    free_.pop_back();
    return out;
  }
  void GiveBack(char* memory) {
    absl::MutexLock lock(&mu_);
    free_.push_back(memory);
  }

 private:
  size_t bytes_ = 0;
  std::optional<Scratch> memory_;
  absl::Mutex mu_;
  absl::InlinedVector<char*, 8> free_ ABSL_GUARDED_BY(mu_);
};

bool RunPiece(const Piece& piece, void* constant, char* scratch) {
  const Columns& columns = piece.columns;
  if (columns.rows == 0) return piece.operation->Run(piece.data, constant, scratch);
  float* const copy = reinterpret_cast<float*>(scratch + Aligned(piece.operation->scratch_bytes()));
  absl::InlinedVector<void*, 8> data = piece.data;
  data[columns.argument] = copy;
  if (!columns.is_result) columns.Load(copy);
  if (!piece.operation->Run(data, constant, scratch)) return false;
  if (columns.is_result) columns.Store(copy);
  return true;
}

}  // namespace

bool RunPieces(const KernelContext& ctx, std::span<const Piece> pieces, double operations, double weights) {
  const OneThread caller;
  absl::InlinedVector<void*, 8> constants;
  for (const Piece& piece : pieces) {
    const bool is_constant = piece.constant.weights != nullptr && piece.constant.weights->packed != nullptr;
    constants.push_back(is_constant ? piece.operation->FindConstant(piece.constant) : nullptr);
    if (is_constant && constants.back() == nullptr) return false;
  }
  Workspaces workspaces(pieces, ctx.step().intra_op->num_threads());
  if (!workspaces.ok()) return false;
  std::atomic<bool> ok = true;
  auto run = [&](int64_t begin, int64_t end) {
    const OneThread one_thread;
    char* const scratch = workspaces.Take();
    for (int64_t i = begin; i < end; ++i) {
      if (!RunPiece(pieces[i], constants[i], scratch)) ok.store(false, std::memory_order_relaxed);
    }
    workspaces.GiveBack(scratch);
  };
  if (pieces.size() == 1) {
    run(0, 1);
  } else {
    constexpr double kOperationsPerNs = 100, kWeightsPerNs = 10;  // of one thread
    constexpr double kLong = 20'000;                              // so much that each piece may go to another thread
    const double total_ns = operations / kOperationsPerNs + weights / kWeightsPerNs;
    ctx.ParallelFor(static_cast<int64_t>(pieces.size()), std::max(kLong, total_ns / static_cast<double>(pieces.size())),
                    run);
  }
  return ok.load(std::memory_order_relaxed);
}

}  // namespace weir::onednn
