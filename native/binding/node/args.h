// Reads arguments from JavaScript. A wrong one becomes a TypeError or RangeError that names it and
// its limits; the caller returns at once when a reader says false.
//
// A property whose getter throws reads as an empty Value: the readers say false and leave the
// exception.
#ifndef SEGANET_BINDING_NODE_ARGS_H_
#define SEGANET_BINDING_NODE_ARGS_H_

#include <napi.h>

#include <cstdint>
#include <string>

#include "core/base/status.h"

namespace seganet::binding {

// A whole number in [low, high].
bool ReadNumber(Napi::Env env, Napi::Value value, const char* name, double low, double high,
                double* number);

template <typename T>
bool ReadInt(Napi::Env env, Napi::Value value, const char* name, T low, T high, T* number) {
  double read = 0;
  if (!ReadNumber(env, value, name, static_cast<double>(low), static_cast<double>(high), &read)) {
    return false;
  }
  *number = static_cast<T>(read);
  return true;
}

// The same for a property that may be absent: `*number` then keeps its value.
template <typename T>
bool ReadOption(Napi::Env env, Napi::Object options, const char* name, T low, T high, T* number) {
  const Napi::Value value = options.Get(name);
  if (value.IsEmpty()) return false;  // IsUndefined() would say true
  return value.IsUndefined() || ReadInt(env, value, name, low, high, number);
}

bool ReadString(Napi::Env env, Napi::Value value, const char* name, std::string* text);

bool ReadBytes(Napi::Env env, Napi::Value value, const char* name, Napi::Uint8Array* bytes);

// Error with `code`, the name of this errno.
Napi::Error SystemError(Napi::Env env, const std::string& message, int error);

// Throws what a failed Status says: TypeError for bad arguments, Error with `code` (EADDRINUSE) for
// the system's.
void Throw(Napi::Env env, const Status& status);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_NODE_ARGS_H_
