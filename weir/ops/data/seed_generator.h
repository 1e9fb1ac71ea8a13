// Where shuffles and random datasets get the seeds of each walk.
#ifndef WEIR_OPS_DATA_SEED_GENERATOR_H_
#define WEIR_OPS_DATA_SEED_GENERATOR_H_

#include <memory>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "weir/base/philox.h"
#include "weir/framework/resource.h"
#include "weir/ops/data/dataset_kernel.h"

namespace weir {

// Thread-safe.
class SeedGenerator : public Resource {
 public:
  static constexpr std::string_view kTypeName = "tensorflow::data::SeedGeneratorManager";
  using Seeds = std::pair<int64_t, int64_t>;

  // With `reshuffle` every walk gets other seeds, in a fixed order. Both 0: seeds of the system's choice.
  SeedGenerator(int64_t seed, int64_t seed2, bool reshuffle);
  std::string_view type_name() const override { return kTypeName; }

  Seeds Next();
  Seeds seeds() const { return {seed_, seed2_}; }
  // How many numbers were drawn, for saved positions.
  int64_t drawn() const;
  void SetDrawn(int64_t drawn);

 private:
  const int64_t seed_;
  const int64_t seed2_;
  const bool reshuffle_;
  mutable absl::Mutex mu_;
  PhiloxNumbers numbers_ ABSL_GUARDED_BY(mu_);
  int64_t drawn_ ABSL_GUARDED_BY(mu_) = 0;
};

// The generator that a node names by its input `seed_generator`, or one of its own from its inputs seed and seed2.
StatusOr<std::shared_ptr<SeedGenerator>> FindSeedGenerator(DatasetNode& node, bool reshuffle);

}  // namespace weir

#endif  // WEIR_OPS_DATA_SEED_GENERATOR_H_
