// The part of a protocol that the acceptor needs to learn the device id of a connection.
#ifndef SEGANET_CORE_RECEPTION_HANDSHAKE_H_
#define SEGANET_CORE_RECEPTION_HANDSHAKE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/plan/plan.h"
#include "core/protocol/close_reason.h"

namespace seganet {

// What the first bytes of a connection contain.
struct Introduction {
  enum class Status : uint8_t { kNeedMore, kDevice, kRefused };
  Status status = Status::kNeedMore;
  // kDevice: the device id. If it is empty, the session will refuse the connection, unless a login
  // provides the id.
  std::string device;
  bool made_up = false;  // the device sent no id, and `device` was generated
  uint8_t level = 0;     // protocol level
  std::optional<std::string> user;
  std::optional<std::string> password;
  // Messages within this many first bytes have been answered.
  size_t answered = 0;
  // Bytes to send to the device; kRefused: before the connection is closed. May be empty.
  std::string answer;
  CloseReason reason = CloseReason::kNone;  // kRefused: why
};

// Thread safety: immutable.
class Handshake {
 public:
  virtual ~Handshake() = default;
  // Returns the bytes to send when a device connects.
  virtual std::string InitialBytes() const = 0;
  // Parses everything that was read of a connection. `answered` is that of the previous
  // Introduction of this connection, at first 0. Any status but kNeedMore is final. REQUIRES:
  // `bytes` begins with the connection's first byte, and answered <= bytes.size().
  virtual Introduction Listen(std::string_view bytes, size_t answered) const = 0;
  // True if a device whose id is proven need not send it.
  virtual bool TrustsProof() const = 0;
  // Returns the bytes that refuse a login, in the encoding of protocol level `level`.
  virtual std::string LoginRefusal(uint8_t level) const = 0;
};

// Returns the handshake of a source's protocol, or null for sources whose devices do not connect.
// max_packet_bytes and odd_topics are the engine's. `has_desk`: the requests go to the request
// desk, which CoAP alone has. `asks_login`: a login provides the device ids, with their parts.
std::unique_ptr<Handshake> MakeHandshake(const SourceSettings& settings, size_t max_packet_bytes,
                                         bool odd_topics, bool has_desk, bool asks_login);

}  // namespace seganet

#endif  // SEGANET_CORE_RECEPTION_HANDSHAKE_H_
