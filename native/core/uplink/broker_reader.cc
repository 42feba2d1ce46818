#include "core/uplink/broker_reader.h"

#include <algorithm>
#include <utility>

#include "core/base/require.h"
#include "core/protocol/mqtt/codec.h"

namespace seganet {
namespace {

struct Packet {
  uint64_t bytes = 0;  // of the whole packet; 0 = not known yet
  bool is_puback = false;
};

// Returns the packet that begins with these bytes. If they are not a packet, its length is
// `endless`.
Packet Inspect(std::span<const uint8_t> bytes, uint64_t endless) {
  mqtt::FixedHeader header;
  switch (mqtt::DecodeFixedHeader(bytes, &header)) {
    case mqtt::HeaderStatus::kNeedMore:
      return {};
    case mqtt::HeaderStatus::kMalformed:
      return {endless, false};
    case mqtt::HeaderStatus::kOk:
      break;
  }
  // A PUBACK without an identifier goes to OnOther, where the MQTT client reports it.
  const bool is_puback = header.type == mqtt::PacketType::kPuback && header.remaining >= 2 &&
                         header.total() <= BrokerReader::kMaxPubackBytes;
  return {header.total(), is_puback};
}

// Passes a PUBACK to the sink. [MQTT 3.4.2] It has an identifier and, in MQTT 5 unless it is 0, a
// reason code. REQUIRES: `puback` is a complete packet.
void Deliver(std::span<const uint8_t> puback, BrokerReader::Sink* sink) {
  mqtt::FixedHeader header;
  mqtt::DecodeFixedHeader(puback, &header);
  SEGANET_REQUIRE(header.total() == puback.size() && header.remaining >= 2);
  const std::span<const uint8_t> body = puback.subspan(header.size);
  sink->OnPuback(static_cast<uint16_t>(body[0] << 8 | body[1]), body.size() > 2 ? body[2] : 0);
}

}  // namespace

void BrokerReader::Read(std::span<const uint8_t> bytes, Sink* sink) {
  if (!held_.empty()) bytes = FinishHeld(bytes, sink);
  if (bytes.empty()) return;
  size_t others = 0;  // start of the other bytes that were not passed on yet
  size_t at = 0;
  while (at < bytes.size()) {
    const uint64_t skipped = std::min<uint64_t>(skip_, bytes.size() - at);
    at += static_cast<size_t>(skipped);
    skip_ -= skipped;
    if (at == bytes.size()) break;
    const Packet packet = Inspect(bytes.subspan(at), kUnlimited);
    if (packet.bytes > 0 && !packet.is_puback) {
      skip_ = packet.bytes;
      continue;
    }
    if (packet.bytes == 0 || packet.bytes > bytes.size() - at) break;
    if (others < at) {
      const size_t from = std::exchange(others, at);
      sink->OnOther(bytes.subspan(from, at - from));
      if (skip_ > 0) continue;  // the sink called PassAll()
    }
    Deliver(bytes.subspan(at, static_cast<size_t>(packet.bytes)), sink);
    at += static_cast<size_t>(packet.bytes);
    others = at;
  }
  held_.assign(bytes.begin() + static_cast<ptrdiff_t>(at), bytes.end());
  if (others < at) sink->OnOther(bytes.subspan(others, at - others));
}

// Continues the packet whose beginning is buffered. Returns the rest of `bytes`.
std::span<const uint8_t> BrokerReader::FinishHeld(std::span<const uint8_t> bytes, Sink* sink) {
  if (skip_ > 0) {  // PassAll() was called in the meantime
    HandOverHeld(sink);
    return bytes;
  }
  const auto hold = [this, &bytes](uint64_t count) {
    const auto more = bytes.first(static_cast<size_t>(std::min<uint64_t>(count, bytes.size())));
    held_.insert(held_.end(), more.begin(), more.end());
    bytes = bytes.subspan(more.size());
  };
  Packet packet = Inspect(held_, kUnlimited);
  while (packet.bytes == 0 && !bytes.empty()) {
    hold(1);
    packet = Inspect(held_, kUnlimited);
  }
  if (packet.bytes == 0) return bytes;
  if (!packet.is_puback) {
    skip_ = packet.bytes - held_.size();
    HandOverHeld(sink);
    return bytes;
  }
  hold(packet.bytes - held_.size());
  if (held_.size() < packet.bytes) return bytes;
  Deliver(held_, sink);
  held_.clear();
  return bytes;
}

void BrokerReader::HandOverHeld(Sink* sink) {
  sink->OnOther(held_);
  held_.clear();
}

}  // namespace seganet
