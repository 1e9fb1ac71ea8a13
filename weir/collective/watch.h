// Watch: how the ranks of a job on several hosts learn that others have failed.
//
// Every rank keeps a connection to rank 0 that carries no data. A thread of rank 0, the *relay*, passes on what it
// learns: if a connection closes without a farewell, its rank has died; a rank that fails sends the reason; if a rank
// has waited for too long, the relay asks who else is waiting, and the ranks that do not answer are the missing ones.
// So the error that ends a job names the same ranks everywhere, and arrives quickly even at ranks that do not
// communicate with the one that died.
#ifndef WEIR_COLLECTIVE_WATCH_H_
#define WEIR_COLLECTIVE_WATCH_H_

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "weir/collective/socket.h"

namespace weir::collective {

// The relay thread of rank 0.
class Relay {
 public:
  // `connections[r]` is the connection of rank r; names are for messages: "Rank 3 on host b".
  Relay(std::vector<Socket> connections, std::vector<std::string> names);
  ~Relay();

 private:
  struct State;
  const std::unique_ptr<State> state_;
  std::thread thread_;
};

// May be used by one thread at a time.
class Watch {
 public:
  // `relay` is null except at rank 0.
  Watch(Socket connection, std::unique_ptr<Relay> relay);
  // Tells the others that this rank has left.
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Readable when there is news; -1 if rank 0 has left.
  int file() const { return connection_.file(); }
  // Reads and answers messages. Once the job has failed, returns its error, which is the same on all ranks.
  Status Check();
  // Tells the others why this rank gives up, unless they know. Returns the error of the job.
  Status Report(const Status& status);
  // Reports that this rank has waited in vain for `waited`; `what` describes for what. The relay finds out who is
  // missing.
  Status ReportLate(absl::Duration waited, const std::string& what);
  // The reason why a rank closed its connection to this one; waits a moment for the relay to send it.
  Status ExplainLoss(int rank);

 private:
  Status Handle(std::string_view message);
  Status WaitForVerdict(absl::Duration limit);

  Socket connection_;
  std::unique_ptr<Relay> relay_;
  std::string received_;
  std::set<int> left_;
  Status failed_;
};

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_WATCH_H_
