#include "weir/device/cpu/fused_activations.h"

#include "absl/synchronization/mutex.h"
#include "weir/base/strings.h"

namespace weir {
namespace {

struct Offers {
  absl::Mutex mu;
  StringSet ops ABSL_GUARDED_BY(mu);
};

Offers& AllOffers() {
  static auto* offers = new Offers;
  return *offers;
}

}  // namespace

void OfferFusedActivation(std::string_view op) {
  Offers& offers = AllOffers();
  absl::MutexLock lock(&offers.mu);
  offers.ops.emplace(op);
}

bool HasFusedActivation(std::string_view op) {
  Offers& offers = AllOffers();
  absl::ReaderMutexLock lock(&offers.mu);
  return offers.ops.contains(op);
}

}  // namespace weir
