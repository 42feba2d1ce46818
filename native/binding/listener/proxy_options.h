// The PROXY protocol in JavaScript: a listener's proxies, and the header where a connection ends in
// JavaScript.
#ifndef SEGANET_BINDING_LISTENER_PROXY_OPTIONS_H_
#define SEGANET_BINDING_LISTENER_PROXY_OPTIONS_H_

#include <napi.h>

#include "core/reception/proxies.h"

namespace seganet::binding {

// Reads the property `proxies`, which may be absent. On false it has thrown a TypeError.
bool ReadProxies(Napi::Env env, Napi::Object object, Proxies* proxies);

// parseProxyHeader(bytes): returns a ProxyHeader (index.d.ts).
Napi::Value ParseProxyHeaderOf(const Napi::CallbackInfo& info);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_LISTENER_PROXY_OPTIONS_H_
