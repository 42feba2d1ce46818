// Finds the device and login of a new MQTT connection. Clauses are those of MQTT 3.1.1.
#ifndef SEGANET_CORE_PROTOCOL_MQTT_CONNECT_PEEK_H_
#define SEGANET_CORE_PROTOCOL_MQTT_CONNECT_PEEK_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/protocol/close_reason.h"
#include "core/protocol/mqtt/encode.h"  // LoginRefusal() answers a valid CONNECT

namespace seganet::mqtt {

// The result for the first bytes of a connection. With kOk the acceptor passes the socket and these
// bytes to the worker that owns the device, whose ServerSession parses them again.
struct ConnectPeek {
  enum class Status : uint8_t {
    kNeedMore,            // read on, and call again with all bytes since the first
    kOk,                  // a whole, valid CONNECT; bytes after it are ignored
    kUnsupportedVersion,  // send RefusalFor() and close
    kNotConnect,          // close
    kMalformed,           // send RefusalFor() and close; see `reason`
  };
  Status status = Status::kNeedMore;
  CloseReason reason = CloseReason::kNone;  // why, for the last three
  std::string_view client_id;  // kOk: points into `bytes`. Empty: the server assigns one, or the
                               // ServerSession refuses the CONNECT if that is not allowed.
  std::optional<std::string_view> user_name;         // kOk: into `bytes`
  std::optional<std::span<const uint8_t>> password;  // kOk: into `bytes`
  bool clean_session = false;                        // kOk
  uint8_t protocol_level = 0;  // kOk, kUnsupportedVersion; kMalformed: 0 if unknown
  uint8_t reason_code = 0;     // the reason code for an MQTT 5 device
};

// Examines the first bytes of a connection. Returns a result other than kNeedMore as early as it is
// certain; it does not change with further bytes. A CONNECT of over max_bytes in total is
// kMalformed with the reason kTooLarge as soon as its header is complete, so the caller never needs
// to keep more than max_bytes.
// REQUIRES: bytes begins with the connection's first byte.
ConnectPeek PeekConnect(std::span<const uint8_t> bytes, size_t max_bytes);

// Returns the packet to send before closing; empty when none may be sent [MQTT-3.1.4-1].
std::string RefusalFor(const ConnectPeek& peek);

}  // namespace seganet::mqtt

#endif  // SEGANET_CORE_PROTOCOL_MQTT_CONNECT_PEEK_H_
