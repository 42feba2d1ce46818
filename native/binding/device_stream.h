// Device connections whose TLS or WebSocket terminates in JavaScript.
#ifndef SEGANET_BINDING_DEVICE_STREAM_H_
#define SEGANET_BINDING_DEVICE_STREAM_H_

#include <napi.h>

namespace seganet::binding {

// openDeviceStream(token, stage, peer): returns the descriptor of a socket whose other end the
// engine serves as a device's connection. Throws a TypeError for invalid arguments, or an Error
// with `code` (EMFILE, ENOTCONN: the engine is closed, or the stage does not listen).
Napi::Value OpenDeviceStream(const Napi::CallbackInfo& info);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_DEVICE_STREAM_H_
