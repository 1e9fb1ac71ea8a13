// A job whose workers may come and go, for `weir launch --elastic`.
#ifndef WEIR_CLI_LAUNCH_ELASTIC_H_
#define WEIR_CLI_LAUNCH_ELASTIC_H_

#include <string>

#include "weir/cli/launch_ranks.h"

namespace weir {

struct ElasticLaunch {
  RankLaunch job;  // ranks: the number wanted at the start; address: of this host, without a port
  int min_workers = 1;
  int max_workers = 0;    // 0: the number of slots
  std::string discovery;  // a program that prints the current hosts, "name:slots" per line; empty: the job's hosts
  int restarts = 3;       // per slot, before the slot is given up
  absl::Duration timeout = absl::Minutes(10);  // how long there may be too few workers
};

// Runs a worker in every slot, with WEIR_ELASTIC, WEIR_WORKER, WEIR_HOST, WEIR_JOB and WEIR_SECRET in its environment
// (collective/elastic.h). A worker that fails is restarted while the others continue. Returns 0 when training has
// ended; if too few workers are left, the last exit code that was not 0.
StatusOr<int> LaunchElastic(const ElasticLaunch& launch);

}  // namespace weir

#endif  // WEIR_CLI_LAUNCH_ELASTIC_H_
