// A doorbell whose other end is a JavaScript function on the thread that made it.
#ifndef SEGANET_BINDING_NODE_JS_DOORBELL_H_
#define SEGANET_BINDING_NODE_JS_DOORBELL_H_

#include <napi.h>

#include <functional>
#include <mutex>

#include "core/base/doorbell.h"

namespace seganet::binding {

// Thread safety: Ring from any thread; Open and Disconnect from the JavaScript thread. It does not
// keep Node alive.
class JsDoorbell : public Doorbell {
 public:
  JsDoorbell() = default;
  ~JsDoorbell() override { Disconnect(); }

  void Open(Napi::Env env, Napi::Function callback);

  // Who hears it instead of the JavaScript function, on the same thread; null = the function.
  // REQUIRES: open. From the JavaScript thread.
  void Divert(std::function<void()> native);

  // After this, rings go nowhere. Idempotent; called before the environment ends.
  void Disconnect();

 private:
  void Call() override;

  // Lives as long as a call may be under way.
  struct Ear {
    std::function<void()> native;
  };

  static void CallBack(Napi::Env env, Napi::Function callback, Ear* ear, void*);
  using Function = Napi::TypedThreadSafeFunction<Ear, void, &JsDoorbell::CallBack>;

  std::mutex mutex_;
  Function function_;
  Ear* ear_ = nullptr;  // of function_
  bool open_ = false;   // guarded by mutex_
};

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_NODE_JS_DOORBELL_H_
