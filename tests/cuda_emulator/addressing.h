// From addresses to storage, with the checks of a memory checker.
#ifndef WEIR_TESTS_CUDA_EMULATOR_ADDRESSING_H_
#define WEIR_TESTS_CUDA_EMULATOR_ADDRESSING_H_

#include "machine.h"

namespace cuda_emulator {

inline char* ResolveGlobal(const Thread* t, uint64_t address, size_t size) {
  const MemoryView& memory = *t->memory;
  const uint64_t offset = address - memory.base;
  if (offset < memory.span) {
    // An aligned access never crosses a granule of 256 bytes.
    if ((offset & 255) + size <= memory.valid[offset >> 8]) [[likely]]
      return memory.storage + offset;
    return nullptr;
  }
  return memory.resolve(memory.owner, address, size);
}

inline char* ResolveShared(const Thread* t, uint64_t address, size_t size) {
  Block* block = t->block;
  const uint64_t offset = address - kSharedStart;
  if (offset > block->shared_bytes() || offset + size > block->shared_bytes()) return nullptr;
  return block->shared() + offset;
}

inline char* ResolveLocal(const Thread* t, uint64_t address, size_t size) {
  if (address > t->local_size || address + size > t->frame_base + t->function->frame_bytes) return nullptr;
  return t->local + address;
}

char* ResolveWindow(const Thread* t, uint64_t address, size_t size);

template <Space kSpace>
inline char* Resolve(const Thread* t, uint64_t address, size_t size) {
  if (address & (size - 1)) [[unlikely]]
    return nullptr;
  switch (kSpace) {
    case Space::kGlobal:
    case Space::kConst:
      return ResolveGlobal(t, address, size);
    case Space::kShared:
      return ResolveShared(t, address, size);
    case Space::kLocal:
      return ResolveLocal(t, address, size);
    default:
      if (address < kLocalWindow) [[likely]]
        return ResolveGlobal(t, address, size);
      return ResolveWindow(t, address, size);
  }
}

inline char* ResolveIn(Space space, const Thread* t, uint64_t address, size_t size) {
  switch (space) {
    case Space::kGlobal:
    case Space::kConst:
      return Resolve<Space::kGlobal>(t, address, size);
    case Space::kShared:
      return Resolve<Space::kShared>(t, address, size);
    case Space::kLocal:
      return Resolve<Space::kLocal>(t, address, size);
    default:
      return Resolve<Space::kGeneric>(t, address, size);
  }
}

// The state space among a statement's modifiers.
inline Space SpaceOf(const Statement& s) {
  for (std::string_view part : s.suffix) {
    if (part == "global") return Space::kGlobal;
    if (part == "shared" || part == "shared::cta") return Space::kShared;
    if (part == "local") return Space::kLocal;
    if (part == "const") return Space::kConst;
    if (part == "param" || part == "param::entry" || part == "param::func") return Space::kParam;
  }
  return Space::kGeneric;
}

}  // namespace cuda_emulator

#endif  // WEIR_TESTS_CUDA_EMULATOR_ADDRESSING_H_
