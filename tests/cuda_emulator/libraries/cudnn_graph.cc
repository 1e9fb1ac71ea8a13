// A stand-in for libcudnn.so.9 on the emulated driver: descriptors, heuristics and plans of the graph interface.
#include <cstdio>
#include <type_traits>

#include "tests/cuda_emulator/libraries/cudnn_descriptor.h"

namespace weir::cuda_emulator {
namespace {

using namespace cuda;

thread_local std::string last_error;

// Engines that a graph can run on. The heuristics name kInexact first: it is so fast because it leaves everything out,
// and says that it adds up in few digits, so nobody who reads the notes takes it. kLopsided does not do what it says,
// as some of NVIDIA's: it pads both sides of an image as the end should be. kUnordered wants scratch memory.
enum Engine : int64_t { kInexact, kLopsided, kPlain, kUnordered, kEngines };
constexpr int64_t kWorkspaceSizes[kEngines] = {0, 0, 0, 1024};

size_t SizeOf(CudnnAttributeType type) {
  switch (type) {
    case kCudnnTypeHandle:
    case kCudnnTypeInt64:
    case kCudnnTypeDouble:
    case kCudnnTypeVoidPtr:
    case kCudnnTypeBackendDescriptor:
      return 8;
    case kCudnnTypeBoolean:
      return 1;
    case kCudnnTypeDataType:
    case kCudnnTypeFloat:
    case kCudnnTypeConvolutionMode:
    case kCudnnTypeHeuristicMode:
    case kCudnnTypeKnobType:
    case kCudnnTypeNumericalNote:
    case kCudnnTypePointwiseMode:
    case kCudnnTypeReduction:
      return 4;
  }
  return 0;
}

Descriptor* Of(CudnnDescriptor handle) {
  return handle == nullptr ? nullptr : static_cast<DescriptorPointer*>(handle)->get();
}

// The type that an attribute's elements must have; -1 where several are allowed.
int ExpectedType(CudnnAttribute name) {
  switch (name) {
    case kCudnnAttrPointwiseMode:
      return kCudnnTypePointwiseMode;
    case kCudnnAttrPointwiseMathPrecision:
    case kCudnnAttrConvolutionComputeType:
    case kCudnnAttrMatmulComputeType:
    case kCudnnAttrReductionComputeType:
    case kCudnnAttrTensorDataType:
      return kCudnnTypeDataType;
    case kCudnnAttrReductionOperator:
      return kCudnnTypeReduction;
    case kCudnnAttrConvolutionMode:
      return kCudnnTypeConvolutionMode;
    case kCudnnAttrConvolutionDilations:
    case kCudnnAttrConvolutionFilterStrides:
    case kCudnnAttrConvolutionPostPaddings:
    case kCudnnAttrConvolutionPrePaddings:
    case kCudnnAttrConvolutionSpatialDims:
    case kCudnnAttrPlanWorkspaceSize:
    case kCudnnAttrPointwiseAxis:
    case kCudnnAttrTensorByteAlignment:
    case kCudnnAttrTensorDimensions:
    case kCudnnAttrTensorStrides:
    case kCudnnAttrTensorUniqueId:
    case kCudnnAttrVariantPackUniqueIds:
    case kCudnnAttrEngineGlobalIndex:
      return kCudnnTypeInt64;
    case kCudnnAttrHeuristicMode:
      return kCudnnTypeHeuristicMode;
    case kCudnnAttrPlanHandle:
    case kCudnnAttrOperationGraphHandle:
      return kCudnnTypeHandle;
    case kCudnnAttrTensorIsByValue:
    case kCudnnAttrTensorIsVirtual:
      return kCudnnTypeBoolean;
    case kCudnnAttrVariantPackDataPointers:
    case kCudnnAttrVariantPackWorkspace:
      return kCudnnTypeVoidPtr;
    case kCudnnAttrEngineNumericalNote:
      return kCudnnTypeNumericalNote;
    case kCudnnAttrPointwiseReluLowerClip:
    case kCudnnAttrPointwiseReluUpperClip:
    case kCudnnAttrPointwiseReluLowerClipSlope:
    case kCudnnAttrPointwiseEluAlpha:
    case kCudnnAttrForwardAlpha:
    case kCudnnAttrForwardBeta:
    case kCudnnAttrBackwardDataAlpha:
    case kCudnnAttrBackwardDataBeta:
    case kCudnnAttrBackwardFilterAlpha:
    case kCudnnAttrBackwardFilterBeta:
    case kCudnnAttrOperationPointwiseAlpha1:
    case kCudnnAttrOperationPointwiseAlpha2:
      return -1;
    default:
      return kCudnnTypeBackendDescriptor;
  }
}

CudnnStatus CheckTensor(const Descriptor& tensor) {
  const std::vector<int64_t> dims = tensor.GetInts(kCudnnAttrTensorDimensions);
  const std::vector<int64_t> strides = tensor.GetInts(kCudnnAttrTensorStrides);
  if (!tensor.Has(kCudnnAttrTensorDataType) || !tensor.Has(kCudnnAttrTensorUniqueId) ||
      !tensor.Has(kCudnnAttrTensorByteAlignment)) {
    return Fail(kCudnnBadParam, "tensor descriptor: data type, unique id and byte alignment must be set");
  }
  if (dims.empty() || dims.size() > 8 || dims.size() != strides.size()) {
    return Fail(kCudnnBadParam, "tensor descriptor: dimensions and strides must be as many");
  }
  for (const int64_t dim : dims) {
    if (dim <= 0) return Fail(kCudnnBadParam, "tensor descriptor: dimensions must be positive");
  }
  return kCudnnSuccess;
}

CudnnStatus CheckConvolution(const Descriptor& convolution) {
  const auto dims = static_cast<size_t>(convolution.Get<int64_t>(kCudnnAttrConvolutionSpatialDims));
  for (const CudnnAttribute name : {kCudnnAttrConvolutionDilations, kCudnnAttrConvolutionFilterStrides,
                                    kCudnnAttrConvolutionPostPaddings, kCudnnAttrConvolutionPrePaddings}) {
    const std::vector<int64_t> values = convolution.GetInts(name);
    if (dims == 0 || values.size() != dims) {
      return Fail(kCudnnBadParam, "convolution descriptor: one value for each spatial dimension is needed");
    }
    const bool is_padding = name == kCudnnAttrConvolutionPostPaddings || name == kCudnnAttrConvolutionPrePaddings;
    for (const int64_t value : values) {
      if (value < (is_padding ? 0 : 1)) return Fail(kCudnnBadParam, "convolution descriptor: value out of range");
    }
  }
  if (!convolution.Has(kCudnnAttrConvolutionComputeType) || !convolution.Has(kCudnnAttrConvolutionMode)) {
    return Fail(kCudnnBadParam, "convolution descriptor: compute type and mode must be set");
  }
  return kCudnnSuccess;
}

CudnnStatus CheckVariantPack(const Descriptor& pack) {
  const AttributeValue* ids = pack.Find(kCudnnAttrVariantPackUniqueIds);
  const AttributeValue* pointers = pack.Find(kCudnnAttrVariantPackDataPointers);
  if (ids == nullptr || pointers == nullptr || ids->count != pointers->count) {
    return Fail(kCudnnBadParam, "variant pack: as many unique ids as pointers are needed");
  }
  return kCudnnSuccess;
}

CudnnStatus CheckEngineConfig(const Descriptor& config) {
  const Descriptor* engine = config.GetDescriptor(kCudnnAttrEngineConfigEngine);
  return engine != nullptr ? kCudnnSuccess : Fail(kCudnnBadParam, "engine configuration: no engine");
}

CudnnStatus CheckEngine(const Descriptor& engine) {
  const int64_t index = engine.Get<int64_t>(kCudnnAttrEngineGlobalIndex, -1);
  if (engine.GetDescriptor(kCudnnAttrEngineOperationGraph) == nullptr || index < 0 || index >= kEngines) {
    return Fail(kCudnnNotSupported, "engine: no operation graph, or no such engine");
  }
  return kCudnnSuccess;
}

CudnnStatus Check(const Descriptor& descriptor) {
  switch (descriptor.type) {
    case kCudnnTensorDescriptor:
      return CheckTensor(descriptor);
    case kCudnnConvolutionDescriptor:
      return CheckConvolution(descriptor);
    case kCudnnPointwiseDescriptor:
      return descriptor.Has(kCudnnAttrPointwiseMode) ? kCudnnSuccess : Fail(kCudnnBadParam, "pointwise: no mode");
    case kCudnnConvolutionForwardDescriptor:
    case kCudnnConvolutionBackwardDataDescriptor:
    case kCudnnConvolutionBackwardFilterDescriptor:
    case kCudnnOperationPointwiseDescriptor:
    case kCudnnOperationMatmulDescriptor:
    case kCudnnOperationReductionDescriptor:
    case kCudnnOperationReshapeDescriptor:
      return CheckOperation(descriptor);
    case kCudnnMatmulDescriptor:
      return descriptor.Has(kCudnnAttrMatmulComputeType) ? kCudnnSuccess : Fail(kCudnnBadParam, "matmul: no type");
    case kCudnnReductionDescriptor:
      return descriptor.Has(kCudnnAttrReductionOperator) && descriptor.Has(kCudnnAttrReductionComputeType)
                 ? kCudnnSuccess
                 : Fail(kCudnnBadParam, "reduction: operator and type must be set");
    case kCudnnOperationGraphDescriptor:
      return CheckGraph(descriptor);
    case kCudnnEngineDescriptor:
      return CheckEngine(descriptor);
    case kCudnnEngineConfigDescriptor:
      return CheckEngineConfig(descriptor);
    case kCudnnEngineHeuristicDescriptor:
      return descriptor.GetDescriptor(kCudnnAttrHeuristicOperationGraph) != nullptr &&
                     descriptor.Has(kCudnnAttrHeuristicMode)
                 ? kCudnnSuccess
                 : Fail(kCudnnBadParam, "heuristics: mode and operation graph must be set");
    case kCudnnExecutionPlanDescriptor:
      return descriptor.GetDescriptor(kCudnnAttrPlanEngineConfig) != nullptr
                 ? kCudnnSuccess
                 : Fail(kCudnnBadParam, "execution plan: no engine configuration");
    case kCudnnVariantPackDescriptor:
      return CheckVariantPack(descriptor);
    case kCudnnKnobChoiceDescriptor:  // the engines here have no knobs
    case kCudnnKnobInfoDescriptor:
      return kCudnnSuccess;
  }
  return Fail(kCudnnBadParam, "unknown descriptor type");
}

int64_t EngineOf(const Descriptor& plan) {
  return plan.GetDescriptor(kCudnnAttrPlanEngineConfig)
      ->GetDescriptor(kCudnnAttrEngineConfigEngine)
      ->Get<int64_t>(kCudnnAttrEngineGlobalIndex);
}

const Descriptor* GraphOf(const Descriptor& plan) {
  return plan.GetDescriptor(kCudnnAttrPlanEngineConfig)
      ->GetDescriptor(kCudnnAttrEngineConfigEngine)
      ->GetDescriptor(kCudnnAttrEngineOperationGraph);
}

AttributeValue OneDescriptor(DescriptorPointer descriptor) {
  return {.type = kCudnnTypeBackendDescriptor, .count = 1, .bytes = {}, .descriptors = {std::move(descriptor)}};
}

// Fills the caller's engine configurations with what suits the heuristics' graph.
CudnnStatus HeuristicResults(const Descriptor& heuristics, int64_t requested, int64_t* count, void* elements) {
  if (elements == nullptr || requested == 0) {
    *count = kEngines;
    return kCudnnSuccess;
  }
  const AttributeValue* graph = heuristics.Find(kCudnnAttrHeuristicOperationGraph);
  *count = std::min<int64_t>(requested, kEngines);
  for (int64_t i = 0; i < *count; ++i) {
    Descriptor* config = Of(static_cast<CudnnDescriptor*>(elements)[i]);
    if (config == nullptr || config->type != kCudnnEngineConfigDescriptor) {
      return Fail(kCudnnBadParamDescriptorType, "heuristics: results are engine configurations");
    }
    auto engine =
        std::make_shared<Descriptor>(Descriptor{.type = kCudnnEngineDescriptor, .finalized = true, .attributes = {}});
    engine->attributes[kCudnnAttrEngineOperationGraph] = *graph;
    AttributeValue index{.type = kCudnnTypeInt64, .count = 1, .bytes = std::vector<char>(8), .descriptors = {}};
    std::memcpy(index.bytes.data(), &i, 8);
    engine->attributes[kCudnnAttrEngineGlobalIndex] = index;
    config->attributes[kCudnnAttrEngineConfigEngine] = OneDescriptor(engine);
    config->finalized = true;
  }
  return kCudnnSuccess;
}

// kUnordered sums the gradient of a filter in any order.
CudnnStatus EngineNotes(const Descriptor& engine, int64_t requested, int64_t* count, void* elements) {
  const AttributeValue* operations =
      engine.GetDescriptor(kCudnnAttrEngineOperationGraph)->Find(kCudnnAttrOperationGraphOps);
  const bool is_filter = operations->descriptors[0]->type == kCudnnConvolutionBackwardFilterDescriptor;
  const auto index = engine.Get<int64_t>(kCudnnAttrEngineGlobalIndex);
  *count = index == kInexact || (is_filter && index == kUnordered) ? 1 : 0;
  if (*count > 0 && requested > 0 && elements != nullptr) {
    static_cast<CudnnNumericalNote*>(elements)[0] =
        index == kInexact ? kCudnnNoteReducedPrecisionReduction : kCudnnNoteNondeterministic;
  }
  return kCudnnSuccess;
}

}  // namespace

CudnnStatus Fail(CudnnStatus status, std::string message) {
  last_error = std::move(message);
  return status;
}

bool ElementOf(CudnnDataType type, Element* element) {
  switch (type) {
    case kCudnnFloat:
      *element = Element::kFloat;
      return true;
    case kCudnnDouble:
      *element = Element::kDouble;
      return true;
    case kCudnnHalf:
      *element = Element::kHalf;
      return true;
    case kCudnnBfloat16:
      *element = Element::kBfloat16;
      return true;
    case kCudnnInt8:
      *element = Element::kInt8;
      return true;
    case kCudnnInt32:
      *element = Element::kInt32;
      return true;
    case kCudnnInt64:
    case kCudnnBoolean:
      break;
  }
  return false;
}

}  // namespace weir::cuda_emulator

