#include "core/protocol/coap/message.h"

#include "core/base/bytes.h"
#include "core/protocol/coap/option_reader.h"

namespace seganet::coap {
bool ParseBody(std::span<const uint8_t> body, Message* message) {
  OptionReader reader(body);
  for (;;) {
    const size_t end = reader.position();
    switch (reader.Next()) {
      case OptionReader::Step::kOption:
        break;
      case OptionReader::Step::kEnd:
        message->options = body;
        message->payload = {};
        return true;
      case OptionReader::Step::kPayload:
        message->options = body.first(end);
        message->payload = TextOf(reader.payload());
        return !message->payload.empty();  // RFC 7252 3: a marker without payload is an error
      default:
        return false;
    }
  }
}

ParseStatus ParseDatagram(std::span<const uint8_t> bytes, Message* message) {
  if (bytes.size() < 4 || bytes[0] >> 6 != 1) return ParseStatus::kNoMessage;
  message->type = static_cast<Type>(bytes[0] >> 4 & 3);
  message->code = bytes[1];
  message->id = static_cast<uint16_t>(bytes[2] << 8 | bytes[3]);
  const size_t token = bytes[0] & 0x0F;
  // RFC 7252 4.1: an Empty message is its header and nothing else.
  if (message->code == kEmpty && bytes.size() != 4) return ParseStatus::kMalformed;
  if (token > kMaxTokenBytes || bytes.size() - 4 < token) return ParseStatus::kMalformed;
  if (message->code == kEmpty && token != 0) return ParseStatus::kMalformed;
  message->token = TextOf(bytes.subspan(4, token));
  return ParseBody(bytes.subspan(4 + token), message) ? ParseStatus::kOk : ParseStatus::kMalformed;
}

StreamFrame DecodeFrame(std::span<const uint8_t> bytes) {
  StreamFrame frame;
  if (bytes.empty()) return frame;
  const size_t token = bytes[0] & 0x0F;
  if (token > kMaxTokenBytes) {
    frame.status = StreamFrame::Status::kMalformed;
    return frame;
  }
  const uint8_t nibble = bytes[0] >> 4;
  // 13, 14 and 15: the length is in 1, 2 or 4 more bytes, offset by 13, 269 or 65,805.
  const size_t extra = nibble < 13 ? 0 : size_t{1} << (nibble - 13);
  if (bytes.size() < 1 + extra) return frame;
  size_t length = 0;
  for (size_t i = 0; i < extra; ++i) length = length << 8 | bytes[1 + i];
  length += nibble < 13 ? nibble : nibble == 13 ? 13 : nibble == 14 ? 269 : 65805;
  frame.header = 1 + extra + 1 + token;
  frame.total = frame.header + length;
  if (bytes.size() < frame.header) return frame;
  frame.code = bytes[1 + extra];
  frame.token = TextOf(bytes.subspan(2 + extra, token));
  frame.status = StreamFrame::Status::kOk;
  return frame;
}

}  // namespace seganet::coap
