#include "binding/conditions.h"

#include <string>

#include "binding/node/args.h"
#include "core/record/condition.h"

namespace seganet::binding {

Napi::Value CheckConditions(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsArray()) {
    Napi::TypeError::New(env, "conditions must be an array").ThrowAsJavaScriptException();
    return env.Undefined();
  }
  const auto texts = info[0].As<Napi::Array>();
  JsonPaths paths;
  for (uint32_t i = 0; i < texts.Length(); ++i) {
    const Napi::Value value = texts.Get(i);
    std::string text;
    if (value.IsEmpty() || !ReadString(env, value, "condition", &text)) return env.Undefined();
    Condition condition;
    const Status status = Condition::Parse(text, &paths, &condition);
    if (status.ok()) continue;
    Napi::Object problem = Napi::Object::New(env);
    problem.Set("index", Napi::Number::New(env, i));
    problem.Set("reason", Napi::String::New(env, status.message()));
    return problem;
  }
  return env.Null();
}

Napi::Value CheckPath(const Napi::CallbackInfo& info) {
  std::string text;
  if (!ReadString(info.Env(), info[0], "path", &text)) return info.Env().Undefined();
  Path path;
  return Napi::String::New(info.Env(), ParsePath(text, &path).message());
}

}  // namespace seganet::binding
