// JavaScript's UplinkSource (native/index.d.ts): a session's end of an engine's lanes.
#ifndef SEGANET_BINDING_SOURCE_WRAP_H_
#define SEGANET_BINDING_SOURCE_WRAP_H_

#include <napi.h>

#include <functional>
#include <memory>

#include "binding/engine_registry.h"

namespace seganet::binding {

class SourceWrap : public Napi::ObjectWrap<SourceWrap> {
 public:
  static Napi::Function Define(Napi::Env env);

  // Null: it is no open or closed UplinkSource.
  static SourceWrap* From(Napi::Value value);

  // Who serves the lanes in place of JavaScript.
  struct Rider {
    virtual ~Rider() = default;
    // The source is closed: the lanes are not to be touched any more.
    virtual void OnSourceClosed() = 0;
  };

  explicit SourceWrap(const Napi::CallbackInfo& info);
  ~SourceWrap() override;

  const std::shared_ptr<Lanes>& lanes() const { return lanes_; }  // null when closed
  Outlet* outlet() const { return outlet_; }
  bool is_carried() const { return rider_ != nullptr; }
  void Answer() { bell_.Answer(); }

  // `on_doorbell` hears the doorbell in place of JavaScript; null = JavaScript again. A `rider`
  // that is not null is told of the end.
  void Carry(Rider* rider, std::function<void()> on_doorbell);

 private:
  void Connected(const Napi::CallbackInfo& info);
  Napi::Value Best(const Napi::CallbackInfo& info);
  Napi::Value BestBacklog(const Napi::CallbackInfo& info);
  Napi::Value RetryMs(const Napi::CallbackInfo& info);
  Napi::Value OldestMs(const Napi::CallbackInfo& info);
  void Hungry(const Napi::CallbackInfo& info);
  void SetBatchBytes(const Napi::CallbackInfo& info);
  Napi::Value Take(const Napi::CallbackInfo& info);
  Napi::Value Look(const Napi::CallbackInfo& info);
  Napi::Value Release(const Napi::CallbackInfo& info);
  void Close(const Napi::CallbackInfo& info);

  static void OnEnvironmentEnd(void* self);
  void CloseNow();

  std::shared_ptr<EngineHandle> handle_;  // keeps what the lanes point to
  std::shared_ptr<Lanes> lanes_;          // null when closed
  Outlet* outlet_ = nullptr;              // of the lanes, while they are not null
  JsDoorbell bell_;
  Rider* rider_ = nullptr;
  bool hooked_ = false;
};

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_SOURCE_WRAP_H_
