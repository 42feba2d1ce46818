#include "binding/node/time_slice.h"

#include "core/base/time_slice.h"

namespace seganet::binding {

Napi::Value ShortenProcessSlices(const Napi::CallbackInfo& info) {
  constexpr double kNsInMs = 1e6;
  return Napi::Number::New(info.Env(), static_cast<double>(ShortenTimeSlices()) / kNsInMs);
}

}  // namespace seganet::binding
