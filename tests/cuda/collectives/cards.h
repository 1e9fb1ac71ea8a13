// Several cards, for tests of NCCL, which wants one for each rank: the emulated driver's, whatever the machine has.
#ifndef TESTS_CUDA_COLLECTIVES_CARDS_H_
#define TESTS_CUDA_COLLECTIVES_CARDS_H_

#include <memory>
#include <string>
#include <vector>

#include "tests/cuda/gpu_fixture.h"

namespace weir::gpu_testing {

// Points weir at the emulated driver and lets that show three cards. Before anything touches the driver.
void ChooseCards();

// GPU:0, GPU:1 and GPU:2 are on cards of their own; GPU:3 is on the last one, too.
const std::shared_ptr<Environment>& CardsEnvironment();
EagerRuntime& CardsRuntime();

// The stand-in for NCCL: the number of calls that this process has made, except for joining.
int64_t NcclCalls();
// Keeps calls waiting, in communicators whose ids this process has made, until it is told otherwise.
void HoldNcclCalls(bool hold);
// Lets the next calls of this process fail.
void FailNcclCalls(int count);
// Waits until so many calls of ranks are kept waiting.
void AwaitHeldNcclCalls(int count);

// One member's call of a collective.
struct MemberCall {
  int gpu = 0;
  std::string op;
  std::vector<Tensor> inputs;
  Attrs attrs;
  CancellationManager* cancellation = nullptr;
};
StatusOr<Tensor> RunMember(const MemberCall& call);
// All members at once, each in a thread of its own; results in host memory.
std::vector<StatusOr<Tensor>> RunMembers(const std::vector<MemberCall>& members);

}  // namespace weir::gpu_testing

#endif  // TESTS_CUDA_COLLECTIVES_CARDS_H_
