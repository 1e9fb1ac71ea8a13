#include "weir/device/cuda/dnn_engines.h"

#include <algorithm>

#include "weir/base/logging.h"

namespace weir::cuda {
namespace {

constexpr int64_t kMostKnobs = 64;  // of an engine

class EngineFinder {
 public:
  EngineFinder(const CudnnFunctions& dnn, CudnnHandle handle, const DnnDescriptor& graph, const DnnEngineLimits& limits,
               size_t most)
      : dnn_(dnn), handle_(handle), graph_(graph), limits_(limits), most_(most) {}

  // Adds what the heuristics name.
  Status Add(CudnnHeuristicMode mode, const std::vector<DnnSetting>& settings);
  bool is_full() const { return found_.size() >= most_; }
  std::vector<DnnEngine> Take() { return std::move(found_); }

 private:
  StatusOr<std::vector<DnnDescriptor>> Ask(CudnnHeuristicMode mode) const;
  Status AddConfig(const DnnDescriptor& config);
  StatusOr<bool> IsAllowed(const DnnDescriptor& config) const;
  // The config's engine with its knobs set so; nothing if it does not have them all.
  StatusOr<std::vector<DnnDescriptor>> With(const DnnDescriptor& config, const std::vector<DnnSetting>& settings) const;
  bool HasKnobs(const DnnDescriptor& engine, const DnnSetting& setting) const;
  int64_t IndexOf(const DnnDescriptor& config) const;
  std::string NameOf(const DnnDescriptor& config) const;

  // What an attribute of a descriptor refers to.
  StatusOr<std::vector<DnnDescriptor>> Get(const DnnDescriptor& from, CudnnAttribute name, CudnnDescriptorType type,
                                           int64_t most) const;
  template <typename T>
  T GetValue(const DnnDescriptor& from, CudnnAttribute name, CudnnAttributeType type, T value) const {
    int64_t ignored = 0;
    dnn_.BackendGetAttribute(from.get(), name, type, 1, &ignored, &value);
    return value;
  }

