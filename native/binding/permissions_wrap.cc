#include "binding/permissions_wrap.h"

#include <utility>

#include "binding/node/args.h"
#include "binding/plan_reader.h"

namespace seganet::binding {

Napi::Function PermissionsWrap::Define(Napi::Env env) {
  return DefineClass(env, "Permissions",
                     {InstanceMethod<&PermissionsWrap::MayPublish>("mayPublish")});
}

PermissionsWrap::PermissionsWrap(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<PermissionsWrap>(info) {
  std::vector<Permission> rows;
  if (!ReadPermissionRows(info.Env(), info[0], &rows)) return;
  const Status status = ValidatePermissions(rows);
  if (status.ok()) {
    rows_ = std::move(rows);
  } else {
    Throw(info.Env(), status);
  }
}

Napi::Value PermissionsWrap::MayPublish(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  std::string device;
  std::string topic;
  if (!ReadString(env, info[0], "device", &device) || !ReadString(env, info[1], "topic", &topic)) {
    return env.Undefined();
  }
  if (rows_.empty()) return Napi::Boolean::New(env, true);
  if (!permissions_ || device != device_) {
    permissions_ = DevicePermissions::Of(rows_, device);
    device_ = std::move(device);
  }
  return Napi::Boolean::New(env, permissions_->MayPublish(topic));
}

}  // namespace seganet::binding