using namespace weir::cuda;
using weir::cuda_emulator::AttributeValue;
using weir::cuda_emulator::Descriptor;
using weir::cuda_emulator::DescriptorPointer;
using weir::cuda_emulator::Fail;

WEIR_EXPORT size_t cudnnGetVersion() { return 91900; }

WEIR_EXPORT const char* cudnnGetErrorString(CudnnStatus status) {
  switch (status / 1000) {
    case 0:
      return "CUDNN_STATUS_SUCCESS";
    case 1:
      return "CUDNN_STATUS_NOT_INITIALIZED";
    case 2:
      return "CUDNN_STATUS_BAD_PARAM";
    case 3:
      return "CUDNN_STATUS_NOT_SUPPORTED";
    case 4:
      return "CUDNN_STATUS_INTERNAL_ERROR";
    case 5:
      return "CUDNN_STATUS_EXECUTION_FAILED";
  }
  return "CUDNN_UNKNOWN_STATUS";
}

WEIR_EXPORT void cudnnGetLastErrorString(char* message, size_t size) {
  std::snprintf(message, size, "%s", weir::cuda_emulator::last_error.c_str());
}

WEIR_EXPORT CudnnStatus cudnnCreate(CudnnHandle* handle) {
  if (handle == nullptr) return Fail(kCudnnBadParamNullPointer, "cudnnCreate: null");
  *handle = new CudnnHandleOpaque;
  return kCudnnSuccess;
}

