#include "weir/io/keras_optimizer.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_join.h"
#include "weir/io/object_graph_internal.h"

namespace weir {
namespace {

// Optimizers that keep the same lists. An optimizer belongs to the first family whose lists it has all of.
struct Family {
  std::vector<std::string_view> lists;  // in the order of the rule's slots; some may have no elements
  std::vector<std::string> rules;       // as slots are named after them
};

const std::vector<Family>& Families() {
  static const auto& families = *new std::vector<Family>{
      {{"_velocities", "_average_gradients", "_momentums"}, {"RMSProp"}},
      {{"_momentums", "_velocities"}, {"Adam", "AdamW", "Nadam", "Lamb"}},
      {{"_m", "_u"}, {"AdaMax"}},
      {{"momentums"}, {"Momentum"}},
      {{"_accumulators", "_linears"}, {"Ftrl"}},
      {{"_accumulators"}, {"Adagrad"}},
      {{"_accumulated_grads", "_accumulated_delta_vars"}, {"Adadelta"}},
  };
  return families;
}

StatusOr<double> ReadNumber(const CheckpointReader& reader, const std::string& key) {
  WEIR_ASSIGN_OR_RETURN(const Tensor tensor, reader.Read(key));
  if (tensor.num_elements() == 1) {
    if (tensor.dtype() == DType::kInt64) return static_cast<double>(tensor.data<int64_t>()[0]);
    if (tensor.dtype() == DType::kInt32) return tensor.data<int32_t>()[0];
    if (tensor.dtype() == DType::kFloat) return tensor.data<float>()[0];
    if (tensor.dtype() == DType::kDouble) return tensor.data<double>()[0];
  }
  return DataLoss("'", key, "' of the checkpoint is no number but ", Name(tensor.dtype()), tensor.shape().ToString());
}

}  // namespace

// One optimizer of the object graph.
class KerasOptimizerState::Optimizer {
 public:
  Optimizer(const TrackableObjectGraph& graph, int id) : graph_(graph), children_(Children(graph.nodes(id))) {}

  // One that scales the losses for another has no state of its own that counts.
  bool has_state() const {
    return children_.contains("_iterations") && children_.contains("_trainable_variables") &&
           !children_.contains("inner_optimizer");
  }

  std::string name() const {  // its variables are called "adam/iteration", ...
    const auto& attributes = children_.at("_iterations")->attributes();
    return attributes.empty() ? "?" : attributes[0].full_name().substr(0, attributes[0].full_name().find('/'));
  }

  // Null if it keeps the lists of none.
  const Family* family() const {
    for (const Family& family : Families()) {
      if (std::ranges::all_of(family.lists, [&](std::string_view list) { return children_.contains(list); })) {
        return &family;
      }
    }
    return nullptr;
  }

  // The key of a variable of the optimizer; empty if there is none.
  std::string Key(std::string_view child) const {
    auto found = children_.find(child);
    return found == children_.end() ? "" : KeyOf(*found->second);
  }

  // The slots of all variables that it trains.
  StatusOr<std::vector<StoredSlot>> Slots(const Family& family, const CheckpointReader& reader) const {
    WEIR_ASSIGN_OR_RETURN(StoredSlot slot, Pattern(family, reader));
    const auto variables = List("_trainable_variables");
    std::vector<StoredSlot> out;
    for (std::string_view list : family.lists) {
      const auto keys = List(list);
      if (keys.empty() && list == "_average_gradients") continue;  // not centered
      for (const auto& [position, variable_key] : variables) {
        auto key = keys.find(position);
        if (key == keys.end() && family.rules[0] != "RMSProp") continue;
        slot.variable_key = variable_key;
        out.push_back(slot);
        if (key != keys.end()) {
          out.back().key = key->second;
        } else {  // without momentum Keras keeps none, while TensorFlow 1 has one that it multiplies by 0
          out.back().key = variable_key;
          out.back().factor = 0;
        }
      }
      ++slot.index;
    }
    return out;
  }

 private:
  using Object = TrackableObjectGraph::TrackableObject;

  std::map<std::string, const Object*, std::less<>> Children(const Object& object) const {
    std::map<std::string, const Object*, std::less<>> out;
    for (const auto& child : object.children()) {
      const bool exists = child.node_id() >= 0 && child.node_id() < graph_.nodes_size();
      if (exists) out.emplace(child.local_name(), &graph_.nodes(child.node_id()));
    }
    return out;
  }

  static std::string KeyOf(const Object& object) {
    for (const auto& attribute : object.attributes()) {
      if (attribute.name() == kVariableValue) return attribute.checkpoint_key();
    }
    return "";
  }

  // The keys of a list's elements, by position.
  std::map<std::string, std::string> List(std::string_view child) const {
    std::map<std::string, std::string> out;
    auto found = children_.find(child);
    if (found == children_.end()) return out;
    for (const auto& [position, element] : Children(*found->second)) out.emplace(position, KeyOf(*element));
    return out;
  }

