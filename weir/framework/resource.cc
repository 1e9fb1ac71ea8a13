#include "weir/framework/resource.h"

#include <atomic>
#include <map>

namespace weir {
namespace {

std::string Key(std::string_view type, std::string_view name) {
  std::string key;
  key.reserve(type.size() + 1 + name.size());
  key.append(type).push_back('\0');
  key.append(name);
  return key;
}

}  // namespace

Status ResourceManager::Create(std::string_view container, std::string_view name, std::shared_ptr<Resource> resource) {
  if (container.empty()) container = default_container_;
  std::string key = Key(resource->type_name(), name);
  absl::MutexLock lock(&mu_);
  auto [it, inserted] = containers_[std::string(container)].emplace(std::move(key), resource);
  if (!inserted) {
    return AlreadyExists("Resource ", container, "/", name, "/", resource->type_name(), " already exists.");
  }
  return OkStatus();
}

StatusOr<std::shared_ptr<Resource>> ResourceManager::LookUp(std::string_view container, std::string_view type,
                                                            std::string_view name) const {
  if (container.empty()) container = default_container_;
  {
    absl::ReaderMutexLock lock(&mu_);
    auto found = containers_.find(container);
    if (found != containers_.end()) {
      auto entry = found->second.find(Key(type, name));
      if (entry != found->second.end()) return entry->second;
    }
  }
  return NotFound("Resource ", container, "/", name, "/", type, " does not exist.");
}

StatusOr<std::shared_ptr<Resource>> ResourceManager::LookUpOrCreateAny(
    std::string_view container, std::string_view type, std::string_view name,
    const std::function<StatusOr<std::shared_ptr<Resource>>()>& creator) {
  auto found = LookUp(container, type, name);
  if (found.ok()) return found;
  if (container.empty()) container = default_container_;
  absl::MutexLock lock(&mu_);
  Container& entries = containers_[std::string(container)];
  std::string key = Key(type, name);
  auto entry = entries.find(key);
  if (entry != entries.end()) return entry->second;
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Resource> made, creator());
  entries.emplace(std::move(key), made);
  return made;
}

Status ResourceManager::Delete(std::string_view container, std::string_view type, std::string_view name) {
  if (container.empty()) container = default_container_;
  std::shared_ptr<Resource> doomed;  // destroyed after the lock is released
  absl::MutexLock lock(&mu_);
  auto found = containers_.find(container);
  if (found == containers_.end()) return NotFound("Container ", container, " does not exist.");
  auto entry = found->second.find(Key(type, name));
  if (entry == found->second.end()) {
    return NotFound("Resource ", container, "/", name, "/", type, " does not exist.");
  }
  doomed = std::move(entry->second);
  doomed->set_removed();
  found->second.erase(entry);
  return OkStatus();
}

void ResourceManager::ClearContainer(std::string_view container) {
  if (container.empty()) container = default_container_;
  Container doomed;
  absl::MutexLock lock(&mu_);
  auto found = containers_.find(container);
  if (found == containers_.end()) return;
  doomed = std::move(found->second);
  for (const auto& [key, resource] : doomed) resource->set_removed();
  containers_.erase(found);
}

void ResourceManager::ClearAll() {
  StringMap<Container> doomed;
  absl::MutexLock lock(&mu_);
  doomed.swap(containers_);
  for (const auto& [name, container] : doomed) {
    for (const auto& [key, resource] : container) resource->set_removed();
  }
}

int64_t ResourceManager::NextUniqueId() {
  static std::atomic<int64_t> next{0};
  return next.fetch_add(1, std::memory_order_relaxed);
}

std::string ResourceManager::DebugString() const {
  std::map<std::string, std::string> lines;
  absl::ReaderMutexLock lock(&mu_);
  for (const auto& [container, entries] : containers_) {
    for (const auto& [key, resource] : entries) {
      size_t split = key.find('\0');
      lines[Cat(container, "/", key.substr(split + 1))] = resource->DebugString();
    }
  }
  std::string out;
  for (const auto& [name, text] : lines) out += Cat(name, ": ", text, "\n");
  return out;
}

}  // namespace weir
