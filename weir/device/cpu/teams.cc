#include "weir/device/cpu/teams.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "weir/base/workers.h"

namespace weir {
namespace {

struct Team {
  void (*function)(void*);
  void* data;
  int size;
  std::atomic<int> running{0};        // members beside the one that began it
  std::atomic<int> waiting{0};        // at the barrier
  std::atomic<uint32_t> barriers{0};  // that all have passed
};

// What the calling thread is in, innermost last; what a static loop has left for it.
struct Place {
  Team* team = nullptr;
  int member = 0;
};
struct StaticLoop {
  long start = 0, end = 0, step = 1, chunk = 0, turn = 0;  // NOLINT(google-runtime-int): OpenMP's types
};
thread_local Place place;
thread_local StaticLoop static_loop;
thread_local int team_size = 0;  // 0: as OpenMP would have it
int default_size = 1;

// A team that the calling thread has begun, and what it was in before.
struct Begun {
  Team team;
  Place before;
  std::vector<Worker*> workers;
  std::vector<Place> places;  // theirs
};
thread_local std::vector<std::unique_ptr<Begun>> begun, spare;

void RunMember(void* data) {
  place = *static_cast<const Place*>(data);
  place.team->function(place.team->data);
  place = Place();
}

void Begin(void (*function)(void*), void* data, int threads) {
  if (spare.empty()) spare.push_back(std::make_unique<Begun>());
  std::unique_ptr<Begun> next = std::move(spare.back());
  spare.pop_back();
  // A team within a team would have more threads than there are cores.
  if (place.team != nullptr && place.team->size > 1) threads = 1;
  if (threads <= 0) threads = team_size > 0 ? team_size : default_size;
  Team& team = next->team;
  team.function = function;
  team.data = data;
  team.size = threads;
  team.running.store(threads - 1, std::memory_order_relaxed);
  next->before = place;
  next->workers.clear();
  place = {&team, 0};
  if (threads > 1) {
    TakeWorkers(threads - 1, next->workers);
    next->places.clear();
    for (int i = 1; i < threads; ++i) next->places.push_back({&team, i});
    for (size_t i = 0; i < next->workers.size(); ++i) {
      BeginTask(next->workers[i], {&RunMember, &next->places[i], &team.running});
    }
  }
  begun.push_back(std::move(next));
}

void End() {
  std::unique_ptr<Begun> last = std::move(begun.back());
  begun.pop_back();
  Team& team = last->team;
  while (!LookFor([&] { return team.running.load(std::memory_order_acquire) == 0; })) {
    const int running = team.running.load(std::memory_order_acquire);
    if (running != 0) team.running.wait(running, std::memory_order_acquire);
  }
  if (!last->workers.empty()) GiveBack(last->workers);
  place = last->before;
  spare.push_back(std::move(last));
}

// The functions of OpenMP, as GCC calls them.
// NOLINTBEGIN(google-runtime-int)
void ParallelStart(void (*function)(void*), void* data, unsigned threads) {
  Begin(function, data, static_cast<int>(threads));
}
void ParallelEnd() { End(); }
void Parallel(void (*function)(void*), void* data, unsigned threads, unsigned /*flags*/) {
  RunTeam(function, data, static_cast<int>(threads));
}

void LoopEnd() {}

int MaxThreads() { return team_size > 0 ? team_size : default_size; }
int InParallel() { return TeamSize() > 1 ? 1 : 0; }
// NOLINTEND(google-runtime-int)

struct Function {
  std::string_view name;
  void* address;
};
const Function kFunctions[] = {
    {"GOMP_parallel_start", reinterpret_cast<void*>(&ParallelStart)},
    {"GOMP_parallel_end", reinterpret_cast<void*>(&ParallelEnd)},
    {"GOMP_parallel", reinterpret_cast<void*>(&Parallel)},
    {"GOMP_barrier", reinterpret_cast<void*>(&TeamBarrier)},
    {"GOMP_loop_static_start", reinterpret_cast<void*>(&FirstStaticPart)},
    {"GOMP_loop_static_next", reinterpret_cast<void*>(&NextStaticPart)},
    {"GOMP_loop_end_nowait", reinterpret_cast<void*>(&LoopEnd)},
    {"omp_get_max_threads", reinterpret_cast<void*>(&MaxThreads)},
    {"omp_get_num_threads", reinterpret_cast<void*>(&TeamSize)},
    {"omp_get_thread_num", reinterpret_cast<void*>(&TeamMember)},
    {"omp_in_parallel", reinterpret_cast<void*>(&InParallel)},
};

bool IsOfOpenMp(std::string_view name) {
  return name.starts_with("GOMP_") || name.starts_with("omp_") || name.starts_with("__kmpc_");
}

// A place in the library where the address of a function is kept that it calls.
struct CallSlot {
  void** at;
  void* address;
};

#if defined(__x86_64__)
// Empty if not all that the library calls of OpenMP is among ours.
std::vector<CallSlot> FindSlots(void* library) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return {};
  const char* names = nullptr;
  const ElfW(Sym)* symbols = nullptr;
  struct Table {
    const ElfW(Rela) * first = nullptr;
    size_t bytes = 0;
  } calls, others;
  for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    const ElfW(Addr) value = entry->d_un.d_ptr;
    if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(value);
    if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(value);
    if (entry->d_tag == DT_JMPREL) calls.first = reinterpret_cast<const ElfW(Rela)*>(value);
    if (entry->d_tag == DT_PLTRELSZ) calls.bytes = entry->d_un.d_val;
    if (entry->d_tag == DT_RELA) others.first = reinterpret_cast<const ElfW(Rela)*>(value);
    if (entry->d_tag == DT_RELASZ) others.bytes = entry->d_un.d_val;
    if (entry->d_tag == DT_PLTREL && entry->d_un.d_val != DT_RELA) return {};
  }
  if (names == nullptr || symbols == nullptr) return {};
  std::vector<CallSlot> slots;
  for (const Table& table : {calls, others}) {
    for (size_t i = 0; table.first != nullptr && i < table.bytes / sizeof(ElfW(Rela)); ++i) {
      const ElfW(Rela)& relocation = table.first[i];
      const size_t symbol = ELF64_R_SYM(relocation.r_info);
      if (symbol == 0) continue;
      const std::string_view name = names + symbols[symbol].st_name;
      if (symbols[symbol].st_shndx != SHN_UNDEF || !IsOfOpenMp(name)) continue;
      const auto type = ELF64_R_TYPE(relocation.r_info);
      const auto* ours = std::ranges::find(kFunctions, name, &Function::name);
      if (ours == std::end(kFunctions) || (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)) return {};
      slots.push_back({reinterpret_cast<void**>(map->l_addr + relocation.r_offset), ours->address});
    }
  }
  return slots;
}
#else
std::vector<CallSlot> FindSlots(void*) { return {}; }
#endif

}  // namespace

