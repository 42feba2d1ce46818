// Engines of this process by token, so that another thread's environment can find one
// (native/index.d.ts, UplinkSource).
#ifndef SEGANET_BINDING_ENGINE_REGISTRY_H_
#define SEGANET_BINDING_ENGINE_REGISTRY_H_

#include <cstdint>
#include <memory>

#include "binding/node/js_doorbell.h"
#include "core/runtime/engine.h"

namespace seganet::binding {

// An engine with the bell that it rings; kept alive by its JavaScript object and by every
// UplinkSource.
struct EngineHandle {
  JsDoorbell bell;
  Engine engine{&bell};
};

// Thread safety: any thread.
uint32_t RegisterEngine(const std::shared_ptr<EngineHandle>& handle);
void ForgetEngine(uint32_t token);
std::shared_ptr<EngineHandle> FindEngine(uint32_t token);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_ENGINE_REGISTRY_H_
