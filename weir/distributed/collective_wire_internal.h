// Conversions between the types of collectives and their messages.
#ifndef WEIR_DISTRIBUTED_COLLECTIVE_WIRE_INTERNAL_H_
#define WEIR_DISTRIBUTED_COLLECTIVE_WIRE_INTERNAL_H_

#include "weir/collective/domain.h"
#include "weir/proto/worker.pb.h"

namespace weir {

// The description that marks the devices of a weir task for other tasks.
inline constexpr std::string_view kWeirDevice = "weir";
// TensorFlow's graph key for graphs whose collectives take their keys as inputs.
inline constexpr int64_t kCollectiveGraphKey = static_cast<int64_t>(0x8774aa605c729c72);

CollectiveMember ToMember(const DeviceAttributes& attributes);
void ToProto(const CollectiveMember& member, DeviceAttributes* out);

void ToProto(const GroupJoin& join, CompleteGroupRequest* out);
StatusOr<GroupJoin> FromProto(const CompleteGroupRequest& request);
void ToProto(const CollectiveGroup& group, CompleteGroupResponse* out);
StatusOr<GroupPtr> FromProto(const CompleteGroupResponse& response);

void ToProto(const InstanceJoin& join, CompleteInstanceRequest* out);
StatusOr<InstanceJoin> FromProto(const CompleteInstanceRequest& request);

void ToProto(const RoundJoin& join, JoinRoundRequest* out);
StatusOr<RoundJoin> FromProto(const JoinRoundRequest& request);
void ToProto(const Round& round, JoinRoundResponse* out);
StatusOr<RoundPtr> FromProto(const JoinRoundResponse& response);

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_COLLECTIVE_WIRE_INTERNAL_H_
