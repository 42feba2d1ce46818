// Lets JavaScript check conditions and paths (core/record/condition.h) before a plan has them.
#ifndef SEGANET_BINDING_CONDITIONS_H_
#define SEGANET_BINDING_CONDITIONS_H_

#include <napi.h>

namespace seganet::binding {

// checkConditions(texts): returns null, or {index, reason} of the first text that is not valid.
Napi::Value CheckConditions(const Napi::CallbackInfo& info);
// checkPath(text): returns why the text is not valid, '' if it is.
Napi::Value CheckPath(const Napi::CallbackInfo& info);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_CONDITIONS_H_
