#include "binding/listener/proxy_options.h"

#include <string>

#include "binding/node/args.h"
#include "core/protocol/proxy_header.h"

namespace seganet::binding {

bool ReadProxies(Napi::Env env, Napi::Object object, Proxies* proxies) {
  const Napi::Value list = object.Get("proxies");
  if (list.IsEmpty()) return false;
  if (list.IsUndefined()) return true;
  if (!list.IsArray()) return Fail(env, "proxies must be an array of addresses");
  const auto networks = list.As<Napi::Array>();
  for (uint32_t i = 0; i < networks.Length(); ++i) {
    std::string network;
    if (!ReadString(env, networks.Get(i), "proxies", &network)) return false;
    const Status status = proxies->Add(network);
    if (!status.ok()) return Fail(env, "proxies: " + status.message());
  }
  return true;
}

Napi::Value ParseProxyHeaderOf(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Uint8Array bytes;
  if (!ReadBytes(env, info[0], "bytes", &bytes)) return env.Undefined();
  const ProxyHeader header = ParseProxyHeader({bytes.Data(), bytes.ByteLength()});
  const char* const status = header.status == ProxyHeader::Status::kWhole ? "whole"
                             : header.status == ProxyHeader::Status::kBad ? "bad"
                                                                          : "more";
  Napi::Object result = Napi::Object::New(env);
  result.Set("status", status);
  result.Set("bytes", Napi::Number::New(env, static_cast<double>(header.bytes)));
  result.Set("address", header.address);
  return result;
}

}  // namespace seganet::binding
