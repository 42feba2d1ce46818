// A doorbell whose other end is a JavaScript function on the thread that made it.
#ifndef SEGANET_BINDING_JS_DOORBELL_H_
#define SEGANET_BINDING_JS_DOORBELL_H_

#include <napi.h>

#include <mutex>

#include "core/base/doorbell.h"

namespace seganet::binding {

// Thread safety: Ring from any thread; Open and Disconnect from the JavaScript thread. It does not
// keep Node alive.
class JsDoorbell : public Doorbell {
 public:
  JsDoorbell() = default;
  ~JsDoorbell() override { Disconnect(); }

  // False: a JavaScript exception is pending.
  bool Open(Napi::Env env, Napi::Function callback);

  // After this, rings go nowhere. Idempotent; called before the environment ends.
  void Disconnect();

 private:
  void Call() override;

  std::mutex mutex_;
  napi_threadsafe_function function_ = nullptr;  // null = nobody listens; guarded by mutex_
};

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_JS_DOORBELL_H_
