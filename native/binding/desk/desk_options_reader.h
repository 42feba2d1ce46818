// Reads the options of a listener with a request desk (DeskOptions in native/index.d.ts).
#ifndef SEGANET_BINDING_DESK_DESK_OPTIONS_READER_H_
#define SEGANET_BINDING_DESK_DESK_OPTIONS_READER_H_

#include <napi.h>

#include <cstdint>

#include "core/reception/acceptor.h"

namespace seganet::binding {

// Sets spec->desk. Returns false after it has thrown.
bool ReadDeskOptions(Napi::Env env, Napi::Value value, uint32_t max_half_open, ListenSpec* spec);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_DESK_DESK_OPTIONS_READER_H_
