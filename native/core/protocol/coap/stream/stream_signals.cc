// Signals and time of a stream.
#include <algorithm>

#include "core/protocol/coap/option_reader.h"
#include "core/protocol/coap/stream/stream_impl.h"
#include "core/protocol/coap/stream/stream_peek.h"

namespace seganet::coap {
namespace {

std::string PingToken(uint64_t ping) {
  std::string token(8, '\0');
  for (size_t i = 0; i < 8; ++i) token[i] = static_cast<char>(ping >> (56 - 8 * i));
  return token;
}

}  // namespace

std::string InitialBytes(const Settings& settings) {
  std::string body;
  OptionWriter writer(&body);
  writer.AddUint(kMaxMessageSize, static_cast<uint32_t>(settings.max_stream_message_bytes));
  writer.Add(kBlockWiseTransfer, {});
  std::string csm;
  AppendFrame(kCsm, {}, body, &csm);
  return csm;
}

// RFC 8323 5.6: Abort carries the reason.
void StreamImpl::Close(CloseReason reason, std::string_view why, uint16_t bad_option) {
  close_reason_ = reason;
  std::string body;
  if (bad_option != 0) OptionWriter(&body).AddUint(kBadCsmOption, bad_option);
  body.push_back('\xFF');
  body.append(why);
  AppendFrame(kAbort, {}, body, &output_);
}

void StreamImpl::OnSignal(const Message& message) {
  bool custody = false;
  OptionReader reader(message.options);
  while (reader.Next() == OptionReader::Step::kOption) {
    if (TakeSignalOption(message.code, reader.number(), reader.value(), &custody)) continue;
    // RFC 8323 5.2: an unknown critical option aborts the connection.
    return Close(CloseReason::kCoapSignal, "A critical option of the signal is unknown.",
                 message.code == kCsm ? reader.number() : uint16_t{0});
  }
  switch (message.code) {
    case kCsm:
      has_csm_ = true;
      return;
    case kPing: {
      if (mute_) return;
      std::string body;
      // RFC 8323 5.4.1: Custody confirms that all messages before the Ping were processed.
      if (custody && pending_.empty()) OptionWriter(&body).Add(kCustody, {});
      return AppendFrame(kPong, message.token, body, &output_);
    }
    case kPong:
      return OnPong(message.token);
    case kRelease:
      // RFC 8323 5.5: earlier requests are still answered.
      draining_ = !pending_.empty();
      if (!draining_) close_reason_ = CloseReason::kDisconnected;
      return;
    case kAbort:
      close_reason_ = CloseReason::kCoapAborted;
      return;
    default:
      return;  // an unknown signal without a critical option
  }
}

bool StreamImpl::TakeSignalOption(uint8_t code, uint16_t number, std::string_view value,
                                  bool* custody) {
  if (code == kCsm && number == kMaxMessageSize && value.size() <= 4) {
    peer_max_bytes_ = UintOf(value);
  } else if (code == kCsm && number == kBlockWiseTransfer) {
    peer_takes_blocks_ = true;
  } else if (code == kPing && number == kCustody) {
    *custody = true;
  }
  return number % 2 == 0;  // an elective one may be ignored
}

uint64_t StreamImpl::SendPing(bool custody) {
  std::string body;
  if (custody) OptionWriter(&body).Add(kCustody, {});
  AppendFrame(kPing, PingToken(++pings_), body, &output_);
  return pings_;
}

// RFC 8323 5.4: a Pong has the token of its Ping. libcoap 4.3 leaves the token out: such a Pong
// answers the oldest Ping, because Pongs come in order.
void StreamImpl::OnPong(std::string_view token) {
  const auto answered =
      std::find_if(in_flight_.begin(), in_flight_.end(), [token](const InFlight& sent) {
        return sent.ping != 0 && (token.empty() || PingToken(sent.ping) == token);
      });
  const bool is_idle = token.empty() || PingToken(idle_ping_) == token;
  if (idle_ping_ != 0 && is_idle && (answered == in_flight_.end() || idle_ping_ < answered->ping)) {
    idle_ping_ = 0;
  } else if (answered != in_flight_.end()) {
    End(answered->id, kCommandTaken);
  }
}

void StreamImpl::End(uint64_t id, uint8_t result) {
  const auto ended = std::find_if(in_flight_.begin(), in_flight_.end(),
                                  [id](const InFlight& sent) { return sent.id == id; });
  if (ended == in_flight_.end()) return;
  in_flight_.erase(ended);
  handler_->OnCommandAnswer(id, result);
}

bool StreamImpl::OnTime(int64_t now_us) {
  now_us_ = now_us;
  if (uploads_ != nullptr) {
    uploads_->OnTime(now_us);
    if (uploads_->size() == 0) uploads_.reset();
  }
  DropOldBodies();
  for (InFlight& sent : in_flight_) {
    if (sent.since_us < 0) sent.since_us = now_us;
  }
  while (!in_flight_.empty() && in_flight_.front().since_us + kMaxTransmitWaitUs <= now_us) {
    End(in_flight_.front().id, kCommandLost);
  }
  if (heard_ || heard_us_ < 0) {
    heard_us_ = now_us;
    heard_ = false;
    pinged_ = false;
    return true;
  }
  if (now_us - heard_us_ >= kSecondUs) ReleaseBuffers();
  const int64_t idle_us = limits_.idle_ping_s * kSecondUs;
  if (idle_us == 0 || now_us - heard_us_ < idle_us) return true;
  if (!pinged_) idle_ping_ = SendPing(false);
  pinged_ = true;
  return now_us - heard_us_ < 2 * idle_us;
}

void StreamImpl::Release() {
  if (releasing_ || !IsOpen()) return;
  releasing_ = true;
  AppendFrame(kRelease, {}, {}, &output_);
}

}  // namespace seganet::coap
