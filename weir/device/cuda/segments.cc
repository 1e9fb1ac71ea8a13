#include "weir/device/cuda/segments.h"

#include <algorithm>

namespace weir::cuda {
namespace {

constexpr std::string_view kSource = "weir/device/cuda/device_code/segments.cuh";

}  // namespace

StatusOr<Tensor> CheckSegmentIds(KernelContext& ctx, const Tensor& ids) {
  WEIR_ASSIGN_OR_RETURN(Tensor report, ctx.AllocateTemp(DType::kInt64, Shape({3})));
  WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(report), report.num_bytes()));
  WEIR_RETURN_IF_ERROR(LaunchOver(ctx, {kSource, Cat("CheckIds<", DeviceTypeName(ids.dtype()), ">")},
                                  ids.num_elements(), Address(ids), ids.num_elements(), Address(report)));
  return report;
}

Status SegmentIdError(const Tensor& report) {
  if (report.data<int64_t>()[1] != 0) return InvalidArgument("segment ids must be >= 0");
  if (report.data<int64_t>()[2] != 0) return InvalidArgument("segment ids are not increasing");
  return OkStatus();
}

StatusOr<Tensor> SegmentBegins(KernelContext& ctx, const Tensor& ids, int64_t segments) {
  WEIR_ASSIGN_OR_RETURN(Tensor begins, ctx.AllocateTemp(DType::kInt64, Shape({segments + 1})));
  WEIR_RETURN_IF_ERROR(LaunchOver(ctx, {kSource, Cat("FindBegins<", DeviceTypeName(ids.dtype()), ">")}, segments + 1,
                                  Address(ids), ids.num_elements(), segments, Address(begins)));
  return begins;
}

Status ReduceSegments(KernelContext& ctx, std::string_view operation, const Tensor& data, const Tensor* rows,
                      const Tensor& begins, const Status& bad_row, const Tensor& out) {
  if (out.num_elements() == 0) return OkStatus();
  const int64_t segments = begins.num_elements() - 1, inner = out.num_elements() / segments;
  const int64_t limit = data.dim(0), count = rows != nullptr ? rows->num_elements() : limit;
  WEIR_ASSIGN_OR_RETURN(DeviceAddress error, ErrorFlag(ctx, bad_row));
  const std::string_view index = rows != nullptr ? DeviceTypeName(rows->dtype()) : "int64";
  const LaunchShape shape{.grid = static_cast<unsigned>(std::min<int64_t>(segments * ((inner + 31) / 32), 1 << 20)),
                          .block = 32,
                          .block_y = count / segments >= 16 ? 8u : 1u};
  return Launch(ctx,
                {kSource, Cat("ReduceSegments<", DeviceTypeName(data.dtype()), ", ", DeviceTypeName(out.dtype()), ", ",
                              index, ", ", operation, ">")},
                shape, Address(data), limit, rows != nullptr ? Address(*rows) : DeviceAddress{0}, Address(begins),
                segments, inner, Address(out), error);
}

Status ConvertElements(KernelContext& ctx, const Tensor& from, const Tensor& to) {
  return LaunchOver(ctx,
                    {kSource, Cat("ConvertAll<", DeviceTypeName(from.dtype()), ", ", DeviceTypeName(to.dtype()), ">")},
                    to.num_elements(), Address(from), Address(to), to.num_elements());
}

}  // namespace weir::cuda
