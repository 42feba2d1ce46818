#include "binding/node/js_doorbell.h"

#include <utility>

namespace seganet::binding {

void JsDoorbell::Open(Napi::Env env, Napi::Function callback) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // Queue unlimited: Doorbell rings once until it is answered, so at most a few calls wait.
  ear_ = new Ear;
  function_ = Function::New(env, callback, "seganet doorbell", 0, 1, ear_,
                            [](Napi::Env, void*, Ear* ear) { delete ear; });
  function_.Unref(env);
  open_ = true;
}

void JsDoorbell::Divert(std::function<void()> native) {
  if (open_) ear_->native = std::move(native);
}

void JsDoorbell::Disconnect() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!open_) return;
  open_ = false;
  ear_->native = nullptr;
  function_.Release();
}

// node-addon-api's own call aborts the process when a worker_threads Worker is terminated inside of
// the callback, and Node turns an exception of it into a warning.
void JsDoorbell::CallBack(Napi::Env env, Napi::Function callback, Ear* ear, void*) {
  if (env == nullptr || callback.IsEmpty()) return;  // the environment ends
  if (ear->native) return ear->native();
  napi_value error = nullptr;
  if (napi_call_function(env, env.Undefined(), callback, 0, nullptr, nullptr) == napi_ok) return;
  if (napi_get_and_clear_last_exception(env, &error) == napi_ok) napi_fatal_exception(env, error);
}

void JsDoorbell::Call() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (open_) function_.NonBlockingCall();
}

}  // namespace seganet::binding
