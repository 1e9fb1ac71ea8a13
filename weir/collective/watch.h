// Watch: how the ranks of a job on several hosts learn what became of the others.
//
// Every rank keeps a connection to rank 0, over which no data goes. A thread at rank 0, the *relay*, passes on what it
// hears: a connection that closes without a farewell is a rank that died; a rank that fails says why; a rank that has
// waited too long asks who else waits, and those that do not answer are the missing ones. So the error that ends a job
// names the same ranks everywhere, and comes within moments also where nobody talks to the rank that died.
#ifndef WEIR_COLLECTIVE_WATCH_H_
#define WEIR_COLLECTIVE_WATCH_H_

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "weir/collective/socket.h"

namespace weir::collective {

// The thread of rank 0.
class Relay {
 public:
  // `connections[r]` is the one of rank r; names are for messages: "Rank 3 on host b".
  Relay(std::vector<Socket> connections, std::vector<std::string> names);
  ~Relay();

 private:
  struct State;
  const std::unique_ptr<State> state_;
  std::thread thread_;
};

// For one thread at a time.
class Watch {
 public:
  // `relay` is there at rank 0 only.
  Watch(Socket connection, std::unique_ptr<Relay> relay);
  // Tells the others that this rank has left.
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Readable when there is something to hear; -1 if rank 0 has left.
  int file() const { return connection_.file(); }
  // Reads what has come and answers. Not OK once the job has failed: the same error at all ranks.
  Status Check();
  // Tells the others why this rank gives up, unless they know. Gives the error of the job.
  Status Report(const Status& status);
  // This rank has waited in vain for `waited`, for what `what` says. Asks who is missing.
  Status ReportLate(absl::Duration waited, const std::string& what);
  // What is known about a rank that closed its connection to this one; waits a moment for the relay to tell.
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
