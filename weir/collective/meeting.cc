#include "weir/collective/meeting.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "weir/base/strings.h"
#include "weir/collective/pmix.h"

namespace weir::collective {
namespace {

constexpr char kMeetingTopic[] = "weir meeting 1";
// A stranger that connects and sends nothing must not delay the others.
constexpr absl::Duration kTimeToIntroduce = absl::Seconds(5);

// What a rank tells about itself.
struct Introduction {
  int rank = 0;
  int size = 0;
  int port = 0;
  std::string host;     // identifies the host
  std::string address;  // this rank's own end of the connection
};

std::string Encode(const Introduction& own) {
  return Cat(own.rank, "\n", own.size, "\n", own.port, "\n", own.host, "\n", own.address);
}

StatusOr<Introduction> Decode(const std::string& text) {
  std::istringstream in(text);
  Introduction out;
  in >> out.rank >> out.size >> out.port;
  in.ignore(1);
  if (!in || !std::getline(in, out.host) || !std::getline(in, out.address)) {
    return InvalidArgument("a rank's introduction cannot be read");
  }
  return out;
}

// Addresses of this host's interfaces that others may be able to reach; the loopback if there are none.
std::vector<std::string> OwnAddresses() {
  std::vector<std::string> out;
  ifaddrs* found = nullptr;
  if (getifaddrs(&found) != 0) return {"127.0.0.1"};
  for (ifaddrs* each = found; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || (each->ifa_flags & IFF_UP) == 0 || (each->ifa_flags & IFF_LOOPBACK) != 0) continue;
    const int family = each->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    char host[NI_MAXHOST] = "";
    getnameinfo(each->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6), host, sizeof(host),
                nullptr, 0, NI_NUMERICHOST);
    if (std::string_view(host).find('%') != std::string_view::npos) continue;  // only valid on this host
    out.push_back(host);
  }
  freeifaddrs(found);
  if (out.empty()) out.push_back("127.0.0.1");
  return out;
}

std::string EncodeTable(const std::vector<RankAddress>& table) {
  std::string out;
  for (const RankAddress& each : table) {
    out += Cat(each.host, " ", each.endpoint.host, " ", each.endpoint.port, "\n");
  }
  return out;
}

StatusOr<std::vector<RankAddress>> DecodeTable(const std::string& text, int size) {
  std::istringstream in(text);
  std::vector<RankAddress> out(size);
  for (RankAddress& each : out) {
    if (!(in >> each.host >> each.endpoint.host >> each.endpoint.port)) {
      return Unavailable("rank 0's table of the ranks cannot be read: ", text);
    }
  }
  return out;
}

class MeetingHost {
 public:
  MeetingHost(const Place& place, absl::Time deadline, absl::Duration timeout, const Alarm& alarm)
      : place_(place),
        deadline_(deadline),
        timeout_(timeout),
        alarm_(alarm),
        ranks_(place.size),
        connections_(place.size) {}

  // Accepts connections until all ranks are present.
  Status Gather(const Socket& listener, const Introduction& own) {
    ranks_[0] = own;
    for (int here = 1; here < place_.size;) {
      WEIR_RETURN_IF_ERROR(WaitForRanks(listener));
      if (absl::Now() > deadline_) return Missing();
      WEIR_ASSIGN_OR_RETURN(Socket socket, Accept(listener));
      if (!socket.is_open()) continue;
      const absl::Time limit = std::min(deadline_, absl::Now() + kTimeToIntroduce);
      // Reject strangers and processes of other jobs; the job is not affected.
      if (!ProveAsListener(socket, {place_.secret, place_.tls}, kMeetingTopic, limit).ok()) continue;
      StatusOr<std::string> text = ReceiveText(socket, limit);
      StatusOr<Introduction> theirs = text.ok() ? Decode(*text) : text.status();
      if (!theirs.ok()) continue;
      if (theirs->size != place_.size || theirs->rank < 1 || theirs->rank >= place_.size) {
        return Refuse(socket, Cat("A process claims to be rank ", theirs->rank, " of ", theirs->size,
                                  ", but this job has ", place_.size, " ranks"));
      }
      if (connections_[theirs->rank].is_open()) {
        return Refuse(socket, Cat("Two processes claim to be rank ", theirs->rank));
      }
      if (!IsLoopback(LocalAddress(socket))) reachable_ = LocalAddress(socket);
      const int rank = theirs->rank;
      ranks_[rank] = *std::move(theirs);
      connections_[rank] = std::move(socket);
      ++here;
    }
    return OkStatus();
  }

