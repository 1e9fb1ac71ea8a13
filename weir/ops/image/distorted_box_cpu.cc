// SampleDistortedBoundingBox: a random crop that covers enough of an object.
#include <algorithm>
#include <bit>
#include <cmath>

#include "absl/synchronization/mutex.h"
#include "weir/base/philox.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/image/register.h"

namespace weir {
namespace {

// Numbers of a Philox stream, drawn as TensorFlow's samplers draw them.
class Numbers {
 public:
  explicit Numbers(const Philox& philox) : numbers_(philox) {}
  // In [0, 1): the upper bits of a number as the mantissa of one in [1, 2).
  float Float() { return std::bit_cast<float>((numbers_.Next() & 0x7fffffu) | 127u << 23) - 1.0f; }
  // In [0, n).
  uint32_t Below(uint32_t n) {
    if ((n & (n - 1)) == 0) return numbers_.Next() & (n - 1);
    // Numbers that would make some results likelier are drawn again.
    const uint32_t surplus = UINT32_MAX % n + 1;
    uint32_t number = 0;
    do number = numbers_.Next();
    while (number < surplus);
    return number % n;
  }

 private:
  PhiloxNumbers numbers_;
};

struct Rectangle {
  int64_t left = 0, top = 0, right = 0, bottom = 0;
  float area() const {
    return right > left && bottom > top ? static_cast<float>((right - left) * (bottom - top)) : 0.0f;
  }
  Rectangle Intersect(const Rectangle& other) const {
    const Rectangle out{std::max(left, other.left), std::max(top, other.top), std::min(right, other.right),
                        std::min(bottom, other.bottom)};
    return out.left >= out.right || out.top >= out.bottom ? Rectangle() : out;
  }
};

struct Range {
  float low = 0, high = 0;
};

// Tries one crop of this aspect ratio; false if there is none within the range of areas.
bool RandomCrop(int64_t width, int64_t height, Range areas, float aspect, Numbers& random, Rectangle* crop) {
  if (areas.high <= 0 || aspect <= 0 || width <= 0 || height <= 0 || areas.low > areas.high) return false;
  const float min_area = areas.low * static_cast<float>(width) * static_cast<float>(height);
  const float max_area = areas.high * static_cast<float>(width) * static_cast<float>(height);
  auto wide = [aspect](int64_t h) { return static_cast<int64_t>(std::lrint(static_cast<float>(h) * aspect)); };
  int64_t h = std::lrint(std::sqrt(min_area / aspect));
  int64_t max_h = std::lrint(std::sqrt(max_area / aspect));
  if (wide(max_h) > width) {
    constexpr float kEpsilon = 0.0000001f;
    max_h = static_cast<int64_t>((static_cast<float>(width) + 0.5f - kEpsilon) / aspect);
    if (wide(max_h) > width) --max_h;
  }
  max_h = std::min(max_h, height);
  h = std::min(h, max_h);
  if (h < max_h) h += random.Below(static_cast<uint32_t>(max_h - h + 1));
  int64_t w = wide(h);
  auto area = [&] { return static_cast<float>(w) * static_cast<float>(h); };
  // Rounding must not make it fail: one line more, or one less.
  if (area() < min_area) w = wide(++h);
  if (area() > max_area) w = wide(--h);
  if (area() < min_area || area() > max_area || w > width || h > height || w <= 0 || h <= 0) return false;
  const int64_t y = h < height ? random.Below(static_cast<uint32_t>(height - h)) : 0;
  const int64_t x = w < width ? random.Below(static_cast<uint32_t>(width - w)) : 0;
  *crop = {x, y, x + w, y + h};
  return true;
}

bool Covers(const Rectangle& crop, float min_covered, const std::vector<Rectangle>& objects) {
  constexpr float kMinArea = 1;
  if (crop.area() < kMinArea) return false;
  return std::any_of(objects.begin(), objects.end(), [&](const Rectangle& object) {
    return object.area() >= kMinArea && object.Intersect(crop).area() / object.area() >= min_covered;
  });
}

StatusOr<std::vector<Rectangle>> ReadBoxes(const Tensor& boxes, int64_t height, int64_t width, bool allow_none) {
  if (boxes.rank() != 3) {
    return InvalidArgument("input boxes must be 3-dimensional [batch, num_boxes, coords]: ", boxes.shape().ToString());
  }
  if (boxes.dim(2) != 4) {
    return InvalidArgument("bounding boxes must have shape [4] or [*, 4], got ", boxes.shape().ToString());
  }
  std::vector<Rectangle> out;
  const float* box = boxes.data<float>();
  for (int64_t i = 0; i < boxes.num_elements(); i += 4, box += 4) {
    for (int k = 0; k < 4; ++k) {
      if (!(box[k] >= 0 && box[k] <= 1)) {
        return InvalidArgument("All bounding box coordinates must be in [0.0, 1.0]: ", box[k]);
      }
    }
    auto place = [](float part, int64_t size) { return static_cast<int64_t>(part * static_cast<float>(size)); };
    out.push_back({place(box[1], width), place(box[0], height), place(box[3], width), place(box[2], height)});
  }
  if (!out.empty()) return out;
  if (!allow_none) {
    return InvalidArgument(
        "No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes if you ",
        "wish to not provide any bounding boxes.");
  }
  return std::vector<Rectangle>{{0, 0, width, height}};
}

class DistortedBoxKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<DistortedBoxKernel>();
    WEIR_RETURN_IF_ERROR(kernel->ReadAttrs(init));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor size = ctx.input(0);
    if (size.rank() != 1) return InvalidArgument("image_size must be 1-dimensional: ", size.shape().ToString());
    if (size.dim(0) != 3) return InvalidArgument("image_size must contain 3 elements: ", size.shape().ToString());
    int64_t height = 0, width = 0;
    DispatchDType(size.dtype(), Types{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      height = static_cast<int64_t>(size.data<T>()[0]);
      width = static_cast<int64_t>(size.data<T>()[1]);
    });
    if (height < 0 || height > INT32_MAX) return InvalidArgument("image height must not be negative, got ", height);
    if (width < 0 || width > INT32_MAX) return InvalidArgument("image width must not be negative, got ", width);
    WEIR_ASSIGN_OR_RETURN(std::vector<Rectangle> objects, ReadBoxes(ctx.input(1), height, width, allow_none_));
    float min_covered = min_covered_;
    if (ctx.num_inputs() > 2) {
      if (!ctx.input(2).shape().IsScalar()) {
        return InvalidArgument("min_object_covered must be 0-D, got shape ", ctx.input(2).shape().ToString());
      }
      min_covered = ctx.input(2).scalar<float>();
      if (!(min_covered >= 0)) {
        return InvalidArgument("Min object covered must be non-negative: ", min_covered);
      }
    }
    WEIR_ASSIGN_OR_RETURN(Philox philox, Stream(ctx));
    Numbers random(philox);
    Rectangle crop;
    bool found = false;
    for (int64_t i = 0; i < max_attempts_ && !found; ++i) {
      if (ctx.cancellation().cancelled()) return ctx.cancellation().reason();
      const float aspect = random.Float() * (aspects_.high - aspects_.low) + aspects_.low;
      found = RandomCrop(width, height, areas_, aspect, random, &crop) && Covers(crop, min_covered, objects);
    }
    if (!found) crop = {0, 0, width, height};
    return Put(ctx, crop, height, width);
  }

