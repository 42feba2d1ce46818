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
