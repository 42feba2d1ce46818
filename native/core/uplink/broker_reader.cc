#include "core/uplink/broker_reader.h"

#include <algorithm>
#include <utility>

#include "core/protocol/mqtt/codec.h"

namespace seganet {
namespace {

struct Packet {
  uint64_t bytes = 0;  // of all of it; 0 = its length is not there yet
  bool is_puback = false;
};

// What begins with these bytes. `endless`: how long it is when they are no packet.
Packet Look(std::span<const uint8_t> bytes, uint64_t endless) {
  mqtt::FixedHeader header;
  switch (mqtt::DecodeFixedHeader(bytes, &header)) {
    case mqtt::HeaderStatus::kNeedMore:
      return {};
    case mqtt::HeaderStatus::kMalformed:
      return {endless, false};
    case mqtt::HeaderStatus::kOk:
      break;
  }
  // One without an identifier is for the other reader to complain about.
  const bool is_puback = header.type == mqtt::PacketType::kPuback && header.remaining >= 2 &&
                         header.total() <= BrokerReader::kMaxPubackBytes;
  return {header.total(), is_puback};
}

// [MQTT 3.4.2] Identifier, and in MQTT 5 a reason code where it is not 0. REQUIRES: a whole one.
void Tell(std::span<const uint8_t> puback, BrokerReader::Sink* sink) {
  mqtt::FixedHeader header;
  mqtt::DecodeFixedHeader(puback, &header);
  const std::span<const uint8_t> body = puback.subspan(header.size);
  sink->OnPuback(static_cast<uint16_t>(body[0] << 8 | body[1]), body.size() > 2 ? body[2] : 0);
}

}  // namespace

void BrokerReader::Read(std::span<const uint8_t> bytes, Sink* sink) {
  if (!held_.empty()) bytes = FinishHeld(bytes, sink);
  if (bytes.empty()) return;
  size_t others = 0;  // where the bytes begin that are not ours and were not handed over
  size_t at = 0;
  while (at < bytes.size()) {
    const uint64_t skipped = std::min<uint64_t>(skip_, bytes.size() - at);
    at += static_cast<size_t>(skipped);
    skip_ -= skipped;
    if (at == bytes.size()) break;
    const Packet packet = Look(bytes.subspan(at), kForEver);
    if (packet.bytes > 0 && !packet.is_puback) {
      skip_ = packet.bytes;
      continue;
    }
    if (packet.bytes == 0 || packet.bytes > bytes.size() - at) break;
    if (others < at) {
      const size_t from = std::exchange(others, at);
      sink->OnOther(bytes.subspan(from, at - from));
      if (skip_ > 0) continue;  // it was told to pass all
    }
    Tell(bytes.subspan(at, static_cast<size_t>(packet.bytes)), sink);
    at += static_cast<size_t>(packet.bytes);
    others = at;
  }
  held_.assign(bytes.begin() + static_cast<ptrdiff_t>(at), bytes.end());
  if (others < at) sink->OnOther(bytes.subspan(others, at - others));
}

// Goes on with the packet of which the beginning is held. Returns what is left of `bytes`.
std::span<const uint8_t> BrokerReader::FinishHeld(std::span<const uint8_t> bytes, Sink* sink) {
  if (skip_ > 0) {  // PassAll() came meanwhile
    HandOverHeld(sink);
    return bytes;
  }
  const auto hold = [this, &bytes](uint64_t count) {
    const auto more = bytes.first(static_cast<size_t>(std::min<uint64_t>(count, bytes.size())));
    held_.insert(held_.end(), more.begin(), more.end());
    bytes = bytes.subspan(more.size());
  };
  Packet packet = Look(held_, kForEver);
  while (packet.bytes == 0 && !bytes.empty()) {
    hold(1);
    packet = Look(held_, kForEver);
  }
  if (packet.bytes == 0) return bytes;
  if (!packet.is_puback) {
    skip_ = packet.bytes - held_.size();
    HandOverHeld(sink);
    return bytes;
  }
  hold(packet.bytes - held_.size());
  if (held_.size() < packet.bytes) return bytes;
  Tell(held_, sink);
  held_.clear();
  return bytes;
}

void BrokerReader::HandOverHeld(Sink* sink) {
  sink->OnOther(held_);
  held_.clear();
}

}  // namespace seganet
