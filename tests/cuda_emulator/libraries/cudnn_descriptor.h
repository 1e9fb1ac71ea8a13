// Descriptors of cuDNN's graph interface: bags of attributes that are checked when they are finalized.
#ifndef TESTS_CUDA_EMULATOR_LIBRARIES_CUDNN_DESCRIPTOR_H_
#define TESTS_CUDA_EMULATOR_LIBRARIES_CUDNN_DESCRIPTOR_H_

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/cuda_emulator/libraries/emulator.h"
#include "weir/device/cuda/abi/cudnn_abi.h"

namespace weir::cuda {

struct CudnnHandleOpaque {
  void* stream = nullptr;
};

}  // namespace weir::cuda

namespace weir::cuda_emulator {

struct Descriptor;
using DescriptorPointer = std::shared_ptr<Descriptor>;

struct AttributeValue {
  cuda::CudnnAttributeType type = cuda::kCudnnTypeInt64;
  int64_t count = 0;
  std::vector<char> bytes;                     // of plain elements
  std::vector<DescriptorPointer> descriptors;  // of kCudnnTypeBackendDescriptor

  template <typename T>
  T At(int64_t index) const {
    T value;
    std::memcpy(&value, bytes.data() + static_cast<size_t>(index) * sizeof(T), sizeof(T));
    return value;
  }
};

struct Descriptor {
  cuda::CudnnDescriptorType type;
  bool finalized = false;
  std::map<int, AttributeValue> attributes;

  const AttributeValue* Find(cuda::CudnnAttribute name) const {
    const auto found = attributes.find(name);
    return found == attributes.end() ? nullptr : &found->second;
  }
  bool Has(cuda::CudnnAttribute name) const { return Find(name) != nullptr; }
  template <typename T>
  T Get(cuda::CudnnAttribute name, T otherwise = T()) const {
    const AttributeValue* value = Find(name);
    return value == nullptr || value->bytes.size() < sizeof(T) ? otherwise : value->At<T>(0);
  }
  // A number given as float or double.
  double GetReal(cuda::CudnnAttribute name, double otherwise) const {
    const AttributeValue* value = Find(name);
    if (value == nullptr) return otherwise;
    return value->type == cuda::kCudnnTypeFloat ? static_cast<double>(value->At<float>(0)) : value->At<double>(0);
  }
  std::vector<int64_t> GetInts(cuda::CudnnAttribute name) const {
    std::vector<int64_t> result;
    if (const AttributeValue* value = Find(name)) {
      for (int64_t i = 0; i < value->count; ++i) result.push_back(value->At<int64_t>(i));
    }
    return result;
  }
  const Descriptor* GetDescriptor(cuda::CudnnAttribute name) const {
    const AttributeValue* value = Find(name);
    return value == nullptr || value->descriptors.empty() ? nullptr : value->descriptors[0].get();
  }
};

// Remembers what was wrong for cudnnGetLastErrorString.
cuda::CudnnStatus Fail(cuda::CudnnStatus status, std::string message);

bool ElementOf(cuda::CudnnDataType type, Element* element);

// What finalizing an operation or a graph of operations checks (cudnn_operations.cc).
cuda::CudnnStatus CheckOperation(const Descriptor& operation);
cuda::CudnnStatus CheckGraph(const Descriptor& graph);

// Whether the pack has a pointer for every tensor of the graph that is not virtual.
bool HasAllTensors(const Descriptor& graph, const Descriptor& variant_pack);
// Values of tensors that are not in the device's memory, by id.
using Values = std::unordered_map<int64_t, std::vector<double>>;
// The numbers that the pack has in the host's memory, read when a graph is enqueued.
Values ReadScalars(const Descriptor& graph, const Descriptor& variant_pack);
// Runs a graph's operations in order on the pack's tensors.
// `pads_wrongly`: convolutions take what is padded behind an image for what is padded before it.
void RunGraph(const Descriptor& graph, const Descriptor& variant_pack, Values scalars, bool pads_wrongly);

}  // namespace weir::cuda_emulator

#endif  // TESTS_CUDA_EMULATOR_LIBRARIES_CUDNN_DESCRIPTOR_H_