 private:
  using Types = TypeList<uint8_t, int8_t, int16_t, int32_t, int64_t>;

  Status ReadAttrs(const KernelInit& init) {
    using Floats = std::vector<float>;
    WEIR_ASSIGN_OR_RETURN(Floats aspects, init.Attr<Floats>("aspect_ratio_range"));
    WEIR_ASSIGN_OR_RETURN(Floats areas, init.Attr<Floats>("area_range"));
    if (aspects.size() != 2) return InvalidArgument("Aspect ratio range field must specify 2 dimensions");
    if (!(aspects[0] > 0) || !(aspects[1] > 0)) {
      return InvalidArgument("Aspect ratio range must be non-negative: [", aspects[0], ", ", aspects[1], "]");
    }
    if (areas.size() != 2) return InvalidArgument("Area range field must specify 2 dimensions");
    if (!(areas[0] > 0) || !(areas[1] > 0) || areas[0] > 1 || areas[1] > 1) {
      return InvalidArgument("Area range must be non-negative and at most 1.0: [", areas[0], ", ", areas[1], "]");
    }
    aspects_ = {aspects[0], aspects[1]};
    areas_ = {areas[0], areas[1]};
    WEIR_ASSIGN_OR_RETURN(max_attempts_, init.Attr<int64_t>("max_attempts"));
    if (max_attempts_ <= 0) return InvalidArgument("Max attempts must be positive: ", max_attempts_);
    WEIR_ASSIGN_OR_RETURN(allow_none_, init.Attr<bool>("use_image_if_no_bounding_boxes"));
    if (init.HasAttr("min_object_covered")) {
      WEIR_ASSIGN_OR_RETURN(min_covered_, init.Attr<float>("min_object_covered"));
      if (!(min_covered_ >= 0)) return InvalidArgument("Min object covered must be non-negative: ", min_covered_);
    }
    stateless_ = !init.HasAttr("seed");
    if (stateless_) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(int64_t seed, init.Attr<int64_t>("seed"));
    WEIR_ASSIGN_OR_RETURN(int64_t seed2, init.Attr<int64_t>("seed2"));
    absl::MutexLock lock(&mu_);
    state_ = Philox::FromSeeds(static_cast<uint64_t>(seed), static_cast<uint64_t>(seed2));
    return OkStatus();
  }

