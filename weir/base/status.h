// Errors. Every function that can fail returns absl::Status or absl::StatusOr; exceptions never cross a folder.
#ifndef WEIR_BASE_STATUS_H_
#define WEIR_BASE_STATUS_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weir/base/export.h"
#include "weir/base/strings.h"

namespace WEIR_PUBLIC weir {

using Status = absl::Status;
template <typename T>
using StatusOr = absl::StatusOr<T>;

inline Status OkStatus() { return Status(); }
inline std::string Message(const Status& status) { return std::string(status.message()); }

// The same code and payloads, with `prefix` before or `suffix` after the message.
Status Annotate(const Status& status, std::string_view prefix, std::string_view suffix = "");

// Error codes are those of Abseil and TensorFlow; each has a constructor: InvalidArgument("axis ", axis, " is out of
// range").
#define WEIR_DEFINE_ERROR(Name, code)                    \
  template <typename... Args>                            \
  Status Name(const Args&... args) {                     \
    return Status(absl::StatusCode::code, Cat(args...)); \
  }
WEIR_DEFINE_ERROR(Cancelled, kCancelled)
WEIR_DEFINE_ERROR(Unknown, kUnknown)
WEIR_DEFINE_ERROR(InvalidArgument, kInvalidArgument)
WEIR_DEFINE_ERROR(DeadlineExceeded, kDeadlineExceeded)
WEIR_DEFINE_ERROR(NotFound, kNotFound)
WEIR_DEFINE_ERROR(AlreadyExists, kAlreadyExists)
WEIR_DEFINE_ERROR(PermissionDenied, kPermissionDenied)
WEIR_DEFINE_ERROR(ResourceExhausted, kResourceExhausted)
WEIR_DEFINE_ERROR(FailedPrecondition, kFailedPrecondition)
WEIR_DEFINE_ERROR(Aborted, kAborted)
WEIR_DEFINE_ERROR(OutOfRange, kOutOfRange)
WEIR_DEFINE_ERROR(Unimplemented, kUnimplemented)
WEIR_DEFINE_ERROR(Internal, kInternal)
WEIR_DEFINE_ERROR(Unavailable, kUnavailable)
WEIR_DEFINE_ERROR(DataLoss, kDataLoss)
#undef WEIR_DEFINE_ERROR

#define WEIR_CONCAT_INNER_(a, b) a##b
#define WEIR_CONCAT_(a, b) WEIR_CONCAT_INNER_(a, b)

#define WEIR_RETURN_IF_ERROR(expr)        \
  do {                                    \
    ::absl::Status weir_status_ = (expr); \
    if (!weir_status_.ok()) [[unlikely]]  \
      return weir_status_;                \
  } while (0)

// WEIR_ASSIGN_OR_RETURN(int64_t axis, ctx.Attr<int64_t>("axis"));
#define WEIR_ASSIGN_OR_RETURN(lhs, expr) WEIR_ASSIGN_OR_RETURN_(WEIR_CONCAT_(weir_or_, __LINE__), lhs, expr)
#define WEIR_ASSIGN_OR_RETURN_(var, lhs, expr) \
  auto var = (expr);                           \
  if (!var.ok()) [[unlikely]]                  \
    return std::move(var).status();            \
  lhs = *std::move(var)

}  // namespace weir

#endif  // WEIR_BASE_STATUS_H_
