// Trains a small network on parameter servers, from C++. `weir launch` starts the servers and one of these a worker:
//
//   weir launch --ps 2 --workers 2 -- cluster_training --mode=sync --model=lstm
//
// It finds its place in the environment (WEIR_TARGET, TF_CONFIG). Without them it does the work of all alone.
#include <cstdio>
#include <cstdlib>

#include "examples/cluster_training/replica.h"
#include "weir/distributed/cluster_spec.h"

namespace {

weir::Status TakePlace(ReplicaOptions* options) {
  const char* target = std::getenv("WEIR_TARGET");
  const char* config = std::getenv("TF_CONFIG");
  if (target == nullptr || config == nullptr) return weir::OkStatus();
  WEIR_ASSIGN_OR_RETURN(weir::ClusterPlace place, weir::FromTfConfig(config));
  options->target = target;
  options->task = place.task;
  options->workers = options->ps = 0;
  for (const auto& task : place.cluster.tasks()) {
    options->workers += task.job == "worker";
    options->ps += task.job == "ps";
  }
  return weir::OkStatus();
}

int Usage() {
  std::fprintf(stderr, "cluster_training [--model=cnn|lstm] [--mode=async|sync|backup] [--steps=N] [--out=FOLDER]\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  ReplicaOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    if (equals == argument.npos) return Usage();
    const std::string value = argument.substr(equals + 1);
    if (name == "--model") {
      options.model = value;
    } else if (name == "--mode") {
      options.mode = value;
    } else if (name == "--steps") {
      options.steps = std::atoll(value.c_str());
    } else if (name == "--out") {
      options.folder = value;
    } else {
      return Usage();
    }
  }
  weir::Status status = TakePlace(&options);
  weir::StatusOr<ReplicaResult> result = status.ok() ? TrainReplica(options) : status;
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", weir::Message(result.status()).c_str());
    return 1;
  }
  std::printf("worker %d: %lld steps, loss %.4f -> %.4f, %g stale gradients\n", options.task,
              static_cast<long long>(result->steps), result->loss_before, result->loss, result->stale);
  return 0;
}
