// Entry points: modules and their functions.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "cuda_api.h"
#include "driver.h"

using namespace cuda_emulator;  // NOLINT: the file defines C functions only

namespace {

// Newest PTX that the driver of this version reads.
constexpr int kPtxVersion = 90;

// Places the variables of a module and writes their initial values.
CUresult PlaceVariables(Module* module, std::string* error) {
  DeviceMemory& memory = module->context->device->memory();
  Program& program = module->program;
  for (const Variable& variable : program.text.variables) {
    if (variable.space == Space::kShared) continue;
    if (variable.is_external) {
      *error = "variable " + variable.name + " is not defined";
      return CUDA_ERROR_INVALID_PTX;
    }
    const uint64_t address = memory.Allocate(std::max<size_t>(variable.size, 1));
    if (address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
    module->allocations.push_back(address);
    program.addresses[variable.name] = address;
    program.variable_sizes[variable.name] = variable.size;
  }
  for (const Variable& variable : program.text.variables) {
    if (variable.space == Space::kShared) continue;
    char* storage = memory.Storage(program.addresses[variable.name], std::max<size_t>(variable.size, 1));
    std::memset(storage, 0, variable.size);
    if (!variable.initial.empty()) std::memcpy(storage, variable.initial.data(), variable.size);
    for (const Variable::Reference& reference : variable.references) {
      uint64_t value = 0;
      auto address = program.addresses.find(reference.name);
      if (address != program.addresses.end()) {
        value = address->second;
      } else {
        auto function = std::find_if(program.text.functions.begin(), program.text.functions.end(),
                                     [&](const FunctionText& each) { return each.name == reference.name; });
        if (function == program.text.functions.end()) {
          *error = "unknown name " + reference.name + " in the initial value of " + variable.name;
          return CUDA_ERROR_INVALID_PTX;
        }
        value = kFunctionWindow + static_cast<uint64_t>(function - program.text.functions.begin());
      }
      value += static_cast<uint64_t>(reference.addend);
      std::memcpy(storage + reference.offset, &value, sizeof(value));
    }
  }
  return CUDA_SUCCESS;
}

CUresult Load(Module* module, const char* image, std::string* error) {
  if (std::memcmp(image, "\177ELF", 4) == 0) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (std::memcmp(image, "\x50\xed\x55\xba", 4) == 0) return CUDA_ERROR_NO_BINARY_FOR_GPU;  // a fat binary
  ModuleText& text = module->program.text;
  *error = ParsePtx(image, &text);
  if (text.version == 0) return CUDA_ERROR_INVALID_IMAGE;
  if (text.version > kPtxVersion) {
    *error = "PTX version " + std::to_string(text.version) + " is too new";
    return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  }
  // Code for one architecture, such as sm_90a, runs on no other.
  if (!text.target_name.empty() && std::isalpha(static_cast<unsigned char>(text.target_name.back()))) {
    *error = "code for " + text.target_name + " alone";
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  if (text.target > 99) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (!error->empty()) return CUDA_ERROR_INVALID_PTX;
  if (CUresult result = PlaceVariables(module, error)) return result;
  *error = Decode(&module->program);
  return error->empty() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_PTX;
}

void ReleaseVariables(Module* module) {
  for (uint64_t address : module->allocations) module->context->device->memory().Free(address);
}

// A text into the buffer that the options name by `buffer` and `size` (numbers of CUjit_option).
void WriteLog(unsigned count, const int* options, void** values, int buffer, int size, const std::string& text) {
  char* target = nullptr;
  size_t* capacity = nullptr;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == buffer) target = static_cast<char*>(values[i]);
    if (options[i] == size) capacity = reinterpret_cast<size_t*>(&values[i]);
  }
  if (target == nullptr || capacity == nullptr) return;
  const size_t room = static_cast<unsigned>(*capacity);
  if (room == 0) return;
  const size_t length = std::min(room - 1, text.size());
  std::memcpy(target, text.data(), length);
  target[length] = '\0';
  *capacity = length + 1;
}

FunctionHandle* FindFunction(CUfunction handle) {
  std::lock_guard lock(Driver::Get().function_mutex);
  return Driver::Get().functions.count(handle) != 0 ? reinterpret_cast<FunctionHandle*>(handle) : nullptr;
}

int MaxThreads(const FunctionHandle& function) {
  const int declared = function.kernel.function->max_threads;
  return declared != 0 ? declared : 1024;
}

int ActiveBlocks(const FunctionHandle& function, int threads, size_t dynamic_shared) {
  if (threads <= 0 || threads > MaxThreads(function)) return 0;
  const size_t shared = function.kernel.static_shared_bytes + dynamic_shared + kSharedStart;
  const size_t by_shared = (size_t{228} << 10) / shared;
  return static_cast<int>(std::min<size_t>({size_t{32}, size_t{2048} / ((threads + 31) / 32 * 32), by_shared}));
}

}  // namespace

