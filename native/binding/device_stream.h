// Connections of devices whose TLS or WebSocket ends in JavaScript.
#ifndef SEGANET_BINDING_DEVICE_STREAM_H_
#define SEGANET_BINDING_DEVICE_STREAM_H_

#include <napi.h>

namespace seganet::binding {

// openDeviceStream(token, stage, peer)
Napi::Value OpenDeviceStream(const Napi::CallbackInfo& info);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_DEVICE_STREAM_H_