void SetTeamSize(int threads) { team_size = threads; }

void RunTeam(void (*function)(void*), void* data, int threads) {
  Begin(function, data, threads);
  function(data);
  End();
}

int TeamMember() { return place.member; }
int TeamSize() { return place.team == nullptr ? 1 : place.team->size; }

void TeamBarrier() {
  Team* team = place.team;
  if (team == nullptr || team->size == 1) return;
  const uint32_t barrier = team->barriers.load(std::memory_order_acquire);
  if (team->waiting.fetch_add(1, std::memory_order_acq_rel) + 1 == team->size) {
    team->waiting.store(0, std::memory_order_relaxed);
    team->barriers.store(barrier + 1, std::memory_order_release);
    team->barriers.notify_all();
    return;
  }
  auto is_passed = [&] { return team->barriers.load(std::memory_order_acquire) != barrier; };
  while (!LookFor(is_passed)) team->barriers.wait(barrier, std::memory_order_acquire);
}

// NOLINTBEGIN(google-runtime-int)
bool NextStaticPart(long* first, long* last) {
  StaticLoop& loop = static_loop;
  const long size = TeamSize(), member = TeamMember();
  const long count = loop.step > 0 ? (loop.end - loop.start + loop.step - 1) / loop.step
                                   : (loop.start - loop.end - loop.step - 1) / -loop.step;
  long from, to;
  if (loop.chunk <= 0) {  // one part each, the first ones larger by one
    if (loop.turn > 0) return false;
    const long each = count / size, more = count % size;
    from = member * each + std::min(member, more);
    to = from + each + (member < more ? 1 : 0);
  } else {  // in turn
    from = (loop.turn * size + member) * loop.chunk;
    to = std::min(count, from + loop.chunk);
  }
  ++loop.turn;
  if (from >= to) return false;
  *first = loop.start + from * loop.step;
  *last = loop.start + to * loop.step;
  return true;
}
bool FirstStaticPart(long start, long end, long step, long chunk, long* first, long* last) {
  static_loop = {start, end, step, chunk, 0};
  return NextStaticPart(first, last);
}
// NOLINTEND(google-runtime-int)

bool UseTeams(void* library) {
  const std::vector<CallSlot> slots = FindSlots(library);
  if (slots.empty()) return false;
  if (auto max_threads = reinterpret_cast<int (*)()>(dlsym(library, "omp_get_max_threads"))) {
    default_size = std::max(1, max_threads());
  }
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for (const CallSlot& slot : slots) {
    void* begin = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(slot.at) / page * page);
    if (mprotect(begin, page, PROT_READ | PROT_WRITE) != 0) return false;
  }
  for (const CallSlot& slot : slots) *slot.at = slot.address;
  return true;
}

}  // namespace weir
