#include "core/runtime/session_row.h"

#include <utility>
#include <vector>

#include "core/base/row_bytes.h"
#include "core/log/crc32c.h"
#include "core/plan/plan.h"
#include "core/protocol/mqtt/topic.h"
#include "core/record/record.h"

namespace seganet {
namespace {

constexpr uint8_t kVersion = 1;
constexpr size_t kMaxFilters = 4096;
constexpr size_t kMaxLevels = 1024;
constexpr size_t kCrcBytes = 4;

void ReadSubscriptions(RowReader* from, mqtt::Subscriptions* to) {
  const size_t count = from->Number<uint16_t>();
  for (size_t i = 0; i < count && from->ok(); ++i) {
    const uint8_t qos = from->Number<uint8_t>();
    const uint32_t number = from->Number<uint32_t>();
    const std::string_view filter = from->Text();
    if (!from->ok()) return;
    if (qos > 1 || mqtt::CheckTopicFilter(filter, kMaxLevels) != CloseReason::kNone ||
        !to->Add(filter, qos, number, kMaxFilters, kMaxSessionRow) || to->size() != i + 1) {
      return from->Fail();
    }
  }
}

void ReadReceived(RowReader* from, mqtt::Incoming* to) {
  const size_t count = from->Number<uint16_t>();
  uint16_t last = 0;
  for (size_t i = 0; i < count && from->ok(); ++i) {
    const auto id = from->Number<uint16_t>();
    if (id <= last) return from->Fail();
    last = id;
    to->Add(id);
    to->Set(id, mqtt::Incoming::State::kReceived);
  }
  to->EndConnection();
}

void ReadEarlier(RowReader* from, mqtt::Outgoing* to) {
  const size_t count = from->Number<uint16_t>();
  std::vector<mqtt::Outgoing::Earlier> earlier;
  for (size_t i = 0; i < count && from->ok(); ++i) {
    const auto id = from->Number<uint16_t>();
    const auto hash = from->Number<uint32_t>();
    if (id == 0) return from->Fail();
    earlier.push_back({id, hash});
  }
  // Half of the identifiers, so that a new packet always finds one.
  if (earlier.size() > 32'767) return from->Fail();
  if (from->ok()) to->RestoreEarlier(std::move(earlier));
}

}  // namespace

int64_t SessionEndMs(const mqtt::KeptSession& session, int64_t from_ms) {
  if (session.expiry_s == UINT32_MAX) return SessionRow::kNeverEnds;
  return from_ms + int64_t{session.expiry_s} * 1000;
}

std::string WriteSessionRow(std::string_view device, std::string_view source, int64_t end_ms,
                            const mqtt::KeptSession& session, bool exact) {
  std::string row;
  AppendNumber(&row, kVersion);
  AppendNumber(&row, session.expiry_s);
  AppendNumber(&row, end_ms);
  AppendText(&row, device);
  AppendText(&row, source);
  AppendNumber(&row, static_cast<uint16_t>(session.subscriptions.size()));
  for (const mqtt::Subscriptions::Subscription& one : session.subscriptions.all()) {
    AppendNumber(&row, one.qos);
    AppendNumber(&row, one.number);
    AppendText(&row, one.filter);
  }
  const std::vector<uint16_t> received =
      exact ? session.incoming.received() : std::vector<uint16_t>();
  AppendNumber(&row, static_cast<uint16_t>(received.size()));
  for (const uint16_t id : received) AppendNumber(&row, id);
  const std::vector<mqtt::Outgoing::Earlier> earlier =
      exact ? session.outgoing.Unfinished() : std::vector<mqtt::Outgoing::Earlier>();
  AppendNumber(&row, static_cast<uint16_t>(earlier.size()));
  for (const mqtt::Outgoing::Earlier& one : earlier) {
    AppendNumber(&row, one.packet_id);
    AppendNumber(&row, one.hash);
  }
  AppendNumber(&row, Crc32c(row));
  return row;
}

bool ReadSessionRow(std::string_view bytes, bool exact, SessionRow* row) {
  if (bytes.size() <= kCrcBytes || bytes.size() > kMaxSessionRow) return false;
  const std::string_view content = bytes.substr(0, bytes.size() - kCrcBytes);
  if (RowReader(bytes.substr(content.size())).Number<uint32_t>() != Crc32c(content)) return false;
  RowReader from(content);
  if (from.Number<uint8_t>() != kVersion) return false;
  auto session = std::make_unique<mqtt::KeptSession>();
  session->expiry_s = from.Number<uint32_t>();
  row->end_ms = from.Number<int64_t>();
  row->device = from.Text();
  row->source = from.Text();
  ReadSubscriptions(&from, &session->subscriptions);
  ReadReceived(&from, &session->incoming);
  ReadEarlier(&from, &session->outgoing);
  if (!from.at_end() || session->expiry_s == 0 || row->end_ms < 0 || row->device.empty() ||
      row->device.size() > kMaxDeviceBytes || row->source.empty() ||
      row->source.size() > kMaxStageName) {
    return false;
  }
  if (!exact) {
    session->incoming = {};
    session->outgoing = {};
  }
  session->saved_end_ms = row->end_ms;
  row->session = std::move(session);
  return true;
}

}  // namespace seganet
