#include "weir/collective/rendezvous.h"

#include <poll.h>

#include <sstream>

#include "absl/time/clock.h"
#include "weir/base/strings.h"

namespace weir::collective {
namespace {

constexpr absl::Duration kTimeToSay = absl::Seconds(30);  // for the rest of a text that has begun

Status LauncherIsGone(const Status& status) {
  return Unavailable("The launcher of this elastic job is gone: ", Message(status));
}

// "place 3 0 2 0 1 host:port"
StatusOr<Place> ReadPlace(const std::string& text, const Place& same) {
  std::istringstream in(text);
  std::string word;
  Place place = same;
  int64_t round = 0;
  in >> word >> round >> place.rank >> place.size >> place.local_rank >> place.local_size >> place.address;
  if (!in || word != "place" || place.rank < 0 || place.rank >= place.size || place.local_rank < 0 ||
      place.local_rank >= place.local_size || place.local_size > place.size) {
    return Internal("unexpected message from the launcher: '", text, "'");
  }
  place.job = Cat(same.job, "_round_", round);
  return place;
}

}  // namespace

StatusOr<std::unique_ptr<Rendezvous>> Rendezvous::Connect(absl::Duration timeout, const Variables& variables) {
  const std::string address = variables(kRendezvousVariable);
  if (address.empty()) return nullptr;
  WEIR_ASSIGN_OR_RETURN(Endpoint endpoint, ParseEndpoint(address));
  Place place;
  place.launcher = "weir launch --elastic";
  place.job = variables("WEIR_JOB");
  place.host = variables("WEIR_HOST");
  place.secret = variables("WEIR_SECRET");
  WEIR_ASSIGN_OR_RETURN(place.tls, FindTlsOptions(variables));
  const absl::Time deadline = absl::Now() + timeout;
  StatusOr<Socket> connection = ConnectTo(endpoint, deadline);
  if (!connection.ok()) {
    return Unavailable("The launcher of this elastic job cannot be reached at ", address, ": ",
                       Message(connection.status()));
  }
  WEIR_RETURN_IF_ERROR(ProveAsCaller(*connection, {place.secret, place.tls}, kRendezvousTopic, deadline));
  WEIR_RETURN_IF_ERROR(SendText(*connection, variables(kWorkerVariable), deadline));
  return std::unique_ptr<Rendezvous>(new Rendezvous(*std::move(connection), std::move(place)));
}

StatusOr<std::optional<Place>> Rendezvous::Join(absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  WEIR_ASSIGN_OR_RETURN(Socket listener, Listen(0));
  Status sent = SendText(connection_, Cat("join ", PortOf(listener)), deadline);
  if (!sent.ok()) return LauncherIsGone(sent);
  while (true) {
    StatusOr<std::string> text = ReceiveText(connection_, deadline);
    if (absl::IsDeadlineExceeded(text.status())) {
      return DeadlineExceeded("For ", absl::FormatDuration(timeout),
                              " the launcher of this elastic job has found too few workers for a round");
    }
    if (!text.ok()) return LauncherIsGone(text.status());
    if (*text == "news" || *text == "lost") continue;  // about the previous round
    if (*text == "leave") return std::nullopt;
    WEIR_ASSIGN_OR_RETURN(Place place, ReadPlace(*text, place_));
    has_news_ = has_lost_ = false;
    if (place.rank == 0 && place.local_size < place.size) place.listener = listener.Release();
    return place;
  }
}

StatusOr<bool> Rendezvous::HasNews() {
  pollfd waiting{connection_.file(), POLLIN, 0};
  while (poll(&waiting, 1, 0) > 0) {
    StatusOr<std::string> text = ReceiveText(connection_, absl::Now() + kTimeToSay);
    if (!text.ok()) return LauncherIsGone(text.status());
    has_news_ = true;
    if (*text == "lost") has_lost_ = true;
  }
  return has_news_;
}

Status Rendezvous::CheckWorkers() {
  WEIR_RETURN_IF_ERROR(HasNews().status());
  return has_lost_ ? Unavailable("a worker of this round has ended") : OkStatus();
}

Status Rendezvous::Finish() {
  Status sent = SendText(connection_, "done", absl::Now() + kTimeToSay);
  return sent.ok() ? sent : LauncherIsGone(sent);
}

}  // namespace weir::collective
