// clockSynchronized(): whether something keeps this machine's clock right.
#ifndef SEGANET_BINDING_CLOCK_H_
#define SEGANET_BINDING_CLOCK_H_

#include <napi.h>

namespace seganet::binding {

// Returns true or false, or null if the kernel does not say.
Napi::Value ClockSynchronized(const Napi::CallbackInfo& info);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_CLOCK_H_
