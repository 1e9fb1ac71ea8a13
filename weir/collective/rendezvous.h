// Rendezvous: how the workers of an elastic job learn which ranks they are. A worker connects to the job's launcher
// (cli/elastic_host.h) and proves that it knows the secret. Then texts go both ways:
//
//   worker    join <port>       wants to be a rank of the next round; listens there, in case it becomes rank 0
//             done              training has ended
//   launcher  place <round> <rank> <size> <local rank> <local size> <host:port of rank 0>
//             news              workers wait to join, or are to leave: it is time for another round
//             lost              a worker of this round has ended: the same, and who waits for it waits in vain
//             leave             this worker is no rank any more
#ifndef WEIR_COLLECTIVE_RENDEZVOUS_H_
#define WEIR_COLLECTIVE_RENDEZVOUS_H_

#include <memory>
#include <optional>
#include <string>

#include "weir/collective/place.h"
#include "weir/collective/socket.h"

namespace weir::collective {

inline constexpr char kRendezvousTopic[] = "weir rendezvous 1";
// What the launcher of an elastic job sets.
inline constexpr char kRendezvousVariable[] = "WEIR_ELASTIC";  // host:port of the launcher
inline constexpr char kWorkerVariable[] = "WEIR_WORKER";       // the worker's number

// A worker's side. For one thread at a time.
class Rendezvous {
 public:
  // Null if the launcher's job is not elastic.
  static StatusOr<std::unique_ptr<Rendezvous>> Connect(absl::Duration timeout,
                                                       const Variables& variables = ProcessVariable);

  // Waits for a place in the next round; none: this worker is to leave. UNAVAILABLE if the launcher is gone.
  StatusOr<std::optional<Place>> Join(absl::Duration timeout);
  // Whether the launcher wants another round. Does not wait.
  StatusOr<bool> HasNews();
  // UNAVAILABLE if a worker of this round is lost. Does not wait.
  Status CheckWorkers();
  Status Finish();

 private:
  Rendezvous(Socket connection, Place place) : connection_(std::move(connection)), place_(std::move(place)) {}

  const Socket connection_;
  const Place place_;  // what is the same in all rounds
  bool has_news_ = false;
  bool has_lost_ = false;
};

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_RENDEZVOUS_H_
