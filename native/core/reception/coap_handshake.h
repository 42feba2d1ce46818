// The handshake of CoAP over TCP (RFC 8323).
#ifndef SEGANET_CORE_RECEPTION_COAP_HANDSHAKE_H_
#define SEGANET_CORE_RECEPTION_COAP_HANDSHAKE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "core/protocol/coap/settings.h"
#include "core/reception/handshake.h"

namespace seganet {

// The first request of a connection names its device.
class CoapHandshake : public Handshake {
 public:
  explicit CoapHandshake(coap::Settings settings) : settings_(std::move(settings)) {}

  std::string InitialBytes() const override;
  Introduction Listen(std::string_view bytes, size_t answered) const override;
  // The session refuses requests for any device other than the proven one.
  bool TrustsProof() const override { return true; }
  std::string LoginRefusal(uint8_t level) const override;

 private:
  const coap::Settings settings_;
};

// A connection of a listener with a request desk: its worker gets it with the first bytes, because
// its device becomes known later.
class DeskHandshake : public Handshake {
 public:
  explicit DeskHandshake(coap::Settings settings) : settings_(std::move(settings)) {}

  std::string InitialBytes() const override;
  Introduction Listen(std::string_view bytes, size_t answered) const override;
  bool TrustsProof() const override { return false; }
  std::string LoginRefusal(uint8_t) const override { return {}; }

 private:
  const coap::Settings settings_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_RECEPTION_COAP_HANDSHAKE_H_