  // The numbers of this run: of the seed given as the last input, or the next ones of the node.
  StatusOr<Philox> Stream(KernelContext& ctx) {
    if (!stateless_) {
      absl::MutexLock lock(&mu_);
      const Philox out = state_;
      // Four numbers an attempt are set aside, used or not.
      state_.Skip(static_cast<uint64_t>(max_attempts_));
      return out;
    }
    const Tensor& seed = ctx.input(ctx.num_inputs() - 1);
    if (!seed.shape().IsVector() || seed.num_elements() != 2) {
      return InvalidArgument("seed must have shape [2], not ", seed.shape().ToString());
    }
    uint64_t numbers[2] = {};
    DispatchDType(seed.dtype(), IndexTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int i = 0; i < 2; ++i) numbers[i] = static_cast<uint64_t>(static_cast<int64_t>(seed.data<T>()[i]));
    });
    constexpr uint64_t kKey = 0x02461e293ec8f720u;
    const Philox::Block mixed = Philox(kKey, numbers[0], numbers[1]).Next();
    return Philox(mixed[0] | uint64_t{mixed[1]} << 32, 0, mixed[2] | uint64_t{mixed[3]} << 32);
  }

  static Status Put(KernelContext& ctx, const Rectangle& crop, int64_t height, int64_t width) {
    WEIR_ASSIGN_OR_RETURN(Tensor * begin, ctx.AllocateOutput(0, Shape({3})));
    WEIR_ASSIGN_OR_RETURN(Tensor * size, ctx.AllocateOutput(1, Shape({3})));
    WEIR_ASSIGN_OR_RETURN(Tensor * box, ctx.AllocateOutput(2, Shape({1, 1, 4})));
    DispatchDType(begin->dtype(), Types{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      begin->data<T>()[0] = static_cast<T>(crop.top);
      begin->data<T>()[1] = static_cast<T>(crop.left);
      begin->data<T>()[2] = T(0);
      size->data<T>()[0] = static_cast<T>(crop.bottom - crop.top);
      size->data<T>()[1] = static_cast<T>(crop.right - crop.left);
      size->data<T>()[2] = static_cast<T>(-1);
    });
    auto part = [](int64_t place, int64_t whole) { return static_cast<float>(place) / static_cast<float>(whole); };
    float* out = box->data<float>();
    out[0] = part(crop.top, height);
    out[1] = part(crop.left, width);
    out[2] = part(crop.bottom, height);
    out[3] = part(crop.right, width);
    return OkStatus();
  }

  Range aspects_, areas_;
  int64_t max_attempts_ = 100;
  bool allow_none_ = false;
  float min_covered_ = 0.1f;
  bool stateless_ = false;
  absl::Mutex mu_;
  Philox state_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

void RegisterDistortedBoxKernels(KernelRegistry& registry) {
  for (const char* op :
       {"SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2", "StatelessSampleDistortedBoundingBox"}) {
    registry.Add(KernelBuilder(op), MakeKernel<DistortedBoxKernel>);
  }
}

}  // namespace weir
