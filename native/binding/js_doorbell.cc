#include "binding/js_doorbell.h"

#include <utility>

namespace seganet::binding {
namespace {

// Runs on the JavaScript thread. The status is of no use here: an exception of the callback is left
// pending, for Node to report as uncaught; and a thread that is being terminated runs no more
// JavaScript. (Napi::ThreadSafeFunction would throw in that second case, which is fatal.)
void CallJavaScript(napi_env env, napi_value callback, void*, void*) {
  if (env == nullptr || callback == nullptr) return;
  napi_value undefined = nullptr;
  if (napi_get_undefined(env, &undefined) != napi_ok) return;
  napi_call_function(env, undefined, callback, 0, nullptr, nullptr);
}

}  // namespace

bool JsDoorbell::Open(Napi::Env env, Napi::Function callback) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // Queue unlimited: Doorbell rings once until it is answered, so at most a few calls wait.
  const napi_status status = napi_create_threadsafe_function(
      env, callback, nullptr, Napi::String::New(env, "seganet doorbell"), 0, 1, nullptr, nullptr,
      nullptr, CallJavaScript, &function_);
  if (status != napi_ok) {
    function_ = nullptr;
    Napi::Error::New(env).ThrowAsJavaScriptException();
    return false;
  }
  napi_unref_threadsafe_function(env, function_);
  return true;
}

void JsDoorbell::Disconnect() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (function_ == nullptr) return;
  napi_release_threadsafe_function(std::exchange(function_, nullptr), napi_tsfn_abort);
}

void JsDoorbell::Call() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (function_ != nullptr) {
    napi_call_threadsafe_function(function_, nullptr, napi_tsfn_nonblocking);
  }
}

}  // namespace seganet::binding
