// Reads what a listener forwards (ForwardOptions in native/index.d.ts).
#ifndef SEGANET_BINDING_DESK_FORWARD_OPTIONS_READER_H_
#define SEGANET_BINDING_DESK_FORWARD_OPTIONS_READER_H_

#include <napi.h>

#include <memory>

#include "core/reception/forward_options.h"

namespace seganet::binding {

// Sets *forward; undefined = null. Returns false after it has thrown.
bool ReadForwardOptions(Napi::Env env, Napi::Value value,
                        std::shared_ptr<const ForwardOptions>* forward);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_DESK_FORWARD_OPTIONS_READER_H_
