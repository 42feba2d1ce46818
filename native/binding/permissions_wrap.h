// JavaScript's Permissions (native/index.d.ts): the rules of mqtt and coap devices for sources that
// push their records.
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
  // Those of the device that was asked for last: a request has the records of one, mostly.
  std::string device_;
  std::unique_ptr<const DevicePermissions> its_;
};

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_PERMISSIONS_WRAP_H_
