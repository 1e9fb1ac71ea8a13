#include "weir/autodiff/tape.h"

#include <algorithm>

#include "weir/autodiff/emit.h"

namespace weir {

bool Tape::Watches(std::span<const TapeTensor> inputs) const {
  return std::ranges::any_of(inputs, [&](const TapeTensor& input) {
    return emit::IsTrainable(input.tensor.dtype()) && watched_.contains(input.id);
  });
}

void Tape::Add(std::shared_ptr<const Record> record) {
  for (const TapeTensor& output : record->outputs) {
    if (emit::IsTrainable(output.tensor.dtype())) watched_.insert(output.id);
  }
  records_.push_back(std::move(record));
}

void Tape::Clear() {
  watched_.clear();
  records_.clear();
}

// One backward pass from targets to sources. Records are in the order of execution, which is a topological order: when
// it is reversed, all consumers of an output have added their terms to its gradient before its record is visited.
// Records that do not depend on a source, and those that no gradient reaches, are skipped.
class Tape::Walk {
 public:
  Walk(const Tape& tape, const GradientRegistry& registry, TapeEmitter& emitter)
      : tape_(tape), registry_(registry), emitter_(emitter) {}

  Status Seed(const Request& request) {
    for (size_t i = 0; i < request.targets.size(); ++i) {
      const TapeTensor& target = request.targets[i];
      TapeTensor gradient = request.target_gradients.empty() ? TapeTensor() : request.target_gradients[i];
      if (!gradient.tensor.has_value()) {
        // Integers and the like have no gradient.
        if (!emit::IsTrainable(target.tensor.dtype()) || target.tensor.dtype() == DType::kResource) continue;
        flows_[target.id].push_back(emit::OnesLike(emitter_.Add(target)));
        continue;
      }
      if (gradient.tensor.dtype() != target.tensor.dtype()) {
        return InvalidArgument("The gradient of target ", i, " must be ", Name(target.tensor.dtype()), " but is ",
                               Name(gradient.tensor.dtype()));
      }
      if (gradient.tensor.shape() != target.tensor.shape()) {
        return InvalidArgument("The gradient of target ", i, " must have the shape ", target.tensor.shape().ToString(),
                               " but has ", gradient.tensor.shape().ToString());
      }
      flows_[target.id].push_back(emitter_.Add(std::move(gradient)));
    }
    return emitter_.status();
  }

  Status Run(const std::vector<TapeTensor>& sources) {
    MarkReached(sources);
    for (size_t i = tape_.records_.size(); i-- > 0;) {
      if (is_reached_[i]) WEIR_RETURN_IF_ERROR(Differentiate(*tape_.records_[i]));
    }
    return OkStatus();
  }

  GradientValue Total(int64_t id) {
    auto found = flows_.find(id);
    if (found == flows_.end()) return {};
    if (found->second.size() > 1) {
      GradientValue sum = emit::AddUp(found->second);
      found->second = {sum};
    }
    return found->second[0];
  }

 private:
  bool IsReached(const TapeTensor& tensor) const {
    return reached_.contains(tensor.id) && emit::IsTrainable(tensor.tensor.dtype());
  }

  // Only records that depend on a source need gradients.
  void MarkReached(const std::vector<TapeTensor>& sources) {
    for (const TapeTensor& source : sources) reached_.insert(source.id);
    for (const auto& record : tape_.records_) {
      const bool reached = std::ranges::any_of(record->inputs, [&](const TapeTensor& t) { return IsReached(t); });
      is_reached_.push_back(reached);
      if (!reached) continue;
      for (const TapeTensor& output : record->outputs) reached_.insert(output.id);
    }
  }

  Status Differentiate(const Record& record) {
    std::vector<GradientValue> grads(record.outputs.size());
    bool any = false;
    for (size_t i = 0; i < record.outputs.size(); ++i) {
      grads[i] = Total(record.outputs[i].id);
      any |= !grads[i].is_none();
    }
    if (!any) return OkStatus();
    GradientFunction function = record.gradient;
    if (!function) {
      switch (registry_.KindOf(record.op)) {
        case GradientRegistry::Kind::kNotDifferentiable:
          return OkStatus();
        case GradientRegistry::Kind::kUnknown:
          if (record.kind == Gradient::kNone) return OkStatus();
          return NotFound("No gradient defined for operation '", record.op, "'");
        case GradientRegistry::Kind::kFunction:
          function = registry_.Find(record.op);
      }
    }
    std::vector<Value> inputs, outputs;
    for (const TapeTensor& input : record.inputs) inputs.push_back(emitter_.Add(input));
    for (const TapeTensor& output : record.outputs) outputs.push_back(emitter_.Add(output));
    GradientContext context(emitter_, record.op, *record.attrs, std::move(inputs), std::move(outputs),
                            std::move(grads));
    const weir::Gradients results = function(context);
    if (!emitter_.status().ok()) return Annotate(emitter_.status(), "", Cat(" [gradient of ", record.op, "]"));
    if (results.size() > record.inputs.size()) {
      return Internal("The gradient of ", record.op, " returned ", results.size(), " values for ", record.inputs.size(),
                      " inputs");
    }
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i].is_none() && IsReached(record.inputs[i])) flows_[record.inputs[i].id].push_back(results[i]);
    }
    return OkStatus();
  }

  const Tape& tape_;
  const GradientRegistry& registry_;
  TapeEmitter& emitter_;
  absl::flat_hash_set<int64_t> reached_;
  std::vector<bool> is_reached_;  // by record
  absl::flat_hash_map<int64_t, std::vector<GradientValue>> flows_;
};

StatusOr<std::vector<TapeGradient>> Tape::Gradients(const GradientRegistry& registry, TapeEmitter& emitter,
                                                    const Request& request) const {
  if (!request.target_gradients.empty() && request.target_gradients.size() != request.targets.size()) {
    return InvalidArgument("There are ", request.targets.size(), " targets but ", request.target_gradients.size(),
                           " gradients of them");
  }
  Walk walk(*this, registry, emitter);
  WEIR_RETURN_IF_ERROR(walk.Seed(request));
  WEIR_RETURN_IF_ERROR(walk.Run(request.sources));
  std::vector<TapeGradient> out;
  for (const TapeTensor& source : request.sources) {
    GradientValue gradient = walk.Total(source.id);
    if (gradient.is_none() && request.zeros_if_unconnected) gradient = emit::ZerosLike(emitter.Add(source));
    out.push_back({emitter.Get(gradient.dense), emitter.Get(gradient.values), emitter.Get(gradient.indices),
                   emitter.Get(gradient.dense_shape)});
  }
  WEIR_RETURN_IF_ERROR(emitter.status());
  return out;
}

}  // namespace weir