  std::vector<RankAddress> Table() const {
    std::vector<RankAddress> table(place_.size);
    std::map<std::string, int> hosts;
    for (int r = 0; r < place_.size; ++r) {
      table[r].host = hosts.try_emplace(ranks_[r].host, static_cast<int>(hosts.size())).first->second;
      // A rank on the host of rank 0 connected over the loopback, where other hosts cannot reach it.
      const bool inside = ranks_[r].address.empty() || IsLoopback(ranks_[r].address);
      table[r].endpoint = {inside && !reachable_.empty() ? reachable_
                           : inside                      ? "127.0.0.1"
                                                         : ranks_[r].address,
                           ranks_[r].port};
    }
    return table;
  }

  Status Publish(const std::vector<RankAddress>& table) {
    const std::string text = Cat("1", EncodeTable(table));
    for (int r = 1; r < place_.size; ++r) {
      Status sent = SendText(connections_[r], text, deadline_);
      if (!sent.ok()) return Unavailable("Rank ", r, " has died while the ranks met: ", Message(sent));
    }
    return OkStatus();
  }

  std::vector<Socket> TakeConnections() { return std::move(connections_); }
  // "Rank 3 on host b"
  std::vector<std::string> Names(const std::vector<RankAddress>& table) const {
    std::vector<std::string> out;
    for (int r = 0; r < place_.size; ++r) out.push_back(Cat("Rank ", r, " at ", table[r].endpoint.host));
    return out;
  }

 private:
  // Waits briefly, or until a rank connects. Detects ranks that die after they have connected.
  Status WaitForRanks(const Socket& listener) {
    std::vector<pollfd> entries{{listener.file(), POLLIN, 0}};
    std::vector<int> ranks{0};
    for (int r = 1; r < place_.size; ++r) {
      if (!connections_[r].is_open()) continue;
      entries.push_back({connections_[r].file(), POLLRDHUP, 0});
      ranks.push_back(r);
    }
    poll(entries.data(), entries.size(), 100);
    if (alarm_) WEIR_RETURN_IF_ERROR(alarm_());
    for (size_t i = 1; i < entries.size(); ++i) {
      if (entries[i].revents == 0) continue;
      const std::string why = Cat("Rank ", ranks[i], " has died while the ranks met");
      connections_[ranks[i]].Close();
      for (const Socket& each : connections_) {
        if (each.is_open()) (void)SendText(each, Cat("d", why), absl::Now() + absl::Seconds(1));
      }
      return Unavailable(why);
    }
    return OkStatus();
  }
  // Tells all ranks that the meeting has failed.
  Status Refuse(const Socket& last, const std::string& why) {
    (void)SendText(last, Cat("0", why), absl::Now() + absl::Seconds(1));
    for (const Socket& each : connections_) {
      if (each.is_open()) (void)SendText(each, Cat("0", why), absl::Now() + absl::Seconds(1));
    }
    return InvalidArgument(why);
  }
  Status Missing() {
    std::vector<int> missing;
    for (int r = 1; r < place_.size; ++r) {
      if (!connections_[r].is_open()) missing.push_back(r);
    }
    const std::string why = Cat("After ", absl::FormatDuration(timeout_), " these ranks of ", place_.size,
                                " have not come: ", absl::StrJoin(missing, ", "));
    for (const Socket& each : connections_) {
      if (each.is_open()) (void)SendText(each, Cat("t", why), absl::Now() + absl::Seconds(1));
    }
    return DeadlineExceeded(why);
  }

  const Place& place_;
  const absl::Time deadline_;
  const absl::Duration timeout_;
  const Alarm& alarm_;
  std::vector<Introduction> ranks_;
  std::vector<Socket> connections_;
  std::string reachable_;  // this host's address as seen by other hosts
};

