#ifndef SEGANET_CORE_PROTOCOL_MQTT_CONNECT_PEEK_H_
#define SEGANET_CORE_PROTOCOL_MQTT_CONNECT_PEEK_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/protocol/close_reason.h"
#include "core/protocol/mqtt/encode.h"  // LoginRefusal: for a CONNECT that is right

namespace seganet::mqtt {

// What an acceptor learns from the first bytes of a connection. It hands the socket and these same
// bytes to the worker that owns the device, whose ServerSession parses them again.
struct ConnectPeek {
  enum class Status : uint8_t {
    kNeedMore,            // read on, and call again with all bytes since the first
    kOk,                  // a whole, valid CONNECT is there; bytes after it do not matter
    kUnsupportedVersion,  // send RefusalFor() and close
    kNotConnect,          // close
    kMalformed,           // send RefusalFor() and close; `reason` says more
  };
  Status status = Status::kNeedMore;
  CloseReason reason = CloseReason::kNone;  // the counter, for the last three
  std::string_view client_id;  // kOk: points into `bytes`. Empty: the server makes one up, and the
                               // ServerSession refuses it where that is not allowed.
  std::optional<std::string_view> user_name;         // kOk: into `bytes`
  std::optional<std::span<const uint8_t>> password;  // kOk: into `bytes`
  bool clean_session = false;                        // kOk
  uint8_t protocol_level = 0;  // kOk, kUnsupportedVersion; kMalformed: 0 when it is not known
  uint8_t reason_code = 0;     // what an MQTT 5 device is told
};

// REQUIRES: bytes begins with the connection's first byte. A CONNECT of over max_bytes in all is
// kMalformed with the reason kTooLarge as soon as its header is there, so never keep more than
// max_bytes. Each answer but kNeedMore is given as early as it is certain and is final.
ConnectPeek PeekConnect(std::span<const uint8_t> bytes, size_t max_bytes);

// The packet to send before the socket is closed; empty when nothing may be sent [MQTT-3.1.4-1].
std::string RefusalFor(const ConnectPeek& peek);

}  // namespace seganet::mqtt

#endif  // SEGANET_CORE_PROTOCOL_MQTT_CONNECT_PEEK_H_