WEIR_EXPORT CudnnStatus cudnnDestroy(CudnnHandle handle) {
  delete handle;
  return kCudnnSuccess;
}

WEIR_EXPORT CudnnStatus cudnnSetStream(CudnnHandle handle, void* stream) {
  if (handle == nullptr) return Fail(kCudnnBadParamNullPointer, "cudnnSetStream: null handle");
  handle->stream = stream;
  return kCudnnSuccess;
}

WEIR_EXPORT CudnnStatus cudnnBackendCreateDescriptor(CudnnDescriptorType type, CudnnDescriptor* descriptor) {
  if (descriptor == nullptr) return Fail(kCudnnBadParamNullPointer, "null descriptor");
  *descriptor = new DescriptorPointer(
      std::make_shared<Descriptor>(Descriptor{.type = type, .finalized = false, .attributes = {}}));
  return kCudnnSuccess;
}

WEIR_EXPORT CudnnStatus cudnnBackendDestroyDescriptor(CudnnDescriptor descriptor) {
  delete static_cast<DescriptorPointer*>(descriptor);
  return kCudnnSuccess;
}

WEIR_EXPORT CudnnStatus cudnnBackendFinalize(CudnnDescriptor handle) {
  Descriptor* descriptor = weir::cuda_emulator::Of(handle);
  if (descriptor == nullptr) return Fail(kCudnnBadParamNullPointer, "null descriptor");
  if (descriptor->finalized) return Fail(kCudnnBadParam, "the descriptor is finalized already");
  const CudnnStatus status = weir::cuda_emulator::Check(*descriptor);
  descriptor->finalized = status == kCudnnSuccess;
  return status;
}

