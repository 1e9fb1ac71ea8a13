#include "weir/collective/network_reduce.h"

#include <algorithm>
#include <bit>

namespace weir::collective {
namespace {

// From this size on, the ring is better: it moves the same number of bytes in more steps, whose latency no longer
// matters.
constexpr size_t kRingBytes = 1 << 20;

struct NetworkReduction {
  Network* network;
  std::span<const int> members;
  int own;
  DType dtype;
  MergeOp op;
  char* data;
  int64_t count;
  absl::Duration timeout;

  int size() const { return static_cast<int>(members.size()); }
  size_t element() const { return SizeOf(dtype); }
  // The values are divided into as many segments as there are members.
  int64_t begin(int segment) const { return count * segment / size(); }
  char* at(int64_t index) const { return data + index * static_cast<int64_t>(element()); }
};

// Segment s starts at member s and goes around the ring; each member adds its own values. Then the sums go around once
// more.
Status Ring(const NetworkReduction& r) {
  const int n = r.size();
  const int next = r.members[(r.own + 1) % n], previous = r.members[(r.own + n - 1) % n];
  const int64_t piece = static_cast<int64_t>(Exchange::kPieceBytes / r.element());
  Exchange exchange(r.network, r.timeout);
  std::vector<std::vector<int>> arrived(n);  // by segment: the pieces received last
  for (int step = 0; step < 2 * (n - 1); ++step) {
    const bool reduces = step < n - 1;
    const int out = (r.own - step + 2 * n) % n, in = (r.own - step - 1 + 2 * n) % n;
    for (int64_t at = r.begin(out), i = 0; at < r.begin(out + 1); at += piece, ++i) {
      const int64_t length = std::min(piece, r.begin(out + 1) - at);
      exchange.Send(next, r.at(at), length * r.element(), step == 0 ? Exchange::kNow : arrived[out][i]);
    }
    arrived[in].clear();
    for (int64_t at = r.begin(in); at < r.begin(in + 1); at += piece) {
      const int64_t length = std::min(piece, r.begin(in + 1) - at);
      char* const own = r.at(at);
      if (reduces) {
        const DType dtype = r.dtype;
        const MergeOp op = r.op;
        arrived[in].push_back(exchange.Receive(previous, length * r.element(), [=](const char* received) {
          MergeChunks(dtype, op, received, own, own, length);
        }));
      } else {
        arrived[in].push_back(exchange.Receive(previous, own, length * r.element()));
      }
    }
  }
  return exchange.Run();
}

// Recursive halving: pairs of members exchange halves of their segments until each member has the sum of one segment.
// Then recursive doubling: the same pairs, in reverse order, exchange the sums.
Status HalveAndDouble(const NetworkReduction& r) {
  const int n = r.size();
  int low = 0, high = n;  // range of segments
  std::vector<std::pair<int, int>> ranges;
  for (int distance = n / 2; distance > 0; distance /= 2) {
    Exchange exchange(r.network, r.timeout);
    const int peer = r.own ^ distance, middle = (low + high) / 2;
    const bool keeps_low = (r.own & distance) == 0;
    ranges.emplace_back(low, high);
    const int64_t keep = r.begin(keeps_low ? low : middle), keep_end = r.begin(keeps_low ? middle : high);
    const int64_t give = r.begin(keeps_low ? middle : low), give_end = r.begin(keeps_low ? high : middle);
    exchange.SendLarge(r.members[peer], r.at(give), (give_end - give) * r.element());
    const int64_t piece = static_cast<int64_t>(Exchange::kPieceBytes / r.element());
    for (int64_t at = keep; at < keep_end; at += piece) {
      const int64_t length = std::min(piece, keep_end - at);
      char* const own = r.at(at);
      // On both sides, the value of the lower member comes first.
      exchange.Receive(r.members[peer], length * r.element(), [&r, own, length, keeps_low](const char* received) {
        MergeChunks(r.dtype, r.op, keeps_low ? own : received, keeps_low ? received : own, own, length);
      });
    }
    WEIR_RETURN_IF_ERROR(exchange.Run());
    (keeps_low ? high : low) = middle;
  }
  for (int distance = 1; distance < n; distance *= 2) {
    Exchange exchange(r.network, r.timeout);
    const int peer = r.own ^ distance;
    const auto range = ranges.back();
    ranges.pop_back();
    exchange.SendLarge(r.members[peer], r.at(r.begin(low)), (r.begin(high) - r.begin(low)) * r.element());
    const int begin = low == range.first ? high : range.first, end = low == range.first ? range.second : low;
    exchange.ReceiveLarge(r.members[peer], r.at(r.begin(begin)), (r.begin(end) - r.begin(begin)) * r.element());
    WEIR_RETURN_IF_ERROR(exchange.Run());
    low = range.first;
    high = range.second;
  }
  return OkStatus();
}

}  // namespace

Status ReduceOverNetwork(Network* network, std::span<const int> members, int own, DType dtype, MergeOp op, void* data,
                         int64_t count, absl::Duration timeout) {
  if (members.size() < 2 || count == 0) return OkStatus();
  const NetworkReduction r{network, members, own, dtype, op, static_cast<char*>(data), count, timeout};
  if (members.size() > 2 && std::has_single_bit(members.size()) && count * SizeOf(dtype) < kRingBytes) {
    return HalveAndDouble(r);
  }
  return Ring(r);
}

}  // namespace weir::collective
