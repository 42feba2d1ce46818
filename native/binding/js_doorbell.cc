#include "binding/js_doorbell.h"

namespace seganet::binding {

void JsDoorbell::Open(Napi::Env env, Napi::Function callback) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // Queue unlimited: Doorbell rings once until it is answered, so at most a few calls wait.
  function_ = Napi::ThreadSafeFunction::New(env, callback, "seganet doorbell", 0, 1);
  function_.Unref(env);
  open_ = true;
}

void JsDoorbell::Disconnect() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!open_) return;
  open_ = false;
  function_.Release();
}

void JsDoorbell::Call() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (open_) function_.NonBlockingCall();
}

}  // namespace seganet::binding
