#include "binding/listener/dtls_options.h"

#include <string>
#include <utility>

#include "binding/node/args.h"

namespace seganet::binding {
namespace {

constexpr uint32_t kMaxKeys = 100'000;

bool ReadKeys(Napi::Env env, Napi::Object from, DtlsOptions* options) {
  const Napi::Value identities = from.Get("identities");
  const Napi::Value keys = from.Get("keys");
  if (identities.IsEmpty() || keys.IsEmpty()) return false;
  if (identities.IsUndefined() && keys.IsUndefined()) return true;
  if (!identities.IsArray() || !keys.IsArray() ||
      identities.As<Napi::Array>().Length() != keys.As<Napi::Array>().Length() ||
      keys.As<Napi::Array>().Length() > kMaxKeys) {
    return Fail(env, "identities and keys must be arrays of the same length, at most 100000");
  }
  options->key_login = true;
  const uint32_t count = keys.As<Napi::Array>().Length();
  options->keys.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    const Napi::HandleScope scope(env);
    std::string identity;
    Napi::Uint8Array key;
    if (!ReadString(env, identities.As<Napi::Array>().Get(i), "identity", &identity) ||
        !ReadBytes(env, keys.As<Napi::Array>().Get(i), "key", &key)) {
      return false;
    }
    options->keys.emplace_back(
        std::move(identity),
        std::string(reinterpret_cast<const char*>(key.Data()), key.ByteLength()));
  }
  return true;
}

}  // namespace

bool ReadDtls(Napi::Env env, Napi::Value value, std::shared_ptr<const DtlsContext>* context) {
  if (value.IsEmpty()) return false;
  if (!value.IsObject()) return Fail(env, "dtls must be an object");
  const auto from = value.As<Napi::Object>();
  DtlsOptions options;
  size_t certificate = 0;
  size_t id_from = 0;
  size_t part_from = 0;
  if (!ReadText(env, from, "cert", &options.cert) || !ReadText(env, from, "key", &options.key) ||
      !ReadText(env, from, "passphrase", &options.passphrase) ||
      !ReadText(env, from, "ca", &options.ca) || !ReadKeys(env, from, &options) ||
      !ReadChoice(env, from, "deviceCertificate", {"no", "wanted", "required"}, &certificate) ||
      !ReadChoice(env, from, "idFrom", {"cn", "san"}, &id_from) ||
      !ReadChoice(env, from, "partFrom", {"none", "fixed", "identity", "organization"},
                  &part_from) ||
      !ReadText(env, from, "part", &options.part)) {
    return false;
  }
  options.device_certificate = static_cast<DeviceCertificate>(certificate);
  options.id_from_san = id_from == 1;
  options.part_from = static_cast<PartFrom>(part_from);
  TlsFailure why;
  if (DtlsContext::Make(options, context, &why)) return true;
  Napi::Error error = Napi::Error::New(env, why.message);
  error.Set("code", Napi::String::New(env, why.code));
  error.ThrowAsJavaScriptException();
  return false;
}

}  // namespace seganet::binding
