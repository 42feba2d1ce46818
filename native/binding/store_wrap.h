// JavaScript's StoreSource (native/index.d.ts): the store thread's access to an engine's store
// queue.
#ifndef SEGANET_BINDING_STORE_WRAP_H_
#define SEGANET_BINDING_STORE_WRAP_H_

#include <napi.h>

#include <memory>

#include "binding/engine_registry.h"

namespace seganet::binding {

class StoreWrap : public Napi::ObjectWrap<StoreWrap> {
 public:
  static Napi::Function Define(Napi::Env env);

  explicit StoreWrap(const Napi::CallbackInfo& info);
  ~StoreWrap() override;

 private:
  void Opened(const Napi::CallbackInfo& info);
  Napi::Value Due(const Napi::CallbackInfo& info);
  Napi::Value Take(const Napi::CallbackInfo& info);
  void Committed(const Napi::CallbackInfo& info);
  void Failed(const Napi::CallbackInfo& info);
  void Dropped(const Napi::CallbackInfo& info);
  Napi::Value Frees(const Napi::CallbackInfo& info);
  void Freed(const Napi::CallbackInfo& info);
  void Lost(const Napi::CallbackInfo& info);
  void Removed(const Napi::CallbackInfo& info);
  void SendAgain(const Napi::CallbackInfo& info);
  Napi::Value Wanted(const Napi::CallbackInfo& info);
  Napi::Value Loaded(const Napi::CallbackInfo& info);
  void Missing(const Napi::CallbackInfo& info);
  void Close(const Napi::CallbackInfo& info);

  // Returns the first argument, a ticket; 0 = it is invalid, or the source is closed.
  uint64_t Ticket(const Napi::CallbackInfo& info);

  static void OnEnvironmentEnd(void* self);
  void CloseNow();

  std::shared_ptr<EngineHandle> handle_;
  StoreQueue* queue_ = nullptr;  // null when closed
  JsDoorbell bell_;
  bool has_hook_ = false;
};

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_STORE_WRAP_H_