CU_EXPORT CUresult cuModuleLoadDataEx(CUmodule* handle, const void* image, unsigned count, int* options,
                                      void** values) {
  Context* context = nullptr;
  if (CUresult error = EnterContext(&context)) return error;
  if (handle == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult error = CheckUnsafeCall()) return error;
  auto module = std::make_shared<Module>();
  module->context = context;
  std::string message;
  const CUresult error = Load(module.get(), static_cast<const char*>(image), &message);
  WriteLog(count, options, values, 3, 4, "");       // the information log
  WriteLog(count, options, values, 5, 6, message);  // the error log
  if (error != CUDA_SUCCESS) {
    std::fprintf(stderr, "cuda_emulator: a module was not loaded: %s\n", message.c_str());
    ReleaseVariables(module.get());
    return error;
  }
  for (const Function& function : module->program.functions) {
    if (!function.is_entry || !function.is_defined) continue;
    auto entry = std::make_unique<FunctionHandle>();
    entry->module = module.get();
    entry->kernel = MakeKernel(&module->program, function);
    if (entry->kernel.static_shared_bytes > 48 << 10) {
      std::fprintf(stderr, "cuda_emulator: kernel %s has %u bytes of static shared memory\n", function.name.c_str(),
                   entry->kernel.static_shared_bytes);
      ReleaseVariables(module.get());
      return CUDA_ERROR_INVALID_PTX;
    }
    entry->max_dynamic_shared = (48 << 10) - static_cast<int>(entry->kernel.static_shared_bytes);
    module->functions[function.name] = std::move(entry);
  }
  {
    std::lock_guard lock(Driver::Get().function_mutex);
    for (const auto& [name, entry] : module->functions) Driver::Get().functions.insert(entry.get());
  }
  *handle = reinterpret_cast<CUmodule>(Driver::Get().modules.Add(std::move(module)));
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuModuleLoadData(CUmodule* handle, const void* image) {
  return cuModuleLoadDataEx(handle, image, 0, nullptr, nullptr);
}

CU_EXPORT CUresult cuModuleUnload(CUmodule handle) {
  Context* context = nullptr;
  if (CUresult error = EnterContext(&context)) return error;
  std::shared_ptr<Module> module = Driver::Get().modules.Find(handle);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (CUresult error = CheckUnsafeCall()) return error;
  if (CUresult error = module->context->Synchronize()) return error;
  Driver::Get().modules.Remove(handle);
  {
    std::lock_guard lock(Driver::Get().function_mutex);
    for (const auto& [name, entry] : module->functions) Driver::Get().functions.erase(entry.get());
  }
  ReleaseVariables(module.get());
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuModuleGetFunction(CUfunction* function, CUmodule handle, const char* name) {
  Context* context = nullptr;
  if (CUresult error = EnterContext(&context)) return error;
  std::shared_ptr<Module> module = Driver::Get().modules.Find(handle);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (function == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto found = module->functions.find(name);
  if (found == module->functions.end()) return CUDA_ERROR_NOT_FOUND;
  *function = reinterpret_cast<CUfunction>(found->second.get());
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuFuncGetName(const char** name, CUfunction handle) {
  FunctionHandle* function = FindFunction(handle);
  if (name == nullptr || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = function->kernel.function->name.c_str();
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuFuncGetModule(CUmodule* module, CUfunction handle) {
  FunctionHandle* function = FindFunction(handle);
  if (module == nullptr || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *module = reinterpret_cast<CUmodule>(function->module);
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* size, CUmodule handle, const char* name) {
  Context* context = nullptr;
  if (CUresult error = EnterContext(&context)) return error;
  std::shared_ptr<Module> module = Driver::Get().modules.Find(handle);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto found = module->program.addresses.find(name);
  if (found == module->program.addresses.end()) return CUDA_ERROR_NOT_FOUND;
  if (address != nullptr) *address = found->second;
  if (size != nullptr) *size = module->program.variable_sizes[name];
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuFuncGetAttribute(int* value, int attribute, CUfunction handle) {
  FunctionHandle* function = FindFunction(handle);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case 0:  // threads a block
      *value = MaxThreads(*function);
      return CUDA_SUCCESS;
    case 1:  // static shared memory
      *value = static_cast<int>(function->kernel.static_shared_bytes);
      return CUDA_SUCCESS;
    case 3:  // local memory
      *value = static_cast<int>(function->kernel.function->frame_bytes);
      return CUDA_SUCCESS;
    case 4:  // registers; PTX does not know
      *value = 32;
      return CUDA_SUCCESS;
    case 5:  // PTX and binary version
    case 6:
      *value = attribute == 5 ? function->module->program.text.target : 99;
      return CUDA_SUCCESS;
    case 8:  // dynamic shared memory
      *value = function->max_dynamic_shared;
      return CUDA_SUCCESS;
    case 9:
      *value = -1;
      return CUDA_SUCCESS;
    case 2:
    case 7:
    case 10:
    case 11:
    case 12:
    case 13:
    case 14:
    case 15:
      *value = 0;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CU_EXPORT CUresult cuFuncSetAttribute(CUfunction handle, int attribute, int value) {
  Context* context = nullptr;
  if (CUresult error = EnterContext(&context)) return error;
  FunctionHandle* function = FindFunction(handle);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (attribute == 8) {
    if (value < 0 || value + static_cast<int>(function->kernel.static_shared_bytes) > 227 << 10)
      return CUDA_ERROR_INVALID_VALUE;
    function->max_dynamic_shared = value;
    return CUDA_SUCCESS;
  }
  return attribute >= 9 && attribute <= 15 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CU_EXPORT CUresult cuFuncSetCacheConfig(CUfunction handle, int config) {
  if (FindFunction(handle) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return config >= 0 && config <= 3 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CU_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction handle, int threads,
                                                               size_t shared) {
  FunctionHandle* function = FindFunction(handle);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (blocks == nullptr || threads <= 0) return CUDA_ERROR_INVALID_VALUE;
  *blocks = ActiveBlocks(*function, threads, shared);
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction handle, int threads,
                                                                        size_t shared, unsigned) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, handle, threads, shared);
}

CU_EXPORT CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction handle, size_t (*shared_of)(int),
                                                    size_t shared, int limit) {
  FunctionHandle* function = FindFunction(handle);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (grid == nullptr || block == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const int most = limit > 0 ? std::min(limit, MaxThreads(*function)) : MaxThreads(*function);
  int best = 0, best_blocks = 0;
  for (int threads = most; threads > 0; threads = threads > 32 ? (threads - 1) / 32 * 32 : 0) {
    const int blocks = ActiveBlocks(*function, threads, shared_of != nullptr ? shared_of(threads) : shared);
    if (blocks * threads > best * best_blocks) best = threads, best_blocks = blocks;
  }
  *block = best;
  *grid = best_blocks * 4;
  return CUDA_SUCCESS;
}
