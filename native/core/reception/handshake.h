// What the reception says and understands of a protocol: as much as it takes to learn which device
// a connection is.
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

// What the first bytes of a connection tell.
struct Introduction {
  enum class Status : uint8_t { kNeedMore, kDevice, kRefused };
  Status status = Status::kNeedMore;
  // kDevice. Empty: the session will refuse it, unless a login names the device.
  std::string device;
  bool made_up = false;  // the device gave no id
  uint8_t level = 0;     // of the protocol
  std::optional<std::string> user;
  std::optional<std::string> password;
  // Messages within so many of the first bytes have their answer.
  size_t answered = 0;
  // To be sent; kRefused: before the connection is closed. May be empty.
  std::string answer;
  // kRefused
  CloseReason reason = CloseReason::kNone;
};

// Thread safety: immutable.
class Greeter {
 public:
  virtual ~Greeter() = default;
  // Sent as soon as somebody connects.
  virtual std::string Greeting() const = 0;
  // REQUIRES: bytes begins with the connection's first byte; `answered` is of the Introduction
  // before, first 0. Final but for kNeedMore.
  virtual Introduction Listen(std::string_view bytes, size_t answered) const = 0;
  // Somebody who has proved which device it is need not say it.
  virtual bool TrustsProof() const = 0;
  virtual std::string LoginRefusal(uint8_t level) const = 0;
};

// max_packet_bytes, odd_topics: of the engine. Null for sources whose devices do not connect.
std::unique_ptr<Greeter> MakeGreeter(const SourceSettings& settings, size_t max_packet_bytes,
                                     bool odd_topics);

}  // namespace seganet

#endif  // SEGANET_CORE_RECEPTION_HANDSHAKE_H_
