// Windows over the elements: as datasets (window), or stacked (sliding window).
#include <algorithm>
#include <deque>

#include "weir/ops/data/batch.h"
#include "weir/ops/data/dataset_kernel.h"
#include "weir/ops/data/register.h"
#include "weir/ops/data/threads.h"
#include "weir/ops/data/window.h"

namespace weir {
namespace {

struct WindowOptions {
  int64_t size = 1;
  int64_t shift = 1;
  int64_t stride = 1;
  bool drop_remainder = false;
  bool stacked = false;  // else each component becomes a dataset
  // Elements that a window spans.
  int64_t span() const { return (size - 1) * stride + 1; }
};

class WindowDataset : public Dataset {
 public:
  WindowDataset(ElementSpec spec, DatasetPtr input, WindowOptions options)
      : Dataset(std::move(spec), {std::move(input)}), options_(options) {}
  int64_t Cardinality() const override {
    const int64_t n = input().Cardinality();
    if (n < 0) return n;
    if (!options_.drop_remainder) return n / options_.shift + (n % options_.shift != 0 ? 1 : 0);
    return n < options_.span() ? 0 : (n - options_.span()) / options_.shift + 1;
  }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override { return WalkInput<Iterator>(ctx); }

 private:
  class Iterator : public InputIterator<WindowDataset> {
   public:
    using InputIterator::InputIterator;
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      const WindowOptions& options = dataset().options_;
      WEIR_RETURN_IF_ERROR(FillBuffer(ctx));
      const int64_t have = static_cast<int64_t>(buffer_.size());
      if (have == 0 || (have < options.span() && options.drop_remainder)) {
        *end = true;
        return OkStatus();
      }
      std::vector<Element> elements;
      Status status;
      for (int64_t i = 0; i < have && status.ok(); i += options.stride) {
        status = buffer_[i].status;
        elements.push_back(buffer_[i].element);
      }
      WEIR_RETURN_IF_ERROR(Shift(ctx));
      WEIR_RETURN_IF_ERROR(status);
      if (options.stacked) return StackElements(std::move(elements), out);
      const ElementSpec& spec = dataset().input().spec();
      for (size_t c = 0; c < spec.types.size(); ++c) {
        std::vector<Element> column;
        for (const Element& element : elements) column.push_back({element[c]});
        out->push_back(DatasetTensor(MakeWindow({{spec.types[c]}, {spec.shapes[c]}}, std::move(column))));
      }
      return OkStatus();
    }
    Status Save(IteratorContext& ctx, StateWriter state) override {
      state.PutInt("count", static_cast<int64_t>(buffer_.size()));
      for (size_t i = 0; i < buffer_.size(); ++i) {
        state.PutElement(Cat("element", i), buffer_[i].element);
        state.PutStatus(Cat("status", i), buffer_[i].status);
      }
      return InputIterator::Save(ctx, state);
    }
    Status Restore(IteratorContext& ctx, const StateReader& state) override {
      WEIR_ASSIGN_OR_RETURN(int64_t count, state.GetCount("count", std::numeric_limits<int64_t>::max()));
      for (int64_t i = 0; i < count; ++i) {
        AheadResult result;
        WEIR_ASSIGN_OR_RETURN(result.element, state.GetElement(Cat("element", i)));
        WEIR_ASSIGN_OR_RETURN(result.status, state.GetStatus(Cat("status", i)));
        buffer_.push_back(std::move(result));
      }
      return InputIterator::Restore(ctx, state);
    }

