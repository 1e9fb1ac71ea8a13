// The activations that kernels of fused contractions apply to their results. Registering those kernels offers them
// here, and the pass that fuses (rewrites/fuse_contractions.h) asks.
#ifndef WEIR_DEVICE_CPU_FUSED_ACTIVATIONS_H_
#define WEIR_DEVICE_CPU_FUSED_ACTIVATIONS_H_

#include <string_view>

namespace weir {

// Thread-safe. Offering an activation again changes nothing.
void OfferFusedActivation(std::string_view op);
bool HasFusedActivation(std::string_view op);

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_FUSED_ACTIVATIONS_H_