  const CudnnFunctions& dnn_;
  const CudnnHandle handle_;
  const DnnDescriptor& graph_;
  const DnnEngineLimits& limits_;
  const size_t most_;
  std::vector<DnnEngine> found_;
};

StatusOr<std::vector<DnnDescriptor>> EngineFinder::Get(const DnnDescriptor& from, CudnnAttribute name,
                                                       CudnnDescriptorType type, int64_t most) const {
  std::vector<DnnDescriptor> out;
  std::vector<CudnnDescriptor> handles;
  for (int64_t i = 0; i < most; ++i) {
    WEIR_ASSIGN_OR_RETURN(DnnDescriptor made, DnnDescriptor::Make(dnn_, type));
    handles.push_back(made.get());
    out.push_back(std::move(made));
  }
  int64_t count = 0;
  if (most > 0) {
    WEIR_RETURN_IF_ERROR(CheckCudnn(
        dnn_, dnn_.BackendGetAttribute(from.get(), name, kCudnnTypeBackendDescriptor, most, &count, handles.data()),
        Cat("reading attribute ", static_cast<int>(name))));
  }
  out.resize(static_cast<size_t>(std::clamp<int64_t>(count, 0, most)));
  return out;
}

StatusOr<std::vector<DnnDescriptor>> EngineFinder::Ask(CudnnHeuristicMode mode) const {
  WEIR_ASSIGN_OR_RETURN(DnnDescriptor heuristics, DnnDescriptor::Make(dnn_, kCudnnEngineHeuristicDescriptor));
  WEIR_RETURN_IF_ERROR(heuristics.Set(kCudnnAttrHeuristicOperationGraph, graph_));
  WEIR_RETURN_IF_ERROR(heuristics.Set(kCudnnAttrHeuristicMode, kCudnnTypeHeuristicMode, mode));
  if (!heuristics.Finalize().ok()) return std::vector<DnnDescriptor>();
  int64_t count = 0;
  WEIR_RETURN_IF_ERROR(CheckCudnn(dnn_,
                                  dnn_.BackendGetAttribute(heuristics.get(), kCudnnAttrHeuristicResults,
                                                           kCudnnTypeBackendDescriptor, 0, &count, nullptr),
                                  "asking for engines"));
  return Get(heuristics, kCudnnAttrHeuristicResults, kCudnnEngineConfigDescriptor, count);
}

Status EngineFinder::Add(CudnnHeuristicMode mode, const std::vector<DnnSetting>& settings) {
  WEIR_ASSIGN_OR_RETURN(const std::vector<DnnDescriptor> named, Ask(mode));
  for (const DnnDescriptor& config : named) {
    if (is_full()) break;
    WEIR_ASSIGN_OR_RETURN(const bool is_allowed, IsAllowed(config));
    WEIR_LOG(DEBUG) << "cuDNN names engine " << NameOf(config) << (is_allowed ? "" : ", which is not allowed");
    if (!is_allowed) continue;
    WEIR_ASSIGN_OR_RETURN(const std::vector<DnnDescriptor> others, With(config, settings));
    const size_t before = found_.size();
    for (const DnnDescriptor& other : others) {
      if (!is_full()) WEIR_RETURN_IF_ERROR(AddConfig(other));
    }
    if (found_.size() == before) WEIR_RETURN_IF_ERROR(AddConfig(config));
  }
  return OkStatus();
}

Status EngineFinder::AddConfig(const DnnDescriptor& config) {
  DnnEngine made{.name = NameOf(config)};
  if (std::ranges::find(found_, made.name, &DnnEngine::name) != found_.end()) return OkStatus();
  WEIR_ASSIGN_OR_RETURN(made.plan, DnnDescriptor::Make(dnn_, kCudnnExecutionPlanDescriptor));
  WEIR_RETURN_IF_ERROR(made.plan.Set(kCudnnAttrPlanHandle, kCudnnTypeHandle, handle_));
  WEIR_RETURN_IF_ERROR(made.plan.Set(kCudnnAttrPlanEngineConfig, config));
  // An engine may find only now that it does not take the graph.
  if (Status status = made.plan.Finalize(); !status.ok()) {
    WEIR_LOG(DEBUG) << "cuDNN: engine " << made.name << " refuses: " << status;
    return OkStatus();
  }
  made.workspace_size = GetValue(made.plan, kCudnnAttrPlanWorkspaceSize, kCudnnTypeInt64, int64_t{-1});
  if (made.workspace_size < 0) return Internal("cuDNN does not tell the size of a workspace");
  if (made.workspace_size <= limits_.max_workspace) found_.push_back(std::move(made));
  return OkStatus();
}

StatusOr<std::vector<DnnDescriptor>> EngineFinder::With(const DnnDescriptor& config,
                                                        const std::vector<DnnSetting>& settings) const {
  std::vector<DnnDescriptor> out;
  if (settings.empty()) return out;
  WEIR_ASSIGN_OR_RETURN(DnnDescriptor engine, DnnDescriptor::Make(dnn_, kCudnnEngineDescriptor));
  WEIR_RETURN_IF_ERROR(engine.Set(kCudnnAttrEngineOperationGraph, graph_));
  WEIR_RETURN_IF_ERROR(engine.Set(kCudnnAttrEngineGlobalIndex, kCudnnTypeInt64, IndexOf(config)));
  if (!engine.Finalize().ok()) return out;
  for (const DnnSetting& setting : settings) {
    if (!HasKnobs(engine, setting)) continue;
    std::vector<DnnDescriptor> choices;
    std::vector<CudnnDescriptor> handles;
    for (const auto& [knob, value] : setting) {
      WEIR_ASSIGN_OR_RETURN(DnnDescriptor choice, DnnDescriptor::Make(dnn_, kCudnnKnobChoiceDescriptor));
      WEIR_RETURN_IF_ERROR(choice.Set(kCudnnAttrKnobChoiceType, kCudnnTypeKnobType, knob));
      WEIR_RETURN_IF_ERROR(choice.Set(kCudnnAttrKnobChoiceValue, kCudnnTypeInt64, value));
      WEIR_RETURN_IF_ERROR(choice.Finalize());
      handles.push_back(choice.get());
      choices.push_back(std::move(choice));
    }
    WEIR_ASSIGN_OR_RETURN(DnnDescriptor made, DnnDescriptor::Make(dnn_, kCudnnEngineConfigDescriptor));
    WEIR_RETURN_IF_ERROR(made.Set(kCudnnAttrEngineConfigEngine, engine));
    WEIR_RETURN_IF_ERROR(made.Set(kCudnnAttrEngineConfigKnobChoices, kCudnnTypeBackendDescriptor,
                                  static_cast<int64_t>(handles.size()), handles.data()));
    if (made.Finalize().ok()) out.push_back(std::move(made));
  }
  return out;
}

bool EngineFinder::HasKnobs(const DnnDescriptor& engine, const DnnSetting& setting) const {
  const StatusOr<std::vector<DnnDescriptor>> infos =
      Get(engine, kCudnnAttrEngineKnobInfo, kCudnnKnobInfoDescriptor, kMostKnobs);
  if (!infos.ok()) return false;
  return std::ranges::all_of(setting, [&](const auto& wanted) {
    return std::ranges::any_of(*infos, [&](const DnnDescriptor& info) {
      return GetValue(info, kCudnnAttrKnobInfoType, kCudnnTypeKnobType, -1) == wanted.first &&
             wanted.second >= GetValue(info, kCudnnAttrKnobInfoMinimum, kCudnnTypeInt64, int64_t{0}) &&
             wanted.second <= GetValue(info, kCudnnAttrKnobInfoMaximum, kCudnnTypeInt64, int64_t{-1});
    });
  });
}

int64_t EngineFinder::IndexOf(const DnnDescriptor& config) const {
  const StatusOr<std::vector<DnnDescriptor>> engine =
      Get(config, kCudnnAttrEngineConfigEngine, kCudnnEngineDescriptor, 1);
  if (!engine.ok() || engine->empty()) return -1;
  return GetValue(engine->front(), kCudnnAttrEngineGlobalIndex, kCudnnTypeInt64, int64_t{-1});
}

// Its number among cuDNN's engines for such graphs and how its knobs stand: "6 2=18 27=1".
std::string EngineFinder::NameOf(const DnnDescriptor& config) const {
  std::string name = Cat(IndexOf(config));
  const StatusOr<std::vector<DnnDescriptor>> choices =
      Get(config, kCudnnAttrEngineConfigKnobChoices, kCudnnKnobChoiceDescriptor, kMostKnobs);
  if (!choices.ok()) return name;
  for (const DnnDescriptor& choice : *choices) {
    name += Cat(" ", GetValue(choice, kCudnnAttrKnobChoiceType, kCudnnTypeKnobType, -1), "=",
                GetValue(choice, kCudnnAttrKnobChoiceValue, kCudnnTypeInt64, int64_t{-1}));
  }
  return name;
}

StatusOr<bool> EngineFinder::IsAllowed(const DnnDescriptor& config) const {
  WEIR_ASSIGN_OR_RETURN(const std::vector<DnnDescriptor> engine,
                        Get(config, kCudnnAttrEngineConfigEngine, kCudnnEngineDescriptor, 1));
  if (engine.empty()) return false;
  int64_t count = 0;
  CudnnNumericalNote notes[kCudnnNumericalNotes];
  WEIR_RETURN_IF_ERROR(
      CheckCudnn(dnn_,
                 dnn_.BackendGetAttribute(engine.front().get(), kCudnnAttrEngineNumericalNote, kCudnnTypeNumericalNote,
                                          kCudnnNumericalNotes, &count, notes),
                 "asking for an engine's notes"));
  for (int64_t i = 0; i < count; ++i) {
    // Engines that add up in 16 bits, or read float operands as half, give fewer digits than the types promise.
    if (notes[i] == kCudnnNoteReducedPrecisionReduction || notes[i] == kCudnnNoteDownConvertInputs) return false;
    if (limits_.deterministic && notes[i] == kCudnnNoteNondeterministic) return false;
    if (limits_.without_tensor_float && notes[i] == kCudnnNoteTensorCore) return false;
  }
  return true;
}

}  // namespace

StatusOr<std::vector<DnnEngine>> FindEngines(const CudnnFunctions& dnn, CudnnHandle handle, const DnnDescriptor& graph,
                                             const std::vector<DnnSetting>& settings, const DnnEngineLimits& limits,
                                             size_t most) {
  EngineFinder finder(dnn, handle, graph, limits, most);
  for (const CudnnHeuristicMode mode : {kCudnnHeuristicA, kCudnnHeuristicB, kCudnnHeuristicFallback}) {
    if (!finder.is_full()) WEIR_RETURN_IF_ERROR(finder.Add(mode, settings));
  }
  return finder.Take();
}

}  // namespace weir::cuda
