#include "binding/socket_options.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <climits>
#include <string>

#include "binding/args.h"

namespace seganet::binding {
namespace {

constexpr int kUnset = -1;
constexpr int kUnknown = -1;

#ifdef TCP_USER_TIMEOUT
constexpr int kUserTimeout = TCP_USER_TIMEOUT;
#else
constexpr int kUserTimeout = kUnknown;
#endif
#ifdef TCP_KEEPIDLE
constexpr int kKeepIdle = TCP_KEEPIDLE;
#else
constexpr int kKeepIdle = TCP_KEEPALIVE;  // the name on macOS
#endif

struct Option {
  const char* name;
  int number;
  int low;
  int high;
  int value = kUnset;
};

// Highest values: what Linux takes for the keep-alive (include/net/tcp.h, MAX_TCP_KEEP*).
struct Options {
  Option list[4] = {{"userTimeoutMs", kUserTimeout, 0, INT_MAX},
                    {"keepIdleS", kKeepIdle, 1, 32767},
                    {"keepIntervalS", TCP_KEEPINTVL, 1, 32767},
                    {"keepCount", TCP_KEEPCNT, 1, 127}};
};

// 0, or an errno.
int SetInt(int fd, int level, int number, int value) {
  if (number == kUnknown) return ENOPROTOOPT;
  return setsockopt(fd, level, number, &value, sizeof(value)) == 0 ? 0 : errno;
}

// An MPTCP socket answers EOPNOTSUPP or ENOPROTOOPT for what it cannot do.
bool IsUnknown(int error) { return error == ENOPROTOOPT || error == EOPNOTSUPP; }

}  // namespace

Napi::Value SetSocketOptions(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  int fd = -1;
  if (!ReadInt(env, info[0], "fd", 0, INT_MAX, &fd)) return env.Undefined();
  if (!info[1].IsObject()) {
    Napi::TypeError::New(env, "options must be an object").ThrowAsJavaScriptException();
    return env.Undefined();
  }
  // All are read before one is set.
  Options options;
  const Napi::Object given = info[1].As<Napi::Object>();
  bool keep_alive = false;
  for (Option& option : options.list) {
    if (!ReadOption(env, given, option.name, option.low, option.high, &option.value)) {
      return env.Undefined();
    }
    if (option.number != kUserTimeout && option.value != kUnset) keep_alive = true;
  }

  Napi::Array unknown = Napi::Array::New(env);
  // Probes are sent only by a socket that was told to.
  int error = keep_alive ? SetInt(fd, SOL_SOCKET, SO_KEEPALIVE, 1) : 0;
  if (error == 0 || IsUnknown(error)) {
    for (const Option& option : options.list) {
      if (option.value == kUnset) continue;
      error = SetInt(fd, IPPROTO_TCP, option.number, option.value);
      if (error == 0) continue;
      if (!IsUnknown(error)) break;
      unknown.Set(unknown.Length(), Napi::String::New(env, option.name));
      error = 0;
    }
  }
  if (error != 0) {
    Throw(env, Status::System("socket options of descriptor " + std::to_string(fd), error));
    return env.Undefined();
  }
  return unknown;
}

}  // namespace seganet::binding
