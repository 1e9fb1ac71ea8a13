// A program for tests of launchers: a rank of a job that uses every kind of call between processes, checks the results,
// and prints where it is. Arguments: seconds of time-out, then `die RANK`, `sleep RANK`, `fail RANK` (exit 3,
// while the others wait for nothing but a signal), `names` (calls by name, in Horovod's way), or nothing.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "weir/base/strings.h"
#include "weir/collective/collective.h"
#include "weir/collective/process_group.h"

namespace weir::collective {
namespace {

Status Check(bool good, std::string_view what) { return good ? OkStatus() : Internal(what, " is wrong"); }

Status Run(ProcessGroup& group) {
  const int n = group.size(), r = group.rank();
  for (const int64_t count : {1, 1000, 100'000, 3'000'000}) {
    WEIR_ASSIGN_OR_RETURN(Tensor value, Tensor::Allocate(DType::kFloat, Shape({count})));
    for (int64_t i = 0; i < count; ++i) value.data<float>()[i] = static_cast<float>(i % 100 + r);
    WEIR_RETURN_IF_ERROR(group.AllReduceInPlace(&value, {.op = ReduceOp::kSum}));
    for (int64_t i = 0; i < count; ++i) {
      WEIR_RETURN_IF_ERROR(
          Check(value.data<float>()[i] == static_cast<float>(n * (i % 100) + n * (n - 1) / 2), "a sum"));
    }
  }
  WEIR_ASSIGN_OR_RETURN(Tensor ranks, group.AllGather(Tensor::Vector<int32_t>({r})));
  for (int i = 0; i < n; ++i) WEIR_RETURN_IF_ERROR(Check(ranks.data<int32_t>()[i] == i, "the gathered ranks"));
  WEIR_ASSIGN_OR_RETURN(Tensor last, group.Broadcast(Tensor::Scalar<int32_t>(r), n - 1));
  WEIR_RETURN_IF_ERROR(Check(last.scalar<int32_t>() == n - 1, "the broadcast"));
  std::vector<int32_t> rows(n, r);
  WEIR_ASSIGN_OR_RETURN(Tensor swapped, group.AllToAll(Tensor::Vector<int32_t>(std::span<const int32_t>(rows))));
  for (int i = 0; i < n; ++i) WEIR_RETURN_IF_ERROR(Check(swapped.data<int32_t>()[i] == i, "the exchange"));
  WEIR_ASSIGN_OR_RETURN(
      Tensor least,
      group.AllReduce(Tensor::Vector<Half>({Half(1.5f + static_cast<float>(r)), Half(-1.0f)}), {.op = ReduceOp::kMin}));
  WEIR_RETURN_IF_ERROR(Check(static_cast<float>(least.data<Half>()[0]) == 1.5f, "the minimum"));
  std::vector<int64_t> ones(static_cast<size_t>(2 * n + 1), 1);
  WEIR_ASSIGN_OR_RETURN(Tensor share, group.ReduceScatter(Tensor::Vector<int64_t>(std::span<const int64_t>(ones)),
                                                          {.op = ReduceOp::kSum}));
  WEIR_RETURN_IF_ERROR(Check(share.num_elements() == (r == 0 ? 3 : 2) && share.data<int64_t>()[1] == n, "the share"));
  std::vector<int> others;
  for (int i = n - 1; i > 0; --i) others.push_back(i);
  if (n > 2) {
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<ProcessGroup> part, group.Part(others));
    if (part != nullptr) {
      WEIR_ASSIGN_OR_RETURN(Tensor sum, part->AllReduce(Tensor::Scalar(1.0), {.op = ReduceOp::kSum}));
      WEIR_RETURN_IF_ERROR(Check(part->rank() == n - 1 - r && sum.scalar<double>() == n - 1, "the sum of a part"));
    }
  }
  const Status differs = group.Broadcast(Tensor::Scalar(r), r % 2).status();
  WEIR_RETURN_IF_ERROR(Check(n == 1 || absl::IsInvalidArgument(differs), "what ranks that disagree get"));
  std::printf("rank %d of %d, %d of %d on host %d of %d (%s)\n", r, n, group.local_rank(), group.local_size(),
              group.host(), group.num_hosts(), group.place().launcher.c_str());
  std::fflush(stdout);
  return group.Barrier();
}

// Names in another order on every rank; rank 0 is asked for nothing for a while, and notices when the others wait.
Status RunNames(int seconds) {
  WEIR_RETURN_IF_ERROR(Init({.timeout = absl::Seconds(seconds)}));
  constexpr int kNames = 10;
  std::vector<Handle> handles(kNames);
  for (int i = 0; i < kNames; ++i) {
    const int name = (i + 3 * Rank()) % kNames;
    handles[static_cast<size_t>(name)] = AllReduceAsync(Cat("name", name), Tensor::Scalar(name + 1.0));
  }
  for (int i = 0; i < kNames; ++i) {
    WEIR_ASSIGN_OR_RETURN(const Tensor mean, handles[static_cast<size_t>(i)].Wait());
    WEIR_RETURN_IF_ERROR(Check(mean.scalar<double>() == i + 1, "a mean"));
  }
  std::printf("all names\n");
  std::fflush(stdout);
  Shutdown();
  return OkStatus();
}

int Main(int argc, char** argv) {
  const int seconds = argc > 1 ? std::atoi(argv[1]) : 60;
  if (argc > 2 && std::strcmp(argv[2], "names") == 0) {
    const Status status = RunNames(seconds);
    if (!status.ok()) std::printf("error: %s\n", status.ToString().c_str());
    return status.ok() ? 0 : 1;
  }
  auto group = ProcessGroup::Init({.timeout = absl::Seconds(seconds)});
  Status status = group.ok() ? Run(**group) : group.status();
  if (status.ok() && argc > 3) {
    const bool fails = std::strcmp(argv[2], "fail") == 0;
    if (std::atoi(argv[3]) == (*group)->rank()) {
      if (std::strcmp(argv[2], "die") == 0) kill(getpid(), SIGKILL);
      if (fails) _exit(3);
      pause();
    }
    // In a barrier it would see that its peer is gone, and might be the first whose failure the launcher sees.
    if (fails) pause();
    status = (*group)->Barrier();
  }
  if (!status.ok()) std::printf("error: %s\n", status.ToString().c_str());
  std::fflush(stdout);
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace weir::collective

int main(int argc, char** argv) { return weir::collective::Main(argc, argv); }
