#include "weir/device/cpu/float_loops.h"

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

namespace weir {
namespace {

struct FloatLoops {
  absl::Mutex mu;
  absl::flat_hash_map<std::string, FloatLoop> by_op ABSL_GUARDED_BY(mu);
};

FloatLoops& AllFloatLoops() {
  static auto* loops = new FloatLoops;
  return *loops;
}

}  // namespace

void OfferFloatLoop(std::string_view op, const FloatLoop& loop) {
  FloatLoops& loops = AllFloatLoops();
  absl::MutexLock lock(&loops.mu);
  loops.by_op.emplace(std::string(op), loop);
}

std::optional<FloatLoop> FindFloatLoop(std::string_view op) {
  FloatLoops& loops = AllFloatLoops();
  absl::MutexLock lock(&loops.mu);
  auto found = loops.by_op.find(std::string(op));
  if (found == loops.by_op.end()) return std::nullopt;
  return found->second;
}

}  // namespace weir
