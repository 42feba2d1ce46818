#include "core/protocol/coap/reply.h"

#include <algorithm>

#include "core/base/require.h"

namespace seganet::coap {
namespace {

// Returns the nibble for a delta or length; appends the bytes that extend it (RFC 7252 3.1).
uint8_t Nibble(uint32_t value, std::string* extension) {
  if (value < 13) return static_cast<uint8_t>(value);
  if (value < 269) {
    extension->push_back(static_cast<char>(value - 13));
    return 13;
  }
  extension->push_back(static_cast<char>((value - 269) >> 8));
  extension->push_back(static_cast<char>((value - 269) & 0xFF));
  return 14;
}

void AddLocation(std::string_view location, OptionWriter* writer) {
  if (location.empty()) return;
  for (size_t at = 0;;) {
    const size_t slash = location.find('/', at);
    writer->Add(kLocationPath, location.substr(at, slash - at));
    if (slash == std::string_view::npos) return;
    at = slash + 1;
  }
}

void AppendBody(const Reply& reply, std::string* out) {
  OptionWriter writer(out);
  const auto number = [&writer](uint16_t option, const std::optional<uint32_t>& value) {
    if (value) writer.AddUint(option, *value);
  };
  if (reply.etag) {
    const uint32_t tag = *reply.etag;
    const char bytes[] = {static_cast<char>(tag >> 24), static_cast<char>(tag >> 16),
                          static_cast<char>(tag >> 8), static_cast<char>(tag)};
    writer.Add(kETag, {bytes, sizeof bytes});
  }
  number(kObserve, reply.observe);
  AddLocation(reply.location, &writer);
  number(kContentFormat, reply.content_format);
  number(kMaxAge, reply.max_age);
  if (reply.block2) writer.AddUint(kBlock2, reply.block2->value());
  if (reply.block1) writer.AddUint(kBlock1, reply.block1->value());
  number(kSize2, reply.size2);
  number(kSize1, reply.size1);
  if (!reply.echo.empty()) writer.Add(kEcho, reply.echo);
  if (reply.payload.empty()) return;
  out->push_back('\xFF');
  out->append(reply.payload);
}

// Maximum bytes of a Block2 option with the payload marker, and of a Size2 option after it.
constexpr size_t kBlockOverhead = 2 + 3 + 1;
constexpr size_t kSizeOverhead = 1 + 4;
constexpr size_t kBertBytes = 1024;  // one block of several in a message

}  // namespace

void OptionWriter::Add(uint16_t number, std::string_view value) {
  SEGANET_REQUIRE(number >= last_);
  std::string extension;
  const uint8_t delta = Nibble(static_cast<uint32_t>(number - last_), &extension);
  const uint8_t size = Nibble(static_cast<uint32_t>(value.size()), &extension);
  out_->push_back(static_cast<char>(delta << 4 | size));
  out_->append(extension).append(value);
  last_ = number;
}

void OptionWriter::AddUint(uint16_t number, uint32_t value) {
  char bytes[4];
  size_t n = 0;
  for (int shift = 24; shift >= 0; shift -= 8) {
    // RFC 7252 3.2: no leading zero bytes.
    if (n > 0 || (value >> shift) != 0) bytes[n++] = static_cast<char>(value >> shift);
  }
  Add(number, {bytes, n});
}

std::string EmptyDatagram(Type type, uint16_t id) {
  return {static_cast<char>(0x40 | static_cast<uint8_t>(type) << 4), '\0',
          static_cast<char>(id >> 8), static_cast<char>(id & 0xFF)};
}

std::string EncodeDatagram(Type type, uint16_t id, std::string_view token, const Reply& reply) {
  std::string out = EmptyDatagram(type, id);
  out[0] = static_cast<char>(static_cast<uint8_t>(out[0]) | token.size());
  out[1] = static_cast<char>(reply.code);
  out.append(token);
  AppendBody(reply, &out);
  return out;
}

void AppendFrame(uint8_t code, std::string_view token, std::string_view body, std::string* out) {
  const size_t size = body.size();
  const uint8_t nibble = size < 13      ? static_cast<uint8_t>(size)
                         : size < 269   ? 13
                         : size < 65805 ? 14
                                        : 15;
  out->push_back(static_cast<char>(size_t{nibble} << 4 | token.size()));
  const size_t rest = size - (nibble < 13 ? 0 : nibble == 13 ? 13 : nibble == 14 ? 269 : 65805);
  const int extra = nibble < 13 ? 0 : 1 << (nibble - 13);
  for (int i = extra - 1; i >= 0; --i) out->push_back(static_cast<char>(rest >> (8 * i)));
  out->push_back(static_cast<char>(code));
  out->append(token).append(body);
}

void AppendReply(std::string_view token, const Reply& reply, std::string* out) {
  std::string body;
  AppendBody(reply, &body);
  AppendFrame(reply.code, token, body, out);
}

void AppendOptions(const OptionValues& options, std::string_view payload, std::string* out) {
  OptionWriter writer(out);
  for (const OptionValue& option : options) writer.Add(option.number, option.value);
  if (payload.empty()) return;
  out->push_back('\xFF');
  out->append(payload);
}

bool CarryBody(std::string_view body, const std::optional<Block>& wanted, size_t overhead,
               size_t max_bytes, Reply* reply, bool bert) {
  const bool first = !wanted || wanted->number == 0;
  const bool any_size = !wanted || wanted->exponent == Block::kBert;
  if (first && (any_size || body.size() <= wanted->size()) &&
      overhead + 1 + body.size() <= max_bytes) {
    reply->payload = body;
    if (wanted)
      reply->block2 = Block{0, false, std::min(wanted->exponent, Block::kLargestExponent)};
    return true;
  }
  const size_t offset = wanted ? wanted->offset() : 0;
  if (offset >= body.size()) return false;
  const size_t room = max_bytes - std::min(max_bytes, overhead + kBlockOverhead + kSizeOverhead);
  if (bert && any_size && room >= 2 * kBertBytes) {
    reply->payload = body.substr(offset, room / kBertBytes * kBertBytes);
    reply->block2 = Block{static_cast<uint32_t>(offset / kBertBytes),
                          offset + reply->payload.size() < body.size(), Block::kBert};
    if (first) reply->size2 = static_cast<uint32_t>(body.size());
    return true;
  }
  int exponent =
      wanted ? std::min(wanted->exponent, Block::kLargestExponent) : Block::kLargestExponent;
  while (exponent >= 0 && overhead + kBlockOverhead + (size_t{16} << exponent) > max_bytes) {
    --exponent;
  }
  if (exponent < 0) return false;
  Block block;
  block.exponent = static_cast<uint8_t>(exponent);
  // RFC 7959 2.3: with a smaller block size, the block number becomes that of the same offset.
  block.number = static_cast<uint32_t>(offset / block.size());
  reply->payload = body.substr(offset, block.size());
  block.more = offset + reply->payload.size() < body.size();
  reply->block2 = block;
  const size_t size = overhead + kBlockOverhead + block.size();
  if (first && size + kSizeOverhead <= max_bytes) {
    reply->size2 = static_cast<uint32_t>(body.size());
  }
  return true;
}

}  // namespace seganet::coap
