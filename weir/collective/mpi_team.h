// MpiTeam: ranks that exchange data by MPI, under Open MPI's mpirun or srun with PMIx.
//
// Sums, gathers and broadcasts are MPI's nonblocking collectives, exchanges are its messages. Before each call, all
// ranks exchange their notes by messages in rounds of doubling distance, so that ranks that disagree get an error
// instead of a wrong result, and a rank that has nothing to do sees by a message that others wait for it.
//
// Whatever waits asks MPI again and again, until the deadline. Then it asks all other ranks where they are: those that
// wait in a call answer, and the error names the others, which get to hear it when they come. Values are added in the
// order that MPI chooses, so results need not be those of the other transport to the last bit.
#ifndef WEIR_COLLECTIVE_MPI_TEAM_H_
#define WEIR_COLLECTIVE_MPI_TEAM_H_

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "weir/collective/mpi_library.h"
#include "weir/collective/team.h"

namespace weir::collective {

class MpiTeam : public Team {
 public:
  static StatusOr<std::unique_ptr<Team>> Make(const Place& place, absl::Duration timeout);
  ~MpiTeam() override;
  StatusOr<std::unique_ptr<Team>> MakePart(const std::vector<int>& ranks, const std::string& name) override;

  Status Agree(const Note& note) override;
  Status Reduce(const Note& note, DType dtype, MergeOp op, void* data, int64_t count) override;
  Status ReduceScatter(DType dtype, MergeOp op, const char* data, const std::vector<int64_t>& begin,
                       char* out) override;
  Status Gather(char* data, const std::vector<size_t>& begin) override;
  Status Broadcast(char* data, size_t bytes, int root) override;
  Status ExchangeAll(const std::vector<const char*>& out, const std::vector<size_t>& out_bytes,
                     const std::vector<char*>& in, const std::vector<size_t>& in_bytes, size_t most_local) override;
  bool IsAwaited() const override;
  Status Check() override;
  void GiveUp(const Status& status) override;

 private:
  MpiTeam(Mpi* mpi, absl::Duration timeout) : mpi_(*mpi), timeout_(timeout) {}
  // The rest is called within Mpi::Run.
  Status Prepare(const Place& place);
  Status ReduceValues(DType dtype, MergeOp op, void* data, int64_t count);
  Status Run(const std::function<Status()>& work);
  // Every rank brings `bytes` bytes, the first ones of *all; afterwards *all has those of this rank, of the next one,
  // and so on. `ranks` has the numbers in control_ of the ranks that take part, and `own` the position of this one.
  Status Spread(std::vector<char>* all, size_t bytes, const std::vector<int>& ranks, int own, int tag);
  Status Wait(std::vector<MpiHandle> requests);
  Status Wait(MpiHandle request) { return Wait(std::vector<MpiHandle>{request}); }
  // Reads what other ranks say about failures. An error ends the team.
  Status Listen();
  Status CallRoll();
  void Say(int rank, const std::string& text);
  Status Fail(const Status& status);
  std::vector<int> AllRanks() const;

  Mpi& mpi_;
  const absl::Duration timeout_;
  MpiHandle data_ = nullptr, control_ = nullptr;  // communicators of the same ranks
  Status failed_;
  std::vector<bool> present_;     // while the roll is called: which ranks have answered
  std::deque<std::string> said_;  // must stay where it is until MPI has sent it
  std::vector<char> wide_;        // 16-bit numbers as floats
};

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_MPI_TEAM_H_