StatusOr<MeetingResult> HostMeeting(const Place& place, absl::Duration timeout, const Alarm& alarm) {
  const absl::Time deadline = absl::Now() + timeout;
  Socket given(place.listener);
  MeetingResult result;
  WEIR_ASSIGN_OR_RETURN(result.listener, Listen(0));
  int port = 0;
  if (!place.address.empty()) {
    WEIR_ASSIGN_OR_RETURN(Endpoint endpoint, ParseEndpoint(place.address));
    port = endpoint.port;
  }
  StatusOr<Socket> meeting = given.is_open() ? std::move(given) : Listen(port);
  if (!meeting.ok()) {
    return Unavailable("Rank 0 should listen at ", place.address, ", but ", Message(meeting.status()));
  }
  if (place.address.empty()) {
    WEIR_RETURN_IF_ERROR(PublishThroughPmix(Cat(absl::StrJoin(OwnAddresses(), ","), ";", PortOf(*meeting))));
  }
  MeetingHost host(place, deadline, timeout, alarm);
  WEIR_RETURN_IF_ERROR(host.Gather(*meeting, {0, place.size, PortOf(result.listener), place.host, ""}));
  result.ranks = host.Table();
  WEIR_RETURN_IF_ERROR(host.Publish(result.ranks));
  std::vector<Socket> connections = host.TakeConnections();
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0) {
    return ResourceExhausted("cannot make a pair of sockets");
  }
  connections[0] = Socket(pair[0]);
  auto relay = std::make_unique<Relay>(std::move(connections), host.Names(result.ranks));
  result.watch = std::make_unique<Watch>(Socket(pair[1]), std::move(relay));
  return result;
}

// Connects to rank 0, at the first of its addresses that answers and knows the secret.
StatusOr<Socket> FindRankZero(const Place& place, absl::Time deadline, const Alarm& alarm) {
  std::vector<Endpoint> candidates;
  if (!place.address.empty()) {
    WEIR_ASSIGN_OR_RETURN(Endpoint endpoint, ParseEndpoint(place.address));
    candidates.push_back(endpoint);
  } else {
    WEIR_ASSIGN_OR_RETURN(std::string published, ReadThroughPmix());
    const std::pair<std::string, std::string> parts = absl::StrSplit(published, ';');
    for (const auto host : absl::StrSplit(parts.first, ',')) {
      candidates.push_back({std::string(host), std::atoi(parts.second.c_str())});
    }
  }
  Status last;
  while (absl::Now() < deadline) {
    for (const Endpoint& each : candidates) {
      // If there are several addresses, one that does not answer must not use up all of the time.
      const absl::Time limit =
          candidates.size() == 1 ? deadline : std::min(deadline, absl::Now() + absl::Milliseconds(500));
      StatusOr<Socket> socket = ConnectTo(each, limit, alarm);
      last = socket.status();
      if (alarm) WEIR_RETURN_IF_ERROR(alarm());
      if (!socket.ok()) continue;
      last = ProveAsCaller(*socket, {place.secret, place.tls}, kMeetingTopic,
                           std::min(deadline, absl::Now() + kTimeToIntroduce));
      if (last.ok()) return socket;
      if (absl::IsPermissionDenied(last) && candidates.size() == 1) return last;
    }
  }
  return DeadlineExceeded(
      "Rank 0 of ", place.size, " cannot be reached at ",
      absl::StrJoin(candidates, ", ", [](std::string* out, const Endpoint& each) { *out += each.ToString(); }), ": ",
      Message(last));
}

}  // namespace

StatusOr<MeetingResult> MeetRanks(const Place& place, absl::Duration timeout, const Alarm& alarm) {
  if (place.rank == 0) return HostMeeting(place, timeout, alarm);
  const absl::Time deadline = absl::Now() + timeout;
  MeetingResult result;
  WEIR_ASSIGN_OR_RETURN(result.listener, Listen(0));
  WEIR_ASSIGN_OR_RETURN(Socket connection, FindRankZero(place, deadline, alarm));
  const Introduction own{place.rank, place.size, PortOf(result.listener), place.host, LocalAddress(connection)};
  WEIR_RETURN_IF_ERROR(SendText(connection, Encode(own), deadline));
  // Rank 0 reports a timeout itself, with the missing ranks; this deadline is for the case that rank 0 has vanished.
  StatusOr<std::string> text = ReceiveText(connection, deadline + absl::Seconds(5), alarm);
  if (alarm) WEIR_RETURN_IF_ERROR(alarm());
  if (!text.ok()) return Unavailable("Rank 0 was lost while the ranks met: ", Message(text.status()));
  if (text->starts_with('t')) return DeadlineExceeded(text->substr(1));
  if (text->starts_with('d')) return Unavailable(text->substr(1));
  if (!text->starts_with('1')) return InvalidArgument(text->substr(std::min<size_t>(1, text->size())));
  WEIR_ASSIGN_OR_RETURN(result.ranks, DecodeTable(text->substr(1), place.size));
  result.watch = std::make_unique<Watch>(std::move(connection), nullptr);
  return result;
}

}  // namespace weir::collective
