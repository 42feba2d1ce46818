// Reads the certificates and keys of a DTLS listener from JavaScript.
#ifndef SEGANET_BINDING_LISTENER_DTLS_OPTIONS_H_
#define SEGANET_BINDING_LISTENER_DTLS_OPTIONS_H_

#include <napi.h>

#include <memory>

#include "core/dtls/dtls_context.h"

namespace seganet::binding {

// Reads DtlsOptions (index.d.ts). On false it has thrown a TypeError, or an Error with OpenSSL's
// code.
bool ReadDtls(Napi::Env env, Napi::Value value, std::shared_ptr<const DtlsContext>* context);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_LISTENER_DTLS_OPTIONS_H_
