#include "binding/node/args.h"

#include <uv.h>

#include <cmath>

namespace seganet::binding {

bool Fail(Napi::Env env, const std::string& message) {
  if (!env.IsExceptionPending()) Napi::TypeError::New(env, message).ThrowAsJavaScriptException();
  return false;
}

bool ReadNumber(Napi::Env env, Napi::Value value, const char* name, double low, double high,
                double* number) {
  if (value.IsEmpty()) return false;
  if (value.IsNumber()) {
    *number = value.As<Napi::Number>().DoubleValue();
    if (std::trunc(*number) == *number && *number >= low && *number <= high) return true;
  }
  const auto shown = [](double limit) { return std::to_string(static_cast<int64_t>(limit)); };
  Napi::TypeError::New(
      env, std::string(name) + " must be a whole number from " + shown(low) + " to " + shown(high))
      .ThrowAsJavaScriptException();
  return false;
}

bool ReadString(Napi::Env env, Napi::Value value, const char* name, std::string* text) {
  if (value.IsEmpty()) return false;
  if (value.IsString()) {
    *text = value.As<Napi::String>().Utf8Value();
    return true;
  }
  Napi::TypeError::New(env, std::string(name) + " must be a string").ThrowAsJavaScriptException();
  return false;
}

bool ReadBytes(Napi::Env env, Napi::Value value, const char* name, Napi::Uint8Array* bytes) {
  if (value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == napi_uint8_array) {
    *bytes = value.As<Napi::Uint8Array>();
    return true;
  }
  Napi::TypeError::New(env, std::string(name) + " must be a Buffer or Uint8Array")
      .ThrowAsJavaScriptException();
  return false;
}

bool ReadText(Napi::Env env, Napi::Object from, const char* name, std::string* text) {
  const Napi::Value value = from.Get(name);
  if (value.IsEmpty()) return false;
  if (value.IsUndefined() || value.IsNull()) return true;
  if (value.IsString()) {
    *text = value.As<Napi::String>().Utf8Value();
    return true;
  }
  Napi::Uint8Array bytes;
  if (!ReadBytes(env, value, name, &bytes)) return false;
  text->assign(reinterpret_cast<const char*>(bytes.Data()), bytes.ByteLength());
  return true;
}

bool ReadChoice(Napi::Env env, Napi::Object object, const char* name,
                std::initializer_list<const char*> names, size_t* index) {
  const Napi::Value value = object.Get(name);
  if (value.IsEmpty()) return false;
  if (value.IsUndefined()) return true;
  std::string text;
  if (!ReadString(env, value, name, &text)) return false;
  std::string all;
  size_t i = 0;
  for (const char* candidate : names) {
    if (text == candidate) {
      *index = i;
      return true;
    }
    all += (i++ == 0 ? "" : ", ") + std::string(candidate);
  }
  return Fail(env, std::string(name) + " '" + text + "' is not one of " + all);
}

Napi::Error SystemError(Napi::Env env, const std::string& message, int error) {
  Napi::Error thrown = Napi::Error::New(env, message);
  thrown.Set("code", Napi::String::New(env, uv_err_name(-error)));
  return thrown;
}

void Throw(Napi::Env env, const Status& status) {
  switch (status.code()) {
    case Status::Code::kInvalidArgument:
      Napi::TypeError::New(env, status.message()).ThrowAsJavaScriptException();
      return;
    case Status::Code::kClosed: {
      Napi::Error error = Napi::Error::New(env, status.message());
      error.Set("code", Napi::String::New(env, "ERR_SEGANET_CLOSED"));
      error.ThrowAsJavaScriptException();
      return;
    }
    default:
      SystemError(env, status.message(), status.error()).ThrowAsJavaScriptException();
  }
}

}  // namespace seganet::binding