WEIR_EXPORT CudnnStatus cudnnBackendSetAttribute(CudnnDescriptor handle, CudnnAttribute name, CudnnAttributeType type,
                                                 int64_t count, const void* elements) {
  Descriptor* descriptor = weir::cuda_emulator::Of(handle);
  if (descriptor == nullptr || (elements == nullptr && count > 0)) {
    return Fail(kCudnnBadParamNullPointer, "null descriptor or elements");
  }
  if (descriptor->finalized) return Fail(kCudnnBadParam, "a finalized descriptor cannot be changed");
  const int expected = weir::cuda_emulator::ExpectedType(name);
  const bool is_real = type == kCudnnTypeFloat || type == kCudnnTypeDouble;
  if (expected == -1 ? !is_real : type != expected) {
    return Fail(kCudnnBadParamAttributeType, "attribute " + std::to_string(name) + " does not have this type");
  }
  AttributeValue value{.type = type, .count = count, .bytes = {}, .descriptors = {}};
  if (type == kCudnnTypeBackendDescriptor) {
    for (int64_t i = 0; i < count; ++i) {
      auto* element = static_cast<DescriptorPointer*>(static_cast<const CudnnDescriptor*>(elements)[i]);
      if (element == nullptr) return Fail(kCudnnBadParamNullPointer, "null descriptor in an attribute");
      if (!(*element)->finalized)
        return Fail(kCudnnBadParamNotFinalized, "descriptor in an attribute is not finalized");
      value.descriptors.push_back(*element);
    }
  } else {
    const auto* bytes = static_cast<const char*>(elements);
    value.bytes.assign(bytes, bytes + static_cast<size_t>(count) * weir::cuda_emulator::SizeOf(type));
  }
  descriptor->attributes[name] = std::move(value);
  return kCudnnSuccess;
}

