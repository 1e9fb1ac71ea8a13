#include "weir/client/eager/variable.h"

#include "weir/client/eager_execute_internal.h"
#include "weir/client/op_call.h"
#include "weir/client/tracer_internal.h"

namespace weir::eager {
namespace {

// The name by which a variable is asked for that only its handle can reach.
constexpr char kAnonymousName[] = "cd2c89b7-88b7-44c8-ad83-06c2a9158347";

StatusOr<EagerTensor> MakeHandle(DType dtype, const weir::Shape& shape) {
  const OpSchema* schema = Runtime().environment()->ops.Find("VarHandleOp");
  if (schema == nullptr) return Internal("VarHandleOp is not known");
  AttrMap attrs;
  attrs.Set("dtype", dtype);
  attrs.Set("shape", Attribute(shape));
  attrs.Set("shared_name", kAnonymousName);
  WEIR_ASSIGN_OR_RETURN(EagerRun run, ExecuteEagerly(*schema, {}, std::move(attrs)));
  return run.outputs[0];
}

}  // namespace

Variable::Variable(const Input& initial_value, const VariableOptions& options) {
  auto data = std::make_shared<Data>();
  data->options = options;
  const EagerTensor initial = Constant(initial_value);
  StatusOr<Tensor> value = initial.value();
  if (TracedScope() != nullptr) value = FailedPrecondition("a variable cannot be created while a function is traced");
  if (value.ok()) {
    data->dtype = value->dtype();
    data->shape = value->shape();
    StatusOr<EagerTensor> handle = MakeHandle(data->dtype, data->shape);
    if (handle.ok()) data->handle = *std::move(handle);
    data->status = handle.status();
  } else {
    data->status = value.status();
  }
  data_ = std::move(data);
  if (data_->status.ok()) {
    if (Status status = Assign(initial); !status.ok()) data_ = std::make_shared<const Data>(Data{.status = status});
  }
}

EagerTensor Variable::handle() const { return has_value() ? data_->handle : EagerTensor::Error(status()); }

void Variable::NoteRead() const {
  if (!data_->options.trainable) return;
  for (VariableWatcher* watcher : ThisEagerThread().watchers) watcher->OnRead(data_->handle);
}

EagerTensor Variable::Gather(const Input& rows) const {
  if (!has_value()) return EagerTensor::Error(status());
  NoteRead();
  EagerCall call;
  return call.One(
      OpCall(call.scope(), "ResourceGather").Add(data_->handle).Add(rows).Set("dtype", data_->dtype).Single());
}

EagerTensor Variable::Read() const {
  if (!has_value()) return EagerTensor::Error(status());
  NoteRead();
  EagerCall call;
  return call.One(OpCall(call.scope(), "ReadVariableOp").Add(data_->handle).Set("dtype", data_->dtype).Single());
}

Status Variable::Change(const char* op, const Input& value) const {
  WEIR_RETURN_IF_ERROR(status());
  EagerCall call;
  OpCall op_call(call.scope(), op);
  op_call.Add(data_->handle);
  if (value.is_weak()) {
    StatusOr<Tensor> own = value.ValueAs(data_->dtype);
    WEIR_RETURN_IF_ERROR(own.status());
    op_call.Add(*std::move(own));
  } else {
    const PartialShape shape = value.is_literal() ? PartialShape(value.value().shape()) : value.output().shape();
    if (value.natural_dtype() != DType::kInvalid && !shape.IsCompatibleWith(PartialShape(data_->shape))) {
      return InvalidArgument("a value of shape ", shape.ToString(), " cannot be assigned to variable '", name(),
                             "' of shape ", data_->shape.ToString());
    }
    op_call.Add(value);
  }
  return call.Done(op_call.Finish());
}

}  // namespace weir::eager
