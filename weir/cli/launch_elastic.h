// A job whose workers may come and go: what `weir launch --elastic` runs.
#ifndef WEIR_CLI_LAUNCH_ELASTIC_H_
#define WEIR_CLI_LAUNCH_ELASTIC_H_

#include <string>

#include "weir/cli/launch_ranks.h"

namespace weir {

struct ElasticLaunch {
  RankLaunch job;  // ranks: how many are wanted when it begins; address: of this host, without a port
  int min_workers = 1;
  int max_workers = 0;    // 0: as many as there are slots
  std::string discovery;  // a program that prints the hosts of the moment, "name:slots" a line; empty: the job's hosts
  int restarts = 3;       // of a slot whose worker fails, before it is given up
  absl::Duration timeout = absl::Minutes(10);  // how long there may be too few workers
};

// Runs a worker in every slot, with WEIR_ELASTIC, WEIR_WORKER, WEIR_HOST, WEIR_JOB and WEIR_SECRET in its environment
// (collective/elastic.h). One that fails is started again; the others go on meanwhile. Ends when training does, with 0;
// when too few are left, with the last exit code that was not 0.
StatusOr<int> LaunchElastic(const ElasticLaunch& launch);

}  // namespace weir

#endif  // WEIR_CLI_LAUNCH_ELASTIC_H_
