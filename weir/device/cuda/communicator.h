// CudaCommunicator: a GPU's seat in an NCCL communicator.
//
// A thread of its own joins, makes all calls in the order of Start, and asks NCCL for errors of the network while calls
// are unfinished: NCCL is only ever used by one thread at a time, and whatever it waits for holds no other thread.
//
// The calls have a stream of their own. It waits for the compute stream, as it was when the call was made; the compute
// stream never waits for it, because the call's `done` comes when its work has ended, and only then is the result
// handed on. So the GPU goes on computing while ranks are missing, a rank that never comes cannot block the device, and
// calls of several communicators, which their ranks may make in different orders, wait in streams of their own and not
// for each other.
#ifndef WEIR_DEVICE_CUDA_COMMUNICATOR_H_
#define WEIR_DEVICE_CUDA_COMMUNICATOR_H_

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "weir/device/cuda/cuda_device.h"
#include "weir/device/cuda/nccl.h"
#include "weir/framework/device_communicator.h"

namespace weir::cuda {

class CudaCommunicator : public DeviceCommunicator {
 public:
  CudaCommunicator(Gpu& gpu, std::string id, int ranks, int rank);
  ~CudaCommunicator() override;
  void Start(DeviceCollectiveCall call, std::function<void(Status)> done) override;
  void Abort(const Status& reason) override;

 private:
  // What the thread and the stream's callbacks use; it may outlive the communicator.
  struct State {
    // Ends the communicator, unless it has ended; answers all calls.
    void End(const Status& reason);
    void Finish(int64_t number, const Status& status);
    Status broken_status() const {
      absl::MutexLock lock(&mu);
      return broken;
    }

    mutable absl::Mutex mu;
    Status broken ABSL_GUARDED_BY(mu);
    bool stopping ABSL_GUARDED_BY(mu) = false;
    std::deque<std::pair<int64_t, DeviceCollectiveCall>> queue ABSL_GUARDED_BY(mu);  // not yet given to NCCL
    std::map<int64_t, std::function<void(Status)>> unfinished ABSL_GUARDED_BY(mu);
    int64_t next ABSL_GUARDED_BY(mu) = 0;
  };
  static void Loop(const std::shared_ptr<State>& state, Gpu& gpu, const std::string& id, int ranks, int rank);
  static Status Enqueue(NcclCommunicator& nccl, CudaStream& stream, const DeviceCollectiveCall& call);

  const std::shared_ptr<State> state_;
  std::thread thread_;
};

// For CommunicatorSource.
StatusOr<std::string> CommunicatorCard(const Gpu& gpu);
StatusOr<std::shared_ptr<DeviceMoment>> MarkMoment(std::shared_ptr<CudaRun> run);

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_COMMUNICATOR_H_
