// The form in which MQTT sessions are on disk (docs/reference/log-format.md, "Sessions").
#ifndef SEGANET_CORE_RUNTIME_SESSION_ROW_H_
#define SEGANET_CORE_RUNTIME_SESSION_ROW_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/protocol/mqtt/kept_session.h"

namespace seganet {

// The longest row, bytes. The protocol's limits keep sessions far below it.
inline constexpr size_t kMaxSessionRow = 1u << 20;

struct SessionRow {
  static constexpr int64_t kConnected = 0;
  static constexpr int64_t kNeverEnds = INT64_MAX;

  std::string device;
  std::string source;
  // When the session ends, ms since 1970; kConnected: the device is connected.
  int64_t end_ms = kConnected;
  std::unique_ptr<mqtt::KeptSession> session;
};

// A row, and when its session ends, ms since 1970.
struct RestoredSession {
  SessionRow row;
  int64_t end_ms;
};

// Returns when the session of a connection that ends at `from_ms` ends, ms since 1970.
int64_t SessionEndMs(const mqtt::KeptSession& session, int64_t from_ms);

// Writes a row. `exact`: with the QoS 2 identifiers and the unanswered packets. They change with
// each record, so they are true only in the last row that a run writes.
std::string WriteSessionRow(std::string_view device, std::string_view source, int64_t end_ms,
                            const mqtt::KeptSession& session, bool exact);

// Reads a row. Returns false for a row that is damaged or that breaks a rule of MQTT; no row makes
// it fail otherwise. Without `exact`, it leaves out the QoS 2 identifiers and the unanswered
// packets.
bool ReadSessionRow(std::string_view bytes, bool exact, SessionRow* row);

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_SESSION_ROW_H_
