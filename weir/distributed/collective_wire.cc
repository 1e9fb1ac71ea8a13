#include <algorithm>
#include <cstring>

#include "absl/time/clock.h"
#include "weir/base/fingerprint.h"
#include "weir/distributed/collective_wire_internal.h"
#include "weir/proto/step_stats.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

// A larger group must be a mistake.
constexpr int kMaxGroupSize = 1 << 20;

int64_t TimeoutMs(absl::Time deadline) {
  if (deadline == absl::InfiniteFuture()) return 0;
  return std::max<int64_t>(1, absl::ToInt64Milliseconds(deadline - absl::Now()));
}

absl::Time Deadline(int64_t timeout_ms) {
  return timeout_ms > 0 ? absl::Now() + absl::Milliseconds(timeout_ms) : absl::InfiniteFuture();
}

StatusOr<CollectiveKind> ToKind(int number) {
  if (number < 0 || number > static_cast<int>(CollectiveKind::kReduceScatter)) {
    return InvalidArgument("There is no collective of type ", number);
  }
  return static_cast<CollectiveKind>(number);
}

StatusOr<DType> ToDType(int number) {
  if (!IsValidDType(number)) return InvalidArgument("There is no type ", number);
  return static_cast<DType>(number);
}

Status CheckGroupSize(int size) {
  if (size < 1 || size > kMaxGroupSize) return InvalidArgument("A group cannot have ", size, " members");
  return OkStatus();
}

}  // namespace

CollectiveMember ToMember(const DeviceAttributes& attributes) {
  CollectiveMember member;
  member.device = attributes.name();
  member.device_type = attributes.device_type();
  member.incarnation = attributes.incarnation();
  member.is_weir = std::string_view(attributes.physical_device_desc()).starts_with(kWeirDevice);
  member.attributes = attributes.SerializeAsString();
  return member;
}

void ToProto(const CollectiveMember& member, DeviceAttributes* out) {
  if (!member.attributes.empty() && out->ParseFromString(member.attributes)) return;
  out->set_name(member.device);
  out->set_device_type(member.device_type);
  out->set_incarnation(member.incarnation);
  out->mutable_locality();
  out->set_xla_global_id(-1);
  if (member.is_weir) out->set_physical_device_desc(std::string(kWeirDevice));
}

void ToProto(const GroupJoin& join, CompleteGroupRequest* out) {
  out->set_group_key(join.key);
  out->set_group_size(join.size);
  out->set_device_type(join.member.device_type);
  ToProto(join.member, out->mutable_device_attributes());
  out->set_rank_plus_one(join.member.user_rank + 1);
  out->set_timeout_ms(TimeoutMs(join.deadline));
}

StatusOr<GroupJoin> FromProto(const CompleteGroupRequest& request) {
  WEIR_RETURN_IF_ERROR(CheckGroupSize(request.group_size()));
  GroupJoin join;
  join.key = request.group_key();
  join.size = request.group_size();
  join.member = ToMember(request.device_attributes());
  if (join.member.device.empty()) return InvalidArgument("A member of a group needs a name");
  join.member.user_rank = request.rank_plus_one() - 1;
  join.deadline = Deadline(request.timeout_ms());
  return join;
}

void ToProto(const CollectiveGroup& group, CompleteGroupResponse* out) {
  out->set_group_key(group.key);
  out->set_group_size(group.size());
  out->set_device_type(group.members[0].device_type);
  out->set_num_tasks(static_cast<int>(group.MembersPerTask().size()));
  out->set_communicator_key(std::string(reinterpret_cast<const char*>(&group.id), sizeof(group.id)));
  for (const CollectiveMember& member : group.members) ToProto(member, out->add_device_attributes());
  out->set_in_rank_order(true);
}

StatusOr<GroupPtr> FromProto(const CompleteGroupResponse& response) {
  if (response.device_attributes_size() != response.group_size() || response.group_size() < 1) {
    return Internal("The leader names ", response.device_attributes_size(), " members of the group ",
                    response.group_key(), " of ", response.group_size());
  }
  auto group = std::make_shared<CollectiveGroup>();
  group->key = response.group_key();
  std::string identity = response.communicator_key();
  for (const DeviceAttributes& attributes : response.device_attributes()) {
    group->members.push_back(ToMember(attributes));
    identity += Cat(";", attributes.name(), ";", attributes.incarnation());
  }
  if (response.in_rank_order() && response.communicator_key().size() == sizeof(group->id)) {
    std::memcpy(&group->id, response.communicator_key().data(), sizeof(group->id));
  } else {
    group->id = Fingerprint64(identity);
  }
  if (!response.in_rank_order()) WEIR_RETURN_IF_ERROR(SortMembers(&group->members));
  return GroupPtr(group);
}

