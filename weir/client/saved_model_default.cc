// Apart from saved_model.cc: the default environment has everything in it, which a small program does not want linked.
#include "weir/client/environment.h"
#include "weir/client/saved_model.h"

namespace weir {

StatusOr<std::unique_ptr<LoadedModel>> LoadedModel::Load(const std::string& folder, const std::set<std::string>& tags) {
  return Load(folder, tags, DefaultEnvironment());
}

}  // namespace weir
