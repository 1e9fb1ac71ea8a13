// Rendezvous: how the workers of an elastic job learn their ranks. A worker connects to the job's launcher
// (cli/elastic_host.h) and proves that it knows the secret. Then both sides send texts:
//
//   worker    join <port>       wants to be a rank of the next round; listens at the port, in case it becomes rank 0
//             done              training has ended
//   launcher  place <round> <rank> <size> <local rank> <local size> <host:port of rank 0>
//             news              workers wait to join or have to leave: it is time for another round
//             lost              a worker of this round has ended: like news, and waiting for it is pointless
//             leave             this worker is no longer a rank
#ifndef WEIR_COLLECTIVE_RENDEZVOUS_H_
#define WEIR_COLLECTIVE_RENDEZVOUS_H_

#include <memory>
#include <optional>
#include <string>

#include "weir/collective/place.h"
#include "weir/collective/socket.h"

namespace weir::collective {

inline constexpr char kRendezvousTopic[] = "weir rendezvous 1";
// Variables that the launcher of an elastic job sets.
inline constexpr char kRendezvousVariable[] = "WEIR_ELASTIC";  // host:port of the launcher
inline constexpr char kWorkerVariable[] = "WEIR_WORKER";       // the worker's number

// The worker's side. May be used by one thread at a time.
class Rendezvous {
 public:
  // Null if the launcher's job is not elastic.
  static StatusOr<std::unique_ptr<Rendezvous>> Connect(absl::Duration timeout,
                                                       const Variables& variables = ProcessVariable);

  // Waits for a place in the next round. No place means that this worker has to leave. UNAVAILABLE if the launcher is
  // gone.
  StatusOr<std::optional<Place>> Join(absl::Duration timeout);
  // Whether the launcher wants another round. Does not wait.
  StatusOr<bool> HasNews();
  // UNAVAILABLE if a worker of this round is lost. Does not wait.
  Status CheckWorkers();
  Status Finish();

 private:
  Rendezvous(Socket connection, Place place) : connection_(std::move(connection)), place_(std::move(place)) {}

  const Socket connection_;
  const Place place_;  // the parts that are the same in all rounds
  bool has_news_ = false;
  bool has_lost_ = false;
};

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_RENDEZVOUS_H_
