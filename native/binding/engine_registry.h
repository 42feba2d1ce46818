// The engines of this process, by token, so that another thread's environment can find an engine
// (UplinkSource, StoreSource and openDeviceStream take the token).
#ifndef SEGANET_BINDING_ENGINE_REGISTRY_H_
#define SEGANET_BINDING_ENGINE_REGISTRY_H_

#include <cstdint>
#include <memory>

#include "binding/node/js_doorbell.h"
#include "core/runtime/engine.h"

namespace seganet::binding {

// An engine and the bell that it rings. Its JavaScript object and every UplinkSource and
// StoreSource keep it alive.
struct EngineHandle {
  JsDoorbell bell;
  Engine engine{&bell};
};

// Thread safety: any thread. RegisterEngine returns the token. FindEngine returns null if no engine
// has the token.
uint32_t RegisterEngine(const std::shared_ptr<EngineHandle>& handle);
void ForgetEngine(uint32_t token);
std::shared_ptr<EngineHandle> FindEngine(uint32_t token);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_ENGINE_REGISTRY_H_
