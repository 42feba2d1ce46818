#include "device.h"

#include <algorithm>

#include "../common/clock.h"
#include "../common/record.h"

namespace bench {
namespace {

// RFC 7252, 4.8.
constexpr uint32_t kAckTimeoutUs = 2000000;
constexpr uint8_t kMaxRetransmit = 4;

constexpr int64_t kLateUs = 10000;

// Returns the bytes before the text in a CBOR map (RFC 8949, 3.1) with one member, `r`, whose value
// is a text, so that the map has at most `bytes`.
constexpr size_t CborHeadBytes(size_t bytes) { return bytes <= 5 + 0xFF ? 5 : 6; }

// REQUIRES: bytes is that of CborHeadBytes(); length is 24 or more, and below 256 if bytes is 5.
void WriteCborHead(char* out, size_t bytes, size_t length) {
  out = WriteText(out, "\xA1\x61r");
  *out++ = bytes == 5 ? '\x78' : '\x79';
  if (bytes == 6) *out++ = static_cast<char>(length >> 8);
  *out = static_cast<char>(length);
}

}  // namespace

CoapDevice::CoapDevice(uint32_t number, Connection* connection, const CoapFleet& fleet)
    : number_(number),
      fleet_(fleet),
      connection_(*connection),
      index_(connection->Attach(this)),
      arrivals_(fleet.rate, fleet.settings.load, number),
      random_(Mix(fleet.settings.load.seed + number)),
      id_(static_cast<uint16_t>(random_)) {
  const Settings& settings = fleet_.settings;
  uint8_t last = 0;
  for (const std::string& segment : settings.path) {
    coap::AppendOption(options_, &last, coap::kUriPath, SegmentOf(segment));
  }
  if (settings.content_format >= 0) {
    const auto format = static_cast<unsigned>(settings.content_format);
    std::string value;
    if (format > 0xFF) value.push_back(static_cast<char>(format >> 8));
    if (format > 0) value.push_back(static_cast<char>(format));
    coap::AppendOption(options_, &last, coap::kContentFormat, value);
  }
  if (!settings.query.empty()) {
    coap::AppendOption(options_, &last, coap::kUriQuery, settings.query);
  }
  if (settings.body != Body::kNone) options_.push_back('\xFF');
}

std::string CoapDevice::SegmentOf(const std::string& segment) const {
  if (segment == "{id}") return DeviceId(record_device());
  const std::vector<std::string>& targets = fleet_.settings.targets;
  return segment == "{to}" ? targets[number_ % targets.size()] : segment;
}

void CoapDevice::Pump() {
  const int64_t now_us = NowUs();
  if (closed() && (now_us < start_us_ || now_us >= end_us_)) return;
  const size_t window = fleet_.settings.window;
  while (connection_.has_room() && flights_.size() < window && (closed() || seq_ < due_)) {
    if (fleet_.settings.mode == Mode::kOpen) {
      Post(start_us_ + arrivals_.at_us(), now_us);
      arrivals_.Next();
    } else {
      Post(closed() ? now_us : start_us_, now_us);
    }
  }
  WaitForRoom();
}

void CoapDevice::WaitForRoom() {
  if (waits_ || (!closed() && seq_ == due_)) return;
  waits_ = true;
  connection_.Wait(this);
}

void CoapDevice::Post(int64_t intended_us, int64_t now_us) {
  Totals& totals = fleet_.totals;
  Flight flight{};
  flight.intended_us = intended_us;
  flight.sent_us = now_us;
  flight.id = id_++;
  // RFC 7252, 4.8.2: ACK_TIMEOUT to ACK_TIMEOUT * ACK_RANDOM_FACTOR (1.5).
  random_ = Mix(random_);
  flight.timeout_us = kAckTimeoutUs + static_cast<uint32_t>(random_ % (kAckTimeoutUs / 2));
  flight.again_us = now_us + flight.timeout_us;
  next_again_us_ = std::min(next_again_us_, flight.again_us);
  const size_t before = connection_.out().size();
  AppendRequest(seq_, flight);
  totals.request_bytes += connection_.out().size() - before;
  flights_.push_back(flight);
  connection_.RequestOpened();
  ++seq_;
  totals.send_lag_us.Add(now_us - intended_us);
  if (now_us - intended_us > kLateUs) ++totals.late;
  ++totals.sent;
  totals.last_sent_us = now_us;
  if (fleet_.settings.udp) connection_.Flush();
}

std::string CoapDevice::RequestBody(uint32_t seq, const Flight& flight) const {
  const Settings& settings = fleet_.settings;
  std::string body = options_;
  if (settings.body == Body::kNone) return body;
  Record record;
  record.device = record_device();
  record.seq = seq;
  record.intended_us = flight.intended_us;
  // Header: length, code and token; over UDP type, code, identifier and token.
  const size_t used = (settings.udp ? 8 : 7) + options_.size();
  const size_t room = settings.request_bytes > used ? settings.request_bytes - used : 0;
  const size_t head = settings.body == Body::kCbor ? CborHeadBytes(room) : 0;
  const size_t wanted = room > head ? room - head : 0;
  body.resize(options_.size() + head + std::max(wanted, kMaxFields));
  char* const text = body.data() + options_.size() + head;
  const auto length = static_cast<size_t>(WritePayload(text, record, wanted) - text);
  if (head > 0) WriteCborHead(text - head, head, length);
  body.resize(options_.size() + head + length);
  return body;
}

void CoapDevice::AppendRequest(uint32_t seq, const Flight& flight) {
  const Settings& settings = fleet_.settings;
  char token[4];
  for (int i = 0; i < 2; ++i) {
    token[i] = static_cast<char>(index_ >> (8 * i));
    token[2 + i] = static_cast<char>(seq >> (8 * i));
  }
  std::string& out = connection_.out();
  if (settings.udp) {
    coap::AppendDatagram(out, coap::kCon, settings.method, flight.id, {token, 4});
    out += RequestBody(seq, flight);
  } else {
    coap::Append(out, settings.method, {token, 4}, RequestBody(seq, flight));
  }
}

void CoapDevice::OnEmpty(const coap::Datagram& message) {
  const size_t i = FindId(message.id);
  if (i == flights_.size()) {
    ++fleet_.totals.unknown;
  } else if (message.type == coap::kRst) {
    ++fleet_.totals.resets;
    Done(i, false);
  } else {
    flights_[i].acked = true;
  }
}

void CoapDevice::OnAnswer(uint16_t seq, uint8_t code, size_t bytes, int64_t now_us) {
  Totals& totals = fleet_.totals;
  const uint32_t first = seq_ - static_cast<uint32_t>(flights_.size());
  // A window is smaller than the 65,536 numbers of a token.
  const size_t index = static_cast<uint16_t>(seq - static_cast<uint16_t>(first));
  if (index >= flights_.size() || flights_[index].done) {
    ++totals.unknown;
    return;
  }
  totals.answer_us.Add(now_us - flights_[index].intended_us);
  totals.round_us.Add(now_us - flights_[index].sent_us);
  totals.response_bytes += bytes;
  const bool good = code >> 5 == 2;
  ++(good                   ? totals.answered
     : code >> 5 == 4       ? totals.client_errors
     : code == (5 << 5 | 3) ? totals.unavailable
                            : totals.server_errors);
  if (good) totals.last_answered_us = now_us;
  Done(index, good);
}

size_t CoapDevice::FindId(uint16_t id) const {
  if (flights_.empty()) return 0;
  const auto index = static_cast<uint16_t>(id - flights_.front().id);
  return std::min<size_t>(index, flights_.size());
}

void CoapDevice::Done(size_t index, bool good) {
  if (flights_[index].done) return;
  flights_[index].done = true;
  connection_.RequestClosed();
  if (!good) {
    const auto size = static_cast<uint32_t>(flights_.size());
    failed_.push_back(seq_ - size + static_cast<uint32_t>(index));
  }
  while (!flights_.empty() && flights_.front().done) flights_.pop_front();
}

void CoapDevice::Retransmit(int64_t now_us) {
  if (!fleet_.settings.udp || now_us < next_again_us_) return;
  next_again_us_ = kNever;
  for (size_t i = 0; i < flights_.size(); ++i) {
    Flight& flight = flights_[i];
    if (flight.done) continue;
    if (now_us >= flight.again_us) {
      if (flight.retransmissions == kMaxRetransmit) {
        ++fleet_.totals.timed_out;
        flight.done = true;
        connection_.RequestClosed();
        failed_.push_back(seq_ - static_cast<uint32_t>(flights_.size() - i));
        continue;
      }
      ++flight.retransmissions;
      flight.timeout_us *= 2;
      flight.again_us = now_us + flight.timeout_us;
      // RFC 7252, 4.2: an acknowledged request is not retransmitted; its answer may still be lost.
      if (!flight.acked) {
        AppendRequest(seq_ - static_cast<uint32_t>(flights_.size() - i), flight);
        connection_.Flush();
        ++fleet_.totals.retransmitted;
      }
    }
    next_again_us_ = std::min(next_again_us_, flight.again_us);
  }
  while (!flights_.empty() && flights_.front().done) flights_.pop_front();
  Pump();
}

std::string CoapDevice::StreamJson() const {
  std::string out = "{\"device\":" + std::to_string(record_device()) +
                    ",\"kind\":0,\"issued\":" + std::to_string(seq_) + ",\"unacked\":[";
  std::vector<uint32_t> open = failed_;
  for (size_t i = 0; i < flights_.size(); ++i) {
    if (!flights_[i].done) open.push_back(seq_ - static_cast<uint32_t>(flights_.size() - i));
  }
  for (size_t i = 0; i < open.size(); ++i) {
    const std::string seq = std::to_string(open[i]);
    out += (i > 0 ? ",[" : "[") + seq + "," + seq + "]";
  }
  return out + "]}";
}

}  // namespace bench
