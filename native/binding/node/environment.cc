#include "binding/node/environment.h"

namespace seganet::binding {

void CallFromLoop(Napi::Env env, Napi::Function function, std::initializer_list<napi_value> args) {
  if (napi_make_callback(env, nullptr, env.Global(), function, args.size(), args.begin(),
                         nullptr) == napi_ok) {
    return;
  }
  napi_value exception = nullptr;
  if (napi_get_and_clear_last_exception(env, &exception) == napi_ok) {
    napi_fatal_exception(env, exception);
  }
}

}  // namespace seganet::binding
