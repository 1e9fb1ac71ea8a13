#include "machine.h"

#include <algorithm>
#include <cinttypes>
#include <condition_variable>
#include <cstdio>
#include <thread>

#include "cuda_abi.h"
#include "worker_pool.h"

namespace cuda_emulator {
namespace {

constexpr int kGarbage = 0xCB;
constexpr int64_t kTurn = 1 << 20;  // instructions, before another thread gets its turn
constexpr int64_t kCooperativeTurn = 1 << 12;
constexpr uint32_t kStackOfCalls = 16 << 10;  // local memory for calls, for each thread
constexpr size_t kMaxCalls = 4096;

std::string Where(const Thread* t, const Instruction* i) {
  char text[256];
  std::snprintf(text, sizeof(text), "PTX line %d of %s, block (%u, %u, %u), thread (%u, %u, %u)",
                t->function->LineOf(i), t->function->name.c_str(), t->block->id().x, t->block->id().y, t->block->id().z,
                t->id.x, t->id.y, t->id.z);
  return text;
}

}  // namespace

void Launch::Fail(int error, std::string message) {
  std::lock_guard lock(mutex);
  if (failed.exchange(true)) return;
  fault = {error, std::move(message)};
}

const Instruction* Fault(Thread* t, const Instruction* i, int error, const std::string& what) {
  t->state = Thread::kFailed;
  const_cast<Launch*>(t->launch)->Fail(
      error, "kernel " + t->launch->kernel->function->name + ": " + what + ", at " + Where(t, i));
  return nullptr;
}

const Instruction* AddressFault(Thread* t, const Instruction* i, uint64_t address, size_t size, const char* access) {
  char text[160];
  const bool misaligned = (address & (size - 1)) != 0;
  std::snprintf(text, sizeof(text), "%s %s of %zu bytes at address 0x%" PRIx64, misaligned ? "misaligned" : "illegal",
                access, size, address);
  return Fault(t, i, misaligned ? CUDA_ERROR_MISALIGNED_ADDRESS : CUDA_ERROR_ILLEGAL_ADDRESS, text);
}

Block::Block(Launch* launch) : launch_(*launch), kernel_(*launch->kernel) {
  const Function& function = *kernel_.function;
  const uint32_t count = static_cast<uint32_t>(launch_.block.Count());
  shared_bytes_ = kernel_.static_shared_bytes + launch_.dynamic_shared_bytes;
  shared_.resize(shared_bytes_ + 16);
  threads_.resize(count);
  registers_.resize(size_t{count} * function.num_slots);
  local_per_thread_ = function.frame_bytes;
  if (!function.callees.empty() || function.calls_indirectly) local_per_thread_ += kStackOfCalls;
  local_.reset(new char[size_t{count} * local_per_thread_ + 16]);
  free_frames_.resize(kernel_.program->functions.size());
  for (uint32_t i = 0; i < count; ++i) {
    Thread& thread = threads_[i];
    thread.launch = launch;
    thread.memory = &launch->memory;
    thread.block = this;
    thread.index = i;
    thread.lane = i % 32;
    thread.warp = i / 32;
    thread.id.x = i % launch_.block.x;
    thread.id.y = i / launch_.block.x % launch_.block.y;
    thread.id.z = i / launch_.block.x / launch_.block.y;
    thread.local_size = local_per_thread_;
    thread.local = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(local_.get()) + 15) / 16 * 16) +
                   size_t{i} * local_per_thread_;
    InitialiseConstants(function, &registers_[size_t{i} * function.num_slots]);
  }
}

Block::~Block() = default;

void Block::InitialiseConstants(const Function& function, uint64_t* registers) const {
  for (const Function::Constant& constant : function.constants) {
    registers[constant.slot] =
        constant.value + (constant.shared_variable >= 0 ? kernel_.shared_offsets[constant.shared_variable] : 0);
  }
}

void Block::Start(uint64_t index) {
  const Function& function = *kernel_.function;
  id_.x = static_cast<uint32_t>(index % launch_.grid.x);
  id_.y = static_cast<uint32_t>(index / launch_.grid.x % launch_.grid.y);
  id_.z = static_cast<uint32_t>(index / launch_.grid.x / launch_.grid.y);
  std::memset(shared_.data(), kGarbage, shared_bytes_);
  for (Thread& thread : threads_) {
    thread.registers = &registers_[size_t{thread.index} * function.num_slots];
    thread.next = function.code.data();
    thread.function = &function;
    thread.frame = thread.local;
    thread.frame_base = 0;
    thread.state = Thread::kReady;
    thread.carry = false;
    thread.calls.clear();
    thread.copies.clear();
    thread.copy_group = 0;
    if (function.frame_bytes != 0) std::memset(thread.local, kGarbage, function.frame_bytes);
  }
}

