// JavaScript's BrokerReader (native/index.d.ts): reads PUBACKs from a connection that Node.js
// makes.
#ifndef SEGANET_BINDING_BROKER_READER_WRAP_H_
#define SEGANET_BINDING_BROKER_READER_WRAP_H_

#include <napi.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/uplink/broker_reader.h"

namespace seganet::binding {

// The PUBACKs of one read as JavaScript gets them: [identifier, reason code, …]. Empty if the
// environment is ending.
Napi::Uint16Array PairsOf(Napi::Env env, const std::vector<std::pair<uint16_t, uint8_t>>& pubacks);

// Thread safety: the thread of its environment.
class BrokerReaderWrap : public Napi::ObjectWrap<BrokerReaderWrap>, private BrokerReader::Sink {
 public:
  static Napi::Function Define(Napi::Env env);

  explicit BrokerReaderWrap(const Napi::CallbackInfo& info);

 private:
  void Read(const Napi::CallbackInfo& info);

  void OnPuback(uint16_t id, uint8_t reason_code) override;
  void OnOther(std::span<const uint8_t> bytes) override;

  Napi::FunctionReference on_pubacks_, on_other_;
  BrokerReader reader_;
  std::vector<std::pair<uint16_t, uint8_t>> pubacks_;  // of one read
  std::string others_;                                 // of one read
};

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_BROKER_READER_WRAP_H_
