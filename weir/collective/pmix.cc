#include "weir/collective/pmix.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "weir/base/strings.h"

namespace weir::collective {
namespace {

// As in the PMIx standard, whose binary interface is stable.
struct PmixProcess {
  char name_space[256];
  uint32_t rank;
};
struct PmixValue {
  uint16_t type;
  union {
    char* text;
    uint64_t space[3];
  } data;
};
constexpr uint16_t kPmixString = 3;
constexpr uint8_t kPmixGlobal = 3;
constexpr char kAddressKey[] = "weir.address";

class Pmix {
 public:
  static StatusOr<Pmix> Open() {
    if (!HasPmix()) {
      return FailedPrecondition(
          "Nothing says where rank 0 is: set WEIR_ADDRESS=host:port to an address of rank 0's host, the same for all "
          "ranks (under mpirun: -x WEIR_ADDRESS=...)");
    }
    Pmix out;
    for (const char* name : {"libpmix.so.2", "libpmix.so"}) {
      if (out.library_ == nullptr) out.library_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    if (out.library_ == nullptr) {
      return FailedPrecondition("The launcher offers PMIx for finding rank 0, but libpmix.so.2 cannot be loaded (",
                                dlerror(),
                                "): install it, or set WEIR_ADDRESS=host:port to an address of rank 0's host");
    }
    auto init = out.Find<int (*)(PmixProcess*, void*, size_t)>("PMIx_Init");
    if (init == nullptr) return FailedPrecondition("libpmix.so.2 has no PMIx_Init");
    const int code = init(&out.own_, nullptr, 0);
    if (code != 0) return Unavailable("PMIx_Init fails with ", code);
    return out;
  }

  template <typename Function>
  Function Find(const char* name) const {
    return reinterpret_cast<Function>(dlsym(library_, name));
  }
  const PmixProcess& own() const { return own_; }

  Status Put(const std::string& text) {
    auto put = Find<int (*)(uint8_t, const char*, PmixValue*)>("PMIx_Put");
    auto commit = Find<int (*)()>("PMIx_Commit");
    if (put == nullptr || commit == nullptr) return FailedPrecondition("libpmix.so.2 has no PMIx_Put");
    PmixValue value = {};
    value.type = kPmixString;
    value.data.text = const_cast<char*>(text.c_str());
    int code = put(kPmixGlobal, kAddressKey, &value);
    if (code == 0) code = commit();
    return code == 0 ? OkStatus() : Unavailable("PMIx_Put fails with ", code);
  }
  Status Fence() {
    auto fence = Find<int (*)(const PmixProcess*, size_t, const void*, size_t)>("PMIx_Fence");
    if (fence == nullptr) return FailedPrecondition("libpmix.so.2 has no PMIx_Fence");
    const int code = fence(nullptr, 0, nullptr, 0);
    return code == 0 ? OkStatus() : Unavailable("PMIx_Fence fails with ", code);
  }
  StatusOr<std::string> Get() {
    auto get = Find<int (*)(const PmixProcess*, const char*, const void*, size_t, PmixValue**)>("PMIx_Get");
    if (get == nullptr) return FailedPrecondition("libpmix.so.2 has no PMIx_Get");
    PmixProcess first = own_;
    first.rank = 0;
    PmixValue* value = nullptr;
    const int code = get(&first, kAddressKey, nullptr, 0, &value);
    if (code != 0 || value == nullptr || value->type != kPmixString || value->data.text == nullptr) {
      return Unavailable("PMIx_Get of rank 0's address fails with ", code);
    }
    std::string text = value->data.text;
    free(value->data.text);
    free(value);
    return text;
  }
  void Close() {
    if (auto finalize = Find<int (*)(const void*, size_t)>("PMIx_Finalize")) finalize(nullptr, 0);
  }

 private:
  void* library_ = nullptr;  // never unloaded
  PmixProcess own_ = {};
};

}  // namespace

bool HasPmix() { return std::getenv("PMIX_RANK") != nullptr && std::getenv("PMIX_NAMESPACE") != nullptr; }

Status PublishThroughPmix(const std::string& text) {
  WEIR_ASSIGN_OR_RETURN(Pmix pmix, Pmix::Open());
  Status status = pmix.Put(text);
  if (status.ok()) status = pmix.Fence();
  pmix.Close();
  return status;
}

StatusOr<std::string> ReadThroughPmix() {
  WEIR_ASSIGN_OR_RETURN(Pmix pmix, Pmix::Open());
  auto read = [&]() -> StatusOr<std::string> {
    WEIR_RETURN_IF_ERROR(pmix.Fence());
    return pmix.Get();
  };
  StatusOr<std::string> text = read();
  pmix.Close();
  return text;
}

}  // namespace weir::collective