  // What all slots of the optimizer have in common.
  StatusOr<StoredSlot> Pattern(const Family& family, const CheckpointReader& reader) const {
    StoredSlot out;
    auto refuse = [&](const char* why) { out.refused = NotFound("Keras's optimizer '", name(), "' ", why); };
    if (!List("_velocity_hats").empty()) refuse("is AMSGrad, which is another rule than Adam");
    if (!List("_accumulated_gradients").empty()) refuse("accumulates gradients over several steps");
    if (!List("_average_gradients").empty()) out.companion = "RMSProp_2";
    if (family.rules[0] == "Momentum") {
      // Keras adds up rate * gradient, TensorFlow 1 gradients alone: that is the same for a rate that stays the same.
      double rate = 0;
      if (const std::string key = Key("_learning_rate"); !key.empty()) {
        WEIR_ASSIGN_OR_RETURN(rate, ReadNumber(reader, key));
      }
      if (rate == 0) refuse("keeps momentums times a learning rate that the checkpoint does not hold (a schedule?)");
      out.factor = -1 / rate;
    }
    return out;
  }

  const TrackableObjectGraph& graph_;
  const std::map<std::string, const Object*, std::less<>> children_;
};

StatusOr<KerasOptimizerState> KerasOptimizerState::Read(const CheckpointReader& reader,
                                                        const std::map<std::string, std::string>& keys) {
  KerasOptimizerState state(reader);
  WEIR_ASSIGN_OR_RETURN(const TrackableObjectGraph graph, ReadObjectGraph(reader));
  for (int id = 0; id < graph.nodes_size(); ++id) {
    const Optimizer optimizer(graph, id);
    if (!optimizer.has_state()) continue;
    WEIR_ASSIGN_OR_RETURN(const double steps, ReadNumber(reader, optimizer.Key("_iterations")));
    state.steps_.push_back(static_cast<int64_t>(steps));
    const Family* family = optimizer.family();
    state.description_ += Cat(state.description_.empty() ? "'" : ", '", optimizer.name(), "' (slots of ",
                              family == nullptr ? "no rule that is known" : absl::StrJoin(family->rules, ", "), ")");
    if (family == nullptr) continue;
    WEIR_ASSIGN_OR_RETURN(const std::vector<StoredSlot> slots, optimizer.Slots(*family, reader));
    for (const StoredSlot& slot : slots) {
      for (const auto& [name, key] : keys) {
        if (key != slot.variable_key) continue;
        for (const std::string& rule : family->rules) state.Add(name, rule, slot);
      }
    }
  }
  return state;
}

void KerasOptimizerState::Add(const std::string& variable, const std::string& rule, StoredSlot slot) {
  const std::string name = slot.index == 0 ? Cat(variable, "/", rule) : Cat(variable, "/", rule, "_", slot.index);
  if (!slot.companion.empty()) slot.companion = Cat(variable, "/", slot.companion);
  auto [place, is_new] = slots_.emplace(name, std::move(slot));
  if (!is_new) place->second.refused = NotFound("several optimizers of the checkpoint have it");
}

StatusOr<Tensor> KerasOptimizerState::Slot(const std::string& name) const {
  auto found = slots_.find(name);
  if (found == slots_.end()) {
    return NotFound("Key ", name, " not found in checkpoint; optimizers of Keras there: ", description_);
  }
  const StoredSlot& slot = found->second;
  if (!slot.refused.ok()) {
    return NotFound("'", name, "' cannot be restored: ", slot.refused.message());
  }
  WEIR_ASSIGN_OR_RETURN(Tensor stored, reader_->Read(slot.key));
  if (slot.factor == 1) return stored;
  WEIR_ASSIGN_OR_RETURN(Tensor value, Tensor::Zeros(stored.dtype(), stored.shape()));
  const bool done = DispatchDType(stored.dtype(), TypeList<float, double>{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < stored.num_elements(); ++i) {
      value.data<T>()[i] = static_cast<T>(stored.data<T>()[i] * slot.factor);
    }
  });
  if (!done) return Unimplemented("'", name, "' is converted as float or double only, it is ", Name(stored.dtype()));
  return value;
}

std::string KerasOptimizerState::Companion(const std::string& name) const {
  auto found = slots_.find(name);
  return found == slots_.end() ? "" : found->second.companion;
}

StatusOr<std::optional<int64_t>> KerasOptimizerState::Steps() const {
  if (steps_.empty()) return std::optional<int64_t>();
  if (std::ranges::adjacent_find(steps_, std::ranges::not_equal_to()) != steps_.end()) {
    return FailedPrecondition("the checkpoint's optimizers (Keras's ", description_,
                              ") have made different numbers of steps: ", absl::StrJoin(steps_, ", "));
  }
  return std::optional(steps_.front());
}

}  // namespace weir
