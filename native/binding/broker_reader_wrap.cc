#include "binding/broker_reader_wrap.h"

#include "binding/node/args.h"

namespace seganet::binding {

Napi::Uint16Array PairsOf(Napi::Env env, const std::vector<std::pair<uint16_t, uint8_t>>& pubacks) {
  Napi::Uint16Array pairs = Napi::Uint16Array::New(env, pubacks.size() * 2);
  if (pairs.IsEmpty()) return pairs;
  for (size_t i = 0; i < pubacks.size(); ++i) {
    pairs[2 * i] = pubacks[i].first;
    pairs[2 * i + 1] = pubacks[i].second;
  }
  return pairs;
}

Napi::Function BrokerReaderWrap::Define(Napi::Env env) {
  return DefineClass(env, "BrokerReader", {InstanceMethod<&BrokerReaderWrap::Read>("read")});
}

BrokerReaderWrap::BrokerReaderWrap(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<BrokerReaderWrap>(info) {
  if (!info[0].IsFunction() || !info[1].IsFunction()) {
    Napi::TypeError::New(info.Env(), "onPubacks and onOther must be functions")
        .ThrowAsJavaScriptException();
    return;
  }
  on_pubacks_ = Napi::Persistent(info[0].As<Napi::Function>());
  on_other_ = Napi::Persistent(info[1].As<Napi::Function>());
}

void BrokerReaderWrap::Read(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Uint8Array bytes;
  if (!ReadBytes(env, info[0], "bytes", &bytes)) return;
  reader_.Read({bytes.Data(), bytes.ByteLength()}, this);
  // A function may call read() again.
  const auto pubacks = std::exchange(pubacks_, {});
  const std::string others = std::exchange(others_, {});
  if (!pubacks.empty()) {
    const Napi::Uint16Array pairs = PairsOf(env, pubacks);
    if (pairs.IsEmpty()) return;
    on_pubacks_.Call({pairs});
    if (env.IsExceptionPending()) return;
  }
  if (!others.empty()) {
    on_other_.Call({Napi::Buffer<char>::Copy(env, others.data(), others.size())});
  }
}

void BrokerReaderWrap::OnPuback(uint16_t id, uint8_t reason_code) {
  pubacks_.emplace_back(id, reason_code);
}

void BrokerReaderWrap::OnOther(std::span<const uint8_t> bytes) {
  others_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace seganet::binding
