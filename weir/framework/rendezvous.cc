#include "weir/framework/rendezvous.h"

#include "weir/framework/variant_copy.h"

namespace weir {

void BringValue(RendezvousValue value, Device* device, std::shared_ptr<DeviceRun> run, Device::CopyDone done) {
  Device* const from = value.device;
  if (device != nullptr && device->is_host()) device = nullptr;
  if (from == device) return done(std::move(value.tensor));
  if (!IsPlain(value.tensor.dtype())) {
    if (value.tensor.dtype() != DType::kVariant) return done(std::move(value.tensor));
    auto bring = [&](const Tensor& tensor, Device::CopyDone brought) {
      BringValue({tensor, false, from, value.run}, device, run, std::move(brought));
    };
    return CopyVariants(value.tensor, bring, std::move(done));
  }
  if (from == nullptr) return device->CopyFromHost(value.tensor, run.get(), std::move(done));
  if (device != nullptr && from->CopyToDevice(value.tensor, *device, value.run.get(), done)) return;
  DeviceRun* const source_run = value.run.get();
  // The source's run lives until its part of the way is done.
  from->CopyToHost(
      value.tensor, source_run,
      [device, run = std::move(run), held = std::move(value.run), done = std::move(done)](StatusOr<Tensor> host) {
        if (!host.ok() || device == nullptr) return done(std::move(host));
        device->CopyFromHost(*host, run.get(), done);
      });
}

}  // namespace weir
