// releaseMemory() returns free memory of the C heap to the system, releaseProgramPages() pages of
// the program.
#ifndef SEGANET_BINDING_NODE_MEMORY_H_
#define SEGANET_BINDING_NODE_MEMORY_H_

#include <napi.h>

namespace seganet::binding {

// Returns true if pages were returned, false if there were none or the C library cannot do it.
// Threads that allocate memory at the same time wait for their arena, which takes about 1 ms for
// each 10 MB.
Napi::Value ReleaseMemory(const Napi::CallbackInfo& info);

// See core/base/program_pages.h.
Napi::Value ReleaseProgramPages(const Napi::CallbackInfo& info);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_NODE_MEMORY_H_
