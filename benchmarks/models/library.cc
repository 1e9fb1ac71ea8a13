// What `weir bench` asks the library for.
#include "benchmarks/models/device_models.h"
#include "benchmarks/models/fit.h"
#include "benchmarks/models/models.h"
#include "benchmarks/models/ops.h"
#include "weir/base/export.h"
#include "weir/cli/bench_library.h"

namespace weir::bench {
namespace {

class Models final : public Library {
 public:
  std::span<const ModelWorkload> models() const override { return ModelWorkloads(); }
  StatusOr<std::unique_ptr<ModelRunner>> MakeModel(std::shared_ptr<Environment> environment,
                                                   const ModelWorkload& workload) const override {
    return MakeModelRunner(std::move(environment), workload);
  }
  std::span<const ModelWorkload> device_models() const override { return DeviceModelWorkloads(); }
  StatusOr<std::unique_ptr<DeviceModelRunner>> MakeDeviceModel(std::shared_ptr<Environment> environment,
                                                               const ModelWorkload& workload,
                                                               const DeviceModelOptions& options) const override {
    return MakeDeviceModelRunner(std::move(environment), workload, options);
  }
  Status MeasureOps(std::string_view filter, double seconds, const std::string& folder,
                    Measure measure) const override {
    return bench::MeasureOps(filter, seconds, folder, measure);
  }
  Status MeasureFit(int rounds) const override { return bench::MeasureFit(rounds); }
};

}  // namespace
}  // namespace weir::bench

extern "C" WEIR_PUBLIC const weir::bench::Library* WeirBenchLibrary() {
  static const auto* models = new weir::bench::Models;
  return models;
}
