// JavaScript's Permissions (native/index.d.ts): the permissions of devices for sources that push
// their records.
#ifndef SEGANET_BINDING_PERMISSIONS_WRAP_H_
#define SEGANET_BINDING_PERMISSIONS_WRAP_H_

#include <napi.h>

#include <memory>
#include <string>
#include <vector>

#include "core/plan/permissions.h"

namespace seganet::binding {

// Thread safety: used by the thread of its environment.
class PermissionsWrap : public Napi::ObjectWrap<PermissionsWrap> {
 public:
  static Napi::Function Define(Napi::Env env);

  explicit PermissionsWrap(const Napi::CallbackInfo& info);

 private:
  Napi::Value MayPublish(const Napi::CallbackInfo& info);

  std::vector<Permission> rows_;
  // The latest device and its permissions: most requests have the records of one device.
  std::string device_;
  std::unique_ptr<const DevicePermissions> permissions_;
};

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_PERMISSIONS_WRAP_H_
