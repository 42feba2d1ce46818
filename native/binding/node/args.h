// Readers of arguments from JavaScript. A reader returns false after it has thrown a TypeError that
// names the invalid argument and its limits; the caller must then return at once.
//
// A property whose getter throws is an empty Value: the reader returns false and leaves the
// getter's exception pending.
#ifndef SEGANET_BINDING_NODE_ARGS_H_
#define SEGANET_BINDING_NODE_ARGS_H_

#include <napi.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "core/base/status.h"

namespace seganet::binding {

// Number.MAX_SAFE_INTEGER: the largest whole number whose neighbors a double can tell apart.
inline constexpr double kMaxSafeInteger = 9007199254740991.0;

// Throws a TypeError and returns false. If an exception is pending already, such as that of a
// getter, that one stays.
bool Fail(Napi::Env env, const std::string& message);

// Reads a whole number in [low, high].
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

// Reads a property that may be absent; then `*number` keeps its value.
template <typename T>
bool ReadOption(Napi::Env env, Napi::Object options, const char* name, T low, T high, T* number) {
  const Napi::Value value = options.Get(name);
  if (value.IsEmpty()) return false;  // IsUndefined() would return true
  return value.IsUndefined() || ReadInt(env, value, name, low, high, number);
}

bool ReadString(Napi::Env env, Napi::Value value, const char* name, std::string* text);

// Reads a Buffer or Uint8Array.
bool ReadBytes(Napi::Env env, Napi::Value value, const char* name, Napi::Uint8Array* bytes);

// Reads a property with a string or bytes; absent or null = empty.
bool ReadText(Napi::Env env, Napi::Object from, const char* name, std::string* text);

// Reads a property with one of `names`; absent = `*index` keeps its value.
bool ReadChoice(Napi::Env env, Napi::Object object, const char* name,
                std::initializer_list<const char*> names, size_t* index);

// Returns an Error whose `code` is the name of errno value `error`.
Napi::Error SystemError(Napi::Env env, const std::string& message, int error);

// Throws a failed Status: TypeError for invalid arguments, Error with `code` for a closed engine
// (ERR_SEGANET_CLOSED) and for system errors (such as EADDRINUSE).
void Throw(Napi::Env env, const Status& status);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_NODE_ARGS_H_
