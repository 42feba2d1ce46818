// shortenTimeSlices(): the threads of this process do not wait for the time slices of others.
#ifndef SEGANET_BINDING_NODE_TIME_SLICE_H_
#define SEGANET_BINDING_NODE_TIME_SLICE_H_

#include <napi.h>

namespace seganet::binding {

// Returns the length of the slices in milliseconds; 0 if the system does not tell it.
Napi::Value ShortenProcessSlices(const Napi::CallbackInfo& info);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_NODE_TIME_SLICE_H_
