// The reception's part of CoAP over TCP (RFC 8323).
#ifndef SEGANET_CORE_RECEPTION_COAP_HANDSHAKE_H_
#define SEGANET_CORE_RECEPTION_COAP_HANDSHAKE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "core/protocol/coap/settings.h"
#include "core/reception/handshake.h"

namespace seganet {

// A connection is the device that its first request names.
class CoapGreeter : public Greeter {
 public:
  explicit CoapGreeter(coap::Settings settings) : settings_(std::move(settings)) {}

  std::string Greeting() const override;
  Introduction Listen(std::string_view bytes, size_t answered) const override;
  // Its requests are for the device that it has proved to be, or refused.
  bool TrustsProof() const override { return true; }
  std::string LoginRefusal(uint8_t level) const override;

 private:
  const coap::Settings settings_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_RECEPTION_COAP_HANDSHAKE_H_
