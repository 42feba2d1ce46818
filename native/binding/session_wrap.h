// JavaScript's SessionSource (native/index.d.ts): the store thread's access to the MQTT sessions of
// an engine.
#ifndef SEGANET_BINDING_SESSION_WRAP_H_
#define SEGANET_BINDING_SESSION_WRAP_H_

#include <napi.h>

#include <memory>

#include "binding/engine_registry.h"

namespace seganet::binding {

class SessionWrap : public Napi::ObjectWrap<SessionWrap> {
 public:
  static Napi::Function Define(Napi::Env env);

  explicit SessionWrap(const Napi::CallbackInfo& info);
  ~SessionWrap() override;

 private:
  Napi::Value Restore(const Napi::CallbackInfo& info);
  void Restored(const Napi::CallbackInfo& info);
  Napi::Value Restoring(const Napi::CallbackInfo& info);
  Napi::Value Take(const Napi::CallbackInfo& info);
  void Committed(const Napi::CallbackInfo& info);
  Napi::Value Waiting(const Napi::CallbackInfo& info);
  void Disable(const Napi::CallbackInfo& info);
  void Close(const Napi::CallbackInfo& info);

  static void OnEnvironmentEnd(void* self);
  void CloseNow();

  std::shared_ptr<EngineHandle> handle_;
  SessionOutbox* outbox_ = nullptr;  // null when closed
  JsDoorbell bell_;
  bool has_hook_ = false;
};

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_SESSION_WRAP_H_