void ToProto(const InstanceJoin& join, CompleteInstanceRequest* out) {
  out->set_name(join.name);
  out->set_type(static_cast<int>(join.spec.kind));
  out->set_data_type(static_cast<DataType>(join.spec.dtype));
  ToProto(join.spec.shape, out->mutable_shape());
  out->set_group_key(join.group_key);
  out->set_group_size(join.group_size);
  out->set_instance_key(join.instance_key);
  out->set_device_type(join.device_type);
  for (int offset : join.spec.subdiv_offsets) out->add_subdiv_offset(offset);
  out->set_device(join.device);
  out->set_is_source(join.spec.is_source);
}

StatusOr<InstanceJoin> FromProto(const CompleteInstanceRequest& request) {
  WEIR_RETURN_IF_ERROR(CheckGroupSize(request.group_size()));
  InstanceJoin join;
  join.name = request.name();
  join.group_key = request.group_key();
  join.group_size = request.group_size();
  join.instance_key = request.instance_key();
  join.device = request.device();
  join.device_type = request.device_type();
  WEIR_ASSIGN_OR_RETURN(join.spec.kind, ToKind(request.type()));
  WEIR_ASSIGN_OR_RETURN(join.spec.dtype, ToDType(request.data_type()));
  WEIR_ASSIGN_OR_RETURN(join.spec.shape, ShapeFromProto(request.shape()));
  join.spec.is_source = request.is_source();
  join.step_id = request.step_id();
  return join;
}

void ToProto(const RoundJoin& join, JoinRoundRequest* out) {
  out->set_group_key(join.group_key);
  out->set_group_id(join.group_id);
  out->set_group_size(join.group_size);
  out->set_rank(join.rank);
  out->set_instance_key(join.instance_key);
  out->set_frame_id(join.frame_id);
  out->set_iteration(join.iteration);
  out->set_name(join.name);
  const CollectiveSpec& spec = join.spec;
  out->set_type(static_cast<int>(spec.kind));
  out->set_data_type(static_cast<DataType>(spec.dtype));
  ToProto(spec.shape, out->mutable_shape());
  out->set_merge_op(static_cast<int>(spec.merge));
  out->set_divide(spec.divide);
  out->mutable_subdiv_offset()->Add(spec.subdiv_offsets.begin(), spec.subdiv_offsets.end());
  out->set_max_subdivs(spec.max_subdivs);
  out->mutable_permutation()->Add(spec.permutation.begin(), spec.permutation.end());
  out->set_is_source(spec.is_source);
  out->set_timeout_ms(TimeoutMs(join.deadline));
  out->set_card(join.offer.card);
  out->set_obstacle(join.offer.obstacle);
  out->set_lost_communicator(join.offer.lost);
  out->set_doubts(join.offer.doubts);
}

StatusOr<RoundJoin> FromProto(const JoinRoundRequest& request) {
  WEIR_RETURN_IF_ERROR(CheckGroupSize(request.group_size()));
  RoundJoin join;
  join.group_key = request.group_key();
  join.group_id = request.group_id();
  join.group_size = request.group_size();
  join.rank = request.rank();
  join.instance_key = request.instance_key();
  join.frame_id = request.frame_id();
  join.iteration = request.iteration();
  join.name = request.name();
  CollectiveSpec& spec = join.spec;
  WEIR_ASSIGN_OR_RETURN(spec.kind, ToKind(request.type()));
  WEIR_ASSIGN_OR_RETURN(spec.dtype, ToDType(request.data_type()));
  WEIR_ASSIGN_OR_RETURN(spec.shape, ShapeFromProto(request.shape()));
  if (request.merge_op() < 0 || request.merge_op() > static_cast<int>(MergeOp::kMax)) {
    return InvalidArgument("There is no reduction ", request.merge_op());
  }
  spec.merge = static_cast<MergeOp>(request.merge_op());
  spec.divide = request.divide();
  spec.subdiv_offsets.assign(request.subdiv_offset().begin(), request.subdiv_offset().end());
  spec.max_subdivs = request.max_subdivs();
  spec.permutation.assign(request.permutation().begin(), request.permutation().end());
  spec.is_source = request.is_source();
  join.offer = {request.card(), request.obstacle(), request.lost_communicator(), request.doubts()};
  join.deadline = Deadline(request.timeout_ms());
  return join;
}

void ToProto(const Round& round, JoinRoundResponse* out) {
  out->set_round(round.id);
  out->set_source_rank(round.source_rank);
  for (const Shape& shape : round.shapes) ToProto(shape, out->add_shape());
  out->set_communicator(round.communicator.generation);
  out->set_communicator_order(round.communicator.order);
  out->set_communicator_id(round.communicator.id);
  out->set_obstacle(round.communicator.obstacle);
}

StatusOr<RoundPtr> FromProto(const JoinRoundResponse& response) {
  auto round = std::make_shared<Round>();
  round->id = response.round();
  round->source_rank = response.source_rank();
  for (const TensorShapeProto& proto : response.shape()) {
    WEIR_ASSIGN_OR_RETURN(Shape shape, ShapeFromProto(proto));
    round->shapes.push_back(std::move(shape));
  }
  round->communicator = {response.communicator(), response.communicator_order(), response.communicator_id(),
                         response.obstacle()};
  return RoundPtr(round);
}

}  // namespace weir