uint32_t Block::warp_size(uint32_t index) const {
  return std::min<uint32_t>(32, static_cast<uint32_t>(threads_.size()) - index * 32);
}

uint64_t* Block::TakeFrame(const Function& function) {
  std::vector<uint64_t*>& free = free_frames_[function.index];
  if (free.empty()) {
    frames_.push_back(std::make_unique<uint64_t[]>(function.num_slots));
    InitialiseConstants(function, frames_.back().get());
    return frames_.back().get();
  }
  uint64_t* frame = free.back();
  free.pop_back();
  return frame;
}

const Instruction* Block::Enter(Thread* t, const Instruction* site, const Function& callee, const CallSite& arguments) {
  const uint32_t base = t->frame_base + t->function->frame_bytes;
  if (base + callee.frame_bytes > t->local_size || t->calls.size() >= kMaxCalls) {
    return Fault(t, site, CUDA_ERROR_ILLEGAL_ADDRESS, "the stack is too small for a call of " + callee.name);
  }
  if (arguments.arguments.size() != callee.parameters.size() || arguments.results.size() != callee.results.size()) {
    return Fault(t, site, CUDA_ERROR_INVALID_PC, "a call of " + callee.name + " with other parameters than it has");
  }
  char* frame = t->local + base;
  std::memset(frame, kGarbage, callee.frame_bytes);
  for (size_t k = 0; k < callee.parameters.size(); ++k) {
    std::memcpy(frame + callee.parameters[k].offset, t->frame + arguments.arguments[k].offset,
                std::min(callee.parameters[k].size, arguments.arguments[k].size));
  }
  t->calls.push_back({site, t->registers, t->function, t->frame_base});
  t->registers = TakeFrame(callee);
  t->function = &callee;
  t->frame_base = base;
  t->frame = frame;
  return callee.code.data();
}

const Instruction* Block::Leave(Thread* t) {
  if (t->calls.empty()) {
    t->state = Thread::kDone;
    return nullptr;
  }
  const Thread::Call call = t->calls.back();
  t->calls.pop_back();
  const CallSite& site = *reinterpret_cast<const CallSite*>(call.site->immediate);
  char* caller = t->local + call.frame_base;
  for (size_t k = 0; k < t->function->results.size(); ++k) {
    std::memcpy(caller + site.results[k].offset, t->frame + t->function->results[k].offset,
                std::min(t->function->results[k].size, site.results[k].size));
  }
  free_frames_[t->function->index].push_back(t->registers);
  t->registers = call.registers;
  t->function = call.function;
  t->frame_base = call.frame_base;
  t->frame = caller;
  return call.site + 1;
}

bool Block::RunWarp(uint32_t warp, int64_t turn, bool* yielded) {
  Thread* const lanes = this->warp(warp);
  const uint32_t count = warp_size(warp);
  bool any = false;
  while (true) {
    bool ran = false;
    bool used_up = false;
    for (uint32_t k = 0; k < count; ++k) {
      Thread& thread = lanes[k];
      if (thread.state != Thread::kReady) continue;
      ran = true;
      const Instruction* next = thread.next;
      int64_t left = turn;
      do {
        next = next->run(thread.registers, next, &thread);
      } while (next != nullptr && --left > 0);
      if (next != nullptr) {
        thread.next = next;
        used_up = true;
      } else if (thread.state == Thread::kFailed) {
        return true;
      }
    }
    any |= ran;
    const bool resolved = ResolveWarpOperations(lanes, count);
    any |= resolved;
    if (used_up) {
      *yielded = true;
      return true;
    }
    if (!resolved) return any;
    if (launch_.failed.load(std::memory_order_relaxed)) return true;
  }
}