   private:
    Status FillBuffer(IteratorContext& ctx) {
      while (input_ != nullptr && static_cast<int64_t>(buffer_.size()) < dataset().options_.span()) {
        if (ctx.cancellation->cancelled()) return ctx.cancellation->reason();
        AheadResult result;
        result.status = Pull(ctx, &result.element, &result.end);
        if (!result.end) buffer_.push_back(std::move(result));
      }
      return OkStatus();
    }
    // Drops what lies before the next window, also what was not read yet.
    Status Shift(IteratorContext& ctx) {
      const int64_t shift = dataset().options_.shift;
      for (int64_t i = static_cast<int64_t>(buffer_.size()); i < shift && input_ != nullptr; ++i) {
        if (ctx.cancellation->cancelled()) return ctx.cancellation->reason();
        Element unwanted;
        bool ended = false;
        Pull(ctx, &unwanted, &ended).IgnoreError();  // nobody asked for it
      }
      buffer_.erase(buffer_.begin(), buffer_.begin() + std::min<int64_t>(shift, buffer_.size()));
      return OkStatus();
    }
    std::deque<AheadResult> buffer_;
  };
  const WindowOptions options_;
};

Status CheckWindow(const WindowOptions& options) {
  if (options.size <= 0) return InvalidArgument("Window size must be greater than zero.");
  if (options.shift <= 0) return InvalidArgument("Window shift must be greater than zero.");
  if (options.stride <= 0) return InvalidArgument("Window stride must be greater than zero.");
  if (!CheckedMultiply(options.size, options.stride)) return InvalidArgument("The window is too large");
  return OkStatus();
}

StatusOr<DatasetPtr> MakeWindowDataset(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WindowOptions options;
  WEIR_ASSIGN_OR_RETURN(options.size, node.Scalar<int64_t>("size"));
  WEIR_ASSIGN_OR_RETURN(options.shift, node.Scalar<int64_t>("shift"));
  WEIR_ASSIGN_OR_RETURN(options.stride, node.Scalar<int64_t>("stride"));
  WEIR_ASSIGN_OR_RETURN(options.drop_remainder, node.Scalar<bool>("drop_remainder"));
  WEIR_RETURN_IF_ERROR(CheckWindow(options));
  const size_t components = input->spec().types.size();
  ElementSpec spec{std::vector<DType>(components, DType::kVariant),
                   std::vector<PartialShape>(components, PartialShape(Shape()))};
  return std::make_shared<WindowDataset>(std::move(spec), std::move(input), options);
}

StatusOr<DatasetPtr> MakeSlidingWindowDataset(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WindowOptions options;
  options.stacked = true;
  options.drop_remainder = true;
  WEIR_ASSIGN_OR_RETURN(options.size, node.Scalar<int64_t>("window_size"));
  WEIR_ASSIGN_OR_RETURN(options.shift, node.Scalar<int64_t>("window_shift"));
  WEIR_ASSIGN_OR_RETURN(options.stride, node.Scalar<int64_t>("window_stride"));
  if (node.HasAttr("drop_remainder")) {
    WEIR_ASSIGN_OR_RETURN(options.drop_remainder, node.Attr<bool>("drop_remainder"));
  }
  WEIR_RETURN_IF_ERROR(CheckWindow(options));
  ElementSpec spec = BatchSpec(input->spec(), -1);
  return std::make_shared<WindowDataset>(std::move(spec), std::move(input), options);
}

// WindowOp: a dataset of the given tensors, each an element of one component.
StatusOr<DatasetPtr> MakeWindowOp(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(ElementSpec spec, node.Spec());
  WEIR_ASSIGN_OR_RETURN(Element inputs, node.Tensors("inputs"));
  const size_t width = spec.types.size();
  if (width == 0 || inputs.size() % width != 0) {
    return InvalidArgument("The number of inputs, ", inputs.size(), ", is no multiple of the components' number ",
                           width);
  }
  std::vector<Element> elements;
  for (size_t i = 0; i < inputs.size(); i += width) {
    Element element(inputs.begin() + i, inputs.begin() + i + width);
    WEIR_RETURN_IF_ERROR(CheckElement(spec, element));
    elements.push_back(std::move(element));
  }
  return MakeWindow(std::move(spec), std::move(elements));
}

}  // namespace

void RegisterWindowDatasets(KernelRegistry& registry) {
  RegisterWindowDecoder();
  RegisterDataset(registry, {"WindowDataset"}, MakeWindowDataset);
  RegisterDataset(registry, {"SlidingWindowDataset", "ExperimentalSlidingWindowDataset"}, MakeSlidingWindowDataset);
  RegisterDataset(registry, {"WindowOp"}, MakeWindowOp);
}

}  // namespace weir
