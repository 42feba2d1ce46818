// Reads what a listener makes records of (PostOptions in native/index.d.ts).
#ifndef SEGANET_BINDING_DESK_POST_OPTIONS_READER_H_
#define SEGANET_BINDING_DESK_POST_OPTIONS_READER_H_

#include <napi.h>

#include <memory>

#include "core/reception/post_options.h"

namespace seganet::binding {

// Sets *posts; undefined = null. Returns false after it has thrown.
bool ReadPostOptions(Napi::Env env, Napi::Value value, std::shared_ptr<const PostOptions>* posts);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_DESK_POST_OPTIONS_READER_H_
