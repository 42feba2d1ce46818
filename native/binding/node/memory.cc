#include "binding/node/memory.h"

#include <malloc.h>

#include "core/base/program_pages.h"

namespace seganet::binding {

Napi::Value ReleaseMemory(const Napi::CallbackInfo& info) {
#ifdef __GLIBC__
  // [malloc_trim(3)] From glibc 2.8 on it returns all free whole pages of all arenas, not only
  // those at the top. free() itself returns only the top of the first arena.
  return Napi::Boolean::New(info.Env(), malloc_trim(0) == 1);
#else
  return Napi::Boolean::New(info.Env(), false);  // musl returns pages in free()
#endif
}

Napi::Value ReleaseProgramPages(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), seganet::ReleaseProgramPages());
}

}  // namespace seganet::binding