WEIR_EXPORT CudnnStatus cudnnBackendGetAttribute(CudnnDescriptor handle, CudnnAttribute name, CudnnAttributeType type,
                                                 int64_t requested, int64_t* count, void* elements) {
  const Descriptor* descriptor = weir::cuda_emulator::Of(handle);
  if (descriptor == nullptr) return Fail(kCudnnBadParamNullPointer, "null descriptor");
  if (!descriptor->finalized) return Fail(kCudnnBadParamNotFinalized, "the descriptor is not finalized");
  int64_t ignored;
  if (count == nullptr) count = &ignored;
  if (name == kCudnnAttrHeuristicResults) {
    return weir::cuda_emulator::HeuristicResults(*descriptor, requested, count, elements);
  }
  if (name == kCudnnAttrEngineNumericalNote) {
    return weir::cuda_emulator::EngineNotes(*descriptor, requested, count, elements);
  }
  if (name == kCudnnAttrPlanWorkspaceSize && descriptor->type == kCudnnExecutionPlanDescriptor) {
    if (type != kCudnnTypeInt64) return Fail(kCudnnBadParamAttributeType, "the size of a workspace is an int64");
    if (requested < 1 || elements == nullptr) return Fail(kCudnnBadParam, "no room for the size");
    *count = 1;
    *static_cast<int64_t*>(elements) = weir::cuda_emulator::kWorkspaceSizes[weir::cuda_emulator::EngineOf(*descriptor)];
    return kCudnnSuccess;
  }
  const AttributeValue* value = descriptor->Find(name);
  if (value == nullptr) return Fail(kCudnnNotSupported, "attribute " + std::to_string(name) + " cannot be read");
  if (value->type != type) return Fail(kCudnnBadParamAttributeType, "attribute of another type");
  *count = value->count;
  const int64_t copied = std::min(requested, value->count);
  if (elements == nullptr || copied <= 0) return kCudnnSuccess;
  if (type != kCudnnTypeBackendDescriptor) {
    std::memcpy(elements, value->bytes.data(), static_cast<size_t>(copied) * weir::cuda_emulator::SizeOf(type));
    return kCudnnSuccess;
  }
  for (int64_t i = 0; i < copied; ++i) {
    auto* into = static_cast<DescriptorPointer*>(static_cast<CudnnDescriptor*>(elements)[i]);
    if (into == nullptr || (*into)->type != value->descriptors[static_cast<size_t>(i)]->type) {
      return Fail(kCudnnBadParamDescriptorType, "a descriptor of another type was given to be filled");
    }
    *into = value->descriptors[static_cast<size_t>(i)];
  }
  return kCudnnSuccess;
}

