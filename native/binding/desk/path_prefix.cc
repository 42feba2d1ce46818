#include "binding/desk/path_prefix.h"

#include <algorithm>

#include "binding/node/args.h"

namespace seganet::binding {

bool ReadPathPrefix(Napi::Env env, Napi::Value value, const std::string& name,
                    std::vector<std::string>* segments) {
  std::string prefix;
  if (value.IsEmpty() || !ReadString(env, value, name.c_str(), &prefix)) return false;
  if (prefix.empty() || prefix.size() > kMaxPrefixBytes) {
    return Fail(env, name + " must be a path of 1 to 256 bytes, such as a/b");
  }
  for (size_t at = 0; at <= prefix.size();) {
    const size_t end = std::min(prefix.find('/', at), prefix.size());
    if (end == at) return Fail(env, name + " must not have empty segments");
    segments->push_back(prefix.substr(at, end - at));
    at = end + 1;
  }
  return true;
}

}  // namespace seganet::binding
