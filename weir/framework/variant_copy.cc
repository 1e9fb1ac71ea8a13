#include "weir/framework/variant_copy.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "weir/tensor/variant.h"

namespace weir {
namespace {

struct Copying {
  absl::Mutex mu;
  Tensor source;
  std::vector<std::vector<Tensor>> copies ABSL_GUARDED_BY(mu);  // by variant; empty: the value has no tensors
  Status status ABSL_GUARDED_BY(mu);
  size_t left ABSL_GUARDED_BY(mu) = 1;  // and the call itself
  Device::CopyDone done;

  void Finish() {
    std::vector<std::vector<Tensor>> tensors;
    {
      absl::MutexLock lock(&mu);
      if (--left > 0) return;
      if (status.ok()) tensors = std::move(copies);
    }
    done(Rebuild(std::move(tensors)));
  }

 private:
  StatusOr<Tensor> Rebuild(std::vector<std::vector<Tensor>> tensors) {
    {
      absl::MutexLock lock(&mu);
      WEIR_RETURN_IF_ERROR(status);
    }
    WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(DType::kVariant, source.shape()));
    for (size_t i = 0; i < tensors.size(); ++i) {
      const Variant& from = source.data<Variant>()[i];
      out.data<Variant>()[i] = tensors[i].empty() ? from : Variant(from.get()->WithLocalTensors(std::move(tensors[i])));
    }
    return out;
  }
};

// Whether a device has such a tensor in its own memory. That of int32 tensors in variants is always the host's.
bool IsMoved(const Tensor& tensor) {
  if (!tensor.has_value() || tensor.dtype() == DType::kInt32) return false;
  return IsPlain(tensor.dtype()) || tensor.dtype() == DType::kVariant;
}

}  // namespace

void CopyVariants(const Tensor& variants, const std::function<void(const Tensor&, Device::CopyDone)>& copy,
                  Device::CopyDone done) {
  const size_t n = static_cast<size_t>(variants.num_elements());
  auto copying = std::make_shared<Copying>();
  copying->source = variants;
  copying->done = std::move(done);
  std::vector<std::vector<Tensor>> tensors(n);
  bool has_tensors = false;
  for (size_t i = 0; i < n; ++i) {
    const Variant& variant = variants.data<Variant>()[i];
    if (variant.has_value()) tensors[i] = variant.get()->LocalTensors();
    has_tensors |= !tensors[i].empty();
  }
  if (!has_tensors) return copying->done(variants);
  {
    absl::MutexLock lock(&copying->mu);
    copying->copies = tensors;
    for (const auto& each : tensors) copying->left += static_cast<size_t>(std::ranges::count_if(each, IsMoved));
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < tensors[i].size(); ++k) {
      if (!IsMoved(tensors[i][k])) continue;
      copy(tensors[i][k], [copying, i, k](StatusOr<Tensor> result) {
        {
          absl::MutexLock lock(&copying->mu);
          if (result.ok()) {
            copying->copies[i][k] = *std::move(result);
          } else if (copying->status.ok()) {
            copying->status = result.status();
          }
        }
        copying->Finish();
      });
    }
  }
  copying->Finish();
}

}  // namespace weir
