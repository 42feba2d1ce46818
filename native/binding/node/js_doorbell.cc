#include "binding/node/js_doorbell.h"

#include <utility>

namespace seganet::binding {

void JsDoorbell::Open(Napi::Env env, Napi::Function callback) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // The queue is unlimited: Doorbell rings once until it is answered, so at most a few calls wait.
  target_ = new Target;
  function_ = Function::New(env, callback, "seganet doorbell", 0, 1, target_,
                            [](Napi::Env, void*, Target* target) { delete target; });
  function_.Unref(env);
  open_ = true;
}

void JsDoorbell::Divert(std::function<void()> native) {
  if (open_) target_->native = std::move(native);
}

void JsDoorbell::Disconnect() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!open_) return;
  open_ = false;
  target_->native = nullptr;
  function_.Release();
}

// Not node-addon-api's call: that aborts the process if a worker_threads Worker is terminated
// inside of the callback, and Node turns the callback's exception into a warning.
void JsDoorbell::CallBack(Napi::Env env, Napi::Function callback, Target* target, void*) {
  if (env == nullptr || callback.IsEmpty()) return;  // the environment is ending
  if (target->native) return target->native();
  napi_value error = nullptr;
  if (napi_call_function(env, env.Undefined(), callback, 0, nullptr, nullptr) == napi_ok) return;
  if (napi_get_and_clear_last_exception(env, &error) == napi_ok) napi_fatal_exception(env, error);
}

void JsDoorbell::SetNap(std::shared_ptr<Nap> nap) {
  const std::lock_guard<std::mutex> lock(mutex_);
  nap_ = std::move(nap);
}

void JsDoorbell::EndNap() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (open_ && nap_) nap_->End();
}

void JsDoorbell::Call() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (open_) function_.NonBlockingCall();
}

}  // namespace seganet::binding