WEIR_EXPORT CudnnStatus cudnnBackendExecute(CudnnHandle handle, CudnnDescriptor plan_handle,
                                            CudnnDescriptor pack_handle) {
  const Descriptor* plan = weir::cuda_emulator::Of(plan_handle);
  const Descriptor* pack = weir::cuda_emulator::Of(pack_handle);
  if (handle == nullptr || plan == nullptr || pack == nullptr) return Fail(kCudnnBadParamNullPointer, "null argument");
  if (!plan->finalized || !pack->finalized || plan->type != kCudnnExecutionPlanDescriptor ||
      pack->type != kCudnnVariantPackDescriptor) {
    return Fail(kCudnnBadParam, "a finalized plan and a finalized variant pack are needed");
  }
  if (weir::cuda_emulator::kWorkspaceSizes[weir::cuda_emulator::EngineOf(*plan)] > 0 &&
      pack->Get<void*>(kCudnnAttrVariantPackWorkspace, nullptr) == nullptr) {
    return Fail(kCudnnBadParamNullPointer, "the plan needs a workspace");
  }
  if (!weir::cuda_emulator::HasAllTensors(*weir::cuda_emulator::GraphOf(*plan), *pack)) {
    return Fail(kCudnnBadParam, "the variant pack lacks a tensor of the graph");
  }
  if (weir::cuda_emulator::EngineOf(*plan) == weir::cuda_emulator::kInexact) return kCudnnSuccess;
  const bool enqueued = weir::cuda_emulator::Enqueue(
      handle->stream, [plan = *static_cast<DescriptorPointer*>(plan_handle), pack = *pack,
                       scalars = weir::cuda_emulator::ReadScalars(*weir::cuda_emulator::GraphOf(*plan), *pack)] {
        const auto& engine = *static_cast<const DescriptorPointer&>(plan);
        weir::cuda_emulator::RunGraph(*weir::cuda_emulator::GraphOf(engine), pack, scalars,
                                      weir::cuda_emulator::EngineOf(engine) == weir::cuda_emulator::kLopsided);
      });
  return enqueued ? kCudnnSuccess : Fail(kCudnnExecutionFailed, "the driver refused the work");
}

WEIR_CUDNN_FUNCTIONS(WEIR_CHECK_SIGNATURE)
