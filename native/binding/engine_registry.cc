#include "binding/engine_registry.h"

#include <mutex>
#include <unordered_map>

namespace seganet::binding {
namespace {

// The addon's only mutable static: environments of a process share no other object through which
// they could find an engine.
struct EngineRegistry {
  std::mutex mutex;
  uint32_t next_token = 1;
  std::unordered_map<uint32_t, std::weak_ptr<EngineHandle>> engines;
};

EngineRegistry& Shared() {
  static EngineRegistry registry;
  return registry;
}

}  // namespace

uint32_t RegisterEngine(const std::shared_ptr<EngineHandle>& handle) {
  EngineRegistry& registry = Shared();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  const uint32_t token = registry.next_token++;
  registry.engines[token] = handle;
  return token;
}

void ForgetEngine(uint32_t token) {
  EngineRegistry& registry = Shared();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  registry.engines.erase(token);
}

std::shared_ptr<EngineHandle> FindEngine(uint32_t token) {
  EngineRegistry& registry = Shared();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  const auto it = registry.engines.find(token);
  return it == registry.engines.end() ? nullptr : it->second.lock();
}

}  // namespace seganet::binding
