// Reads the prefix of a path, which several options of a desk have.
#ifndef SEGANET_BINDING_DESK_PATH_PREFIX_H_
#define SEGANET_BINDING_DESK_PATH_PREFIX_H_

#include <napi.h>

#include <cstddef>
#include <string>
#include <vector>

namespace seganet::binding {

inline constexpr size_t kMaxPrefixBytes = 256;

// Reads segments separated by '/': 1 to 256 bytes, and no empty segment. Returns false after it has
// thrown a TypeError that begins with `name`.
bool ReadPathPrefix(Napi::Env env, Napi::Value value, const std::string& name,
                    std::vector<std::string>* segments);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_DESK_PATH_PREFIX_H_
