#include "binding/clock.h"

#include <sys/timex.h>

namespace seganet::binding {

Napi::Value ClockSynchronized(const Napi::CallbackInfo& info) {
  timex state{};  // modes = 0: reads only, which needs no permission
  if (adjtimex(&state) < 0) return info.Env().Null();
  // Set until a service such as chrony corrects the clock, and again 16 s of estimated error later.
  return Napi::Boolean::New(info.Env(), (state.status & STA_UNSYNC) == 0);
}

}  // namespace seganet::binding