bool Block::ReleaseBarriers() {
  bool progress = false;
  for (uint32_t barrier = 0; barrier < 16; ++barrier) {
    uint32_t waiting = 0, alive = 0, expected = 0;
    for (const Thread& thread : threads_) {
      if (thread.state == Thread::kDone) continue;
      ++alive;
      if (thread.state != Thread::kAtBarrier || thread.barrier != barrier) continue;
      ++waiting;
      expected = thread.barrier_count;
    }
    if (waiting == 0) continue;
    if (expected == 0 || expected > alive) expected = alive;
    if (waiting < expected) continue;
    uint32_t votes = 0;
    const Instruction* at = nullptr;  // where this warp waits
    for (Thread& thread : threads_) {
      if (thread.lane == 0) at = nullptr;
      if (thread.state != Thread::kAtBarrier || thread.barrier != barrier) continue;
      if (thread.waiting->immediate & kBarrierAligned) {
        if (at != nullptr && at != thread.waiting) {
          Fault(&thread, thread.waiting, CUDA_ERROR_ILLEGAL_INSTRUCTION,
                "the threads of a warp wait at different barriers, here and in PTX line " +
                    std::to_string(thread.function->LineOf(at)));
          return true;
        }
        at = thread.waiting;
      }
      const auto reduction = static_cast<BarrierReduction>(thread.waiting->immediate & 15);
      if (reduction != BarrierReduction::kNone) votes += thread.registers[thread.waiting->c] != 0;
    }
    for (Thread& thread : threads_) {
      if (thread.state != Thread::kAtBarrier || thread.barrier != barrier) continue;
      switch (static_cast<BarrierReduction>(thread.waiting->immediate & 15)) {
        case BarrierReduction::kNone:
          break;
        case BarrierReduction::kCount:
          thread.registers[thread.waiting->d] = votes;
          break;
        case BarrierReduction::kAnd:
          thread.registers[thread.waiting->d] = votes == waiting;
          break;
        case BarrierReduction::kOr:
          thread.registers[thread.waiting->d] = votes != 0;
          break;
      }
      thread.state = Thread::kReady;
    }
    progress = true;
  }
  return progress;
}

void Block::ReportDeadlock() {
  for (Thread& thread : threads_) {
    if (thread.state != Thread::kAtBarrier && thread.state != Thread::kAtWarpOperation) continue;
    Fault(&thread, thread.waiting, CUDA_ERROR_LAUNCH_TIMEOUT,
          "deadlock: every thread that has not ended waits for others, for example this one");
    return;
  }
}

Block::Progress Block::Run(int64_t turn) {
  const uint32_t warps = static_cast<uint32_t>((threads_.size() + 31) / 32);
  while (true) {
    bool ran = false;
    bool yielded = false;
    for (uint32_t warp = 0; warp < warps; ++warp) {
      ran |= RunWarp(warp, turn, &yielded);
      if (launch_.failed.load(std::memory_order_relaxed)) return Progress::kFailed;
    }
    ran |= ReleaseBarriers();
    if (launch_.failed.load(std::memory_order_relaxed)) return Progress::kFailed;
    if (yielded) return Progress::kYielded;
    if (ran) continue;
    if (std::all_of(threads_.begin(), threads_.end(), [](const Thread& t) { return t.state == Thread::kDone; })) {
      return Progress::kDone;
    }
    ReportDeadlock();
    return Progress::kFailed;
  }
}

namespace {

// All blocks of a cooperative launch are there at once and take turns.
void RunCooperative(Launch* launch) {
  std::vector<std::unique_ptr<Block>> blocks;
  for (uint64_t i = 0; i < launch->grid.Count(); ++i) {
    blocks.push_back(std::make_unique<Block>(launch));
    blocks.back()->Start(i);
  }
  while (!blocks.empty()) {
    for (size_t i = 0; i < blocks.size();) {
      switch (blocks[i]->Run(kCooperativeTurn)) {
        case Block::Progress::kFailed:
          return;
        case Block::Progress::kDone:
          blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(i));
          break;
        case Block::Progress::kYielded:
          ++i;
      }
    }
  }
}

}  // namespace

void RunGrid(Launch* launch) {
  if (launch->is_cooperative) return RunCooperative(launch);
  const uint64_t count = launch->grid.Count();
  std::atomic<uint64_t> next{0};
  auto work = [&] {
    Block block(launch);
    while (!launch->failed.load(std::memory_order_relaxed)) {
      const uint64_t index = next.fetch_add(1);
      if (index >= count) return;
      block.Start(index);
      Block::Progress progress;
      do {
        progress = block.Run(kTurn);
      } while (progress == Block::Progress::kYielded);
    }
  };
  if (count * launch->block.Count() < 1024) return work();
  WorkerPool::Get().RunWithHelp(work);
}

}  // namespace cuda_emulator
