// A doorbell that calls a JavaScript function on the thread that created it.
#ifndef SEGANET_BINDING_NODE_JS_DOORBELL_H_
#define SEGANET_BINDING_NODE_JS_DOORBELL_H_

#include <napi.h>

#include <functional>
#include <memory>
#include <mutex>

#include "core/base/doorbell.h"
#include "core/base/nap.h"

namespace seganet::binding {

// Thread safety: Ring and RingUrgent from any thread; the rest from the JavaScript thread. A
// JsDoorbell does not keep Node alive.
class JsDoorbell : public Doorbell {
 public:
  JsDoorbell() = default;
  ~JsDoorbell() override { Disconnect(); }

  // Rings call `callback` from now on.
  void Open(Napi::Env env, Napi::Function callback);

  // Rings call `native` instead of the JavaScript function, on the same thread; null = the function
  // again. No effect if the doorbell is not open.
  void Divert(std::function<void()> native);

  // RingUrgent ends naps of the thread that are taken with `nap`.
  void SetNap(std::shared_ptr<Nap> nap);

  // Rings have no effect from now on. Idempotent; called before the environment ends.
  void Disconnect();

 private:
  void Call() override;
  void EndNap() override;

  // Outlives every call that may be in flight.
  struct Target {
    std::function<void()> native;
  };

  static void CallBack(Napi::Env env, Napi::Function callback, Target* target, void*);
  using Function = Napi::TypedThreadSafeFunction<Target, void, &JsDoorbell::CallBack>;

  std::mutex mutex_;
  Function function_;
  Target* target_ = nullptr;  // of function_
  bool open_ = false;         // guarded by mutex_
  std::shared_ptr<Nap> nap_;  // guarded by mutex_
};

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_NODE_JS_DOORBELL_H_
