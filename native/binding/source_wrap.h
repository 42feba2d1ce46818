// JavaScript's UplinkSource (native/index.d.ts): a session's access to an engine's lanes.
#ifndef SEGANET_BINDING_SOURCE_WRAP_H_
#define SEGANET_BINDING_SOURCE_WRAP_H_

#include <napi.h>

#include <functional>
#include <memory>
#include <utility>

#include "binding/engine_registry.h"

namespace seganet::binding {

class SourceWrap : public Napi::ObjectWrap<SourceWrap> {
 public:
  static Napi::Function Define(Napi::Env env);

  // Returns null if the value is not an UplinkSource.
  static SourceWrap* From(Napi::Value value);

  // Uses the lanes instead of JavaScript.
  struct LanesUser {
    virtual ~LanesUser() = default;
    // The source is closed: the lanes must not be used anymore.
    virtual void OnSourceClosed() = 0;
  };

  explicit SourceWrap(const Napi::CallbackInfo& info);
  ~SourceWrap() override;

  const std::shared_ptr<Lanes>& lanes() const { return lanes_; }  // null when closed
  Outlet* outlet() const { return outlet_; }
  bool has_user() const { return user_ != nullptr; }
  // Answers the doorbell.
  void Answer() { bell_.Answer(); }
  // Batches of class 1 end naps of the thread that are taken with `nap`.
  void SetNap(std::shared_ptr<Nap> nap) { bell_.SetNap(std::move(nap)); }

  // The doorbell calls `on_doorbell` instead of JavaScript; null = JavaScript again. Close calls
  // OnSourceClosed of a `user` that is not null.
  void SetUser(LanesUser* user, std::function<void()> on_doorbell);

 private:
  void Connected(const Napi::CallbackInfo& info);
  Napi::Value Best(const Napi::CallbackInfo& info);
  Napi::Value BestBacklog(const Napi::CallbackInfo& info);
  Napi::Value RetryMs(const Napi::CallbackInfo& info);
  Napi::Value OldestMs(const Napi::CallbackInfo& info);
  Napi::Value WaitingAt(const Napi::CallbackInfo& info);
  void WakeAll(const Napi::CallbackInfo& info);
  void RaiseDemand(const Napi::CallbackInfo& info);
  Napi::Value SetCost(const Napi::CallbackInfo& info);
  void SetBatchBytes(const Napi::CallbackInfo& info);
  Napi::Value Take(const Napi::CallbackInfo& info);
  Napi::Value Look(const Napi::CallbackInfo& info);
  Napi::Value Release(const Napi::CallbackInfo& info);
  Napi::Value IsTaken(const Napi::CallbackInfo& info);
  Napi::Value Copies(const Napi::CallbackInfo& info);
  void Close(const Napi::CallbackInfo& info);

  static void OnEnvironmentEnd(void* self);
  void CloseNow();

  std::shared_ptr<EngineHandle> handle_;  // keeps the objects alive that the lanes point to
  std::shared_ptr<Lanes> lanes_;          // null when closed
  Outlet* outlet_ = nullptr;              // of lanes_, if that is not null
  JsDoorbell bell_;
  LanesUser* user_ = nullptr;
  bool has_hook_ = false;
};

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_SOURCE_WRAP_H_
