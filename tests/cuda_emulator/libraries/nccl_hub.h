// Where the ranks of the stand-in for NCCL meet: a server in the process that made a communicator's id, so that ranks
// may be threads of one process or processes of one machine. Every call of a rank is a connection of its own: the rank
// sends what it brings to the call, and reads its part of the result once all ranks have come.
#ifndef TESTS_CUDA_EMULATOR_LIBRARIES_NCCL_HUB_H_
#define TESTS_CUDA_EMULATOR_LIBRARIES_NCCL_HUB_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "weir/device/cuda/abi/nccl_abi.h"

namespace weir::cuda {

enum class NcclKind : int32_t { kJoin, kAllReduce, kBroadcast, kReduce, kAllGather, kReduceScatter, kSend, kReceive };

struct NcclCall {
  NcclKind kind;
  int32_t root;
  int32_t type;
  int32_t reduction;
  uint64_t count;
  bool operator==(const NcclCall&) const = default;
};

// What a rank sends ahead of its bytes.
struct NcclGreeting {
  NcclCall call;
  int32_t ranks;
  int32_t rank;
  int32_t peer;  // of kSend and kReceive
  int32_t unused;
  uint64_t number;  // of this call among those of the rank; for kSend and kReceive, among those with the peer
  uint64_t bytes;
  char card[64];  // for kJoin: two ranks may not be on one
};

struct NcclReply {
  int32_t result;  // an NcclResult
  int32_t unused;
  uint64_t bytes;
};

size_t NcclSizeOf(NcclDataType type);  // 0: there is no such type

// What each rank gets if these are what the ranks bring, by rank.
std::vector<std::string> NcclResults(const NcclCall& call, const std::vector<std::string>& brought);

// Starts a server and returns its address, which fits into an NcclUniqueId.
std::string StartNcclHub();
// Keeps calls waiting, in all servers of this process.
void HoldNcclHubs(bool hold);
// Waits until so many calls of ranks wait like this.
void AwaitHeldInNcclHubs(int count);
// Connects to a server; -1: there is none.
int ConnectToNcclHub(const std::string& address);
// Whole messages over a connection; false if the other side is gone.
bool SendAll(int file, const void* data, size_t bytes);
bool ReceiveAll(int file, void* data, size_t bytes);

}  // namespace weir::cuda

#endif  // TESTS_CUDA_EMULATOR_LIBRARIES_NCCL_HUB_H_
