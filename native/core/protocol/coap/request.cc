#include "core/protocol/coap/request.h"

#include "core/protocol/coap/option_reader.h"
#include "core/protocol/coap/reply.h"
#include "core/protocol/coap/uri.h"

namespace seganet::coap {
namespace {

constexpr std::string_view kUnknown =
    "A critical option is unknown, is repeated, or has a wrong length.";

// Reads an integer option. RFC 7252 5.4.3, 5.4.5: an option that is too long or repeated is treated
// like an unknown option: returns false.
bool SetNumber(const OptionReader& option, size_t max_bytes, std::optional<uint32_t>* value) {
  if (option.value().size() > max_bytes || *value) return false;
  *value = UintOf(option.value());
  return true;
}

class OptionTaker {
 public:
  OptionTaker(const Settings& settings, std::string_view part, Request* request)
      : uri_(settings, part, request), request_(request) {}

  // Reads one option. kEmpty if it was read or may be ignored.
  Refusal Take(const OptionReader& option);

  // Finds the resource after the last option.
  Refusal Finish() {
    if (block1_) request_->block1 = Block::Of(*block1_);
    if (block2_) request_->block2 = Block::Of(*block2_);
    return uri_.Resolve();
  }

 private:
  Refusal Critical(bool good) const { return good ? Refusal{} : Refusal{kBadOption, kUnknown}; }

  Uri uri_;
  Request* const request_;
  std::optional<uint32_t> block1_, block2_;
  bool host_ = false, port_ = false;
};

Refusal OptionTaker::Take(const OptionReader& option) {
  const std::string_view value = option.value();
  switch (option.number()) {
    case kUriPath:
      return value.size() > 255 ? Critical(false) : uri_.AddPath(value);
    case kUriQuery:
      return value.size() > 255 ? Critical(false) : uri_.AddQuery(value);
    case kUriHost: {  // the server answers for all names and ports
      const bool good = !host_ && !value.empty() && value.size() <= 255;
      host_ = true;
      return Critical(good);
    }
    case kUriPort: {
      const bool good = !port_ && value.size() <= 2;
      port_ = true;
      return Critical(good);
    }
    case kAccept:
      return Critical(SetNumber(option, 2, &request_->accept));
    case kBlock1:
      return Critical(SetNumber(option, 3, &block1_));
    case kBlock2:
      return Critical(SetNumber(option, 3, &block2_));
    case kIfNoneMatch:  // a record is always new
      return Critical(value.empty());
    case kIfMatch:  // for the same reason no record can match
      return value.size() > 8 ? Critical(false)
                              : Refusal{kPreconditionFailed, "Records are not replaced."};
    case kProxyUri:
    case kProxyScheme:
      return {kProxying, "This is not a proxy."};
    case kContentFormat:
      // 65,535 is reserved (RFC 7252 12.3); all other formats pass unchecked.
      if (value.size() == 2 && UintOf(value) == 0xFFFF) {
        return {kUnsupportedFormat, "The content format 65535 is reserved."};
      }
      return {};
    case kObserve:
      SetNumber(option, 3, &request_->observe);
      return {};
    case kSize1:
      SetNumber(option, 4, &request_->size1);
      return {};
    case kEcho:
      if (!value.empty() && value.size() <= 40) request_->echo = value;
      return {};
    case kNoResponse:
      if (value.size() <= 1) request_->no_response = static_cast<uint8_t>(UintOf(value));
      return {};
    default:
      return Critical(option.number() % 2 == 0);
  }
}

}  // namespace

Refusal ParseRequest(const Message& message, const Settings& settings, std::string_view part,
                     Request* request) {
  request->block1.reset();
  request->block2.reset();
  request->observe.reset();
  request->size1.reset();
  request->accept.reset();
  request->echo = {};
  request->no_response = 0;
  OptionTaker taker(settings, part, request);
  OptionReader reader(message.options);
  Refusal refusal;
  while (reader.Next() == OptionReader::Step::kOption) {
    const Refusal refused = taker.Take(reader);
    if (refusal.code == kEmpty) refusal = refused;  // goes on: the route needs the device
  }
  const Refusal refused = taker.Finish();
  return refusal.code != kEmpty ? refusal : refused;
}

std::string BodyKey(const Message& message) {
  std::string key;
  OptionWriter writer(&key);
  OptionReader reader(message.options);
  while (reader.Next() == OptionReader::Step::kOption) {
    const uint16_t number = reader.number();
    // RFC 7252 5.4.2: NoCacheKey is 0x1C in the lowest five bits; this covers the sizes. Block
    // options differ from block to block.
    const bool no_cache_key = (number & 0x1E) == 0x1C;
    const bool of_block = number == kBlock1 || number == kBlock2 || number == kObserve;
    if (no_cache_key || of_block || number == kEcho || number == kNoResponse) continue;
    writer.Add(number, reader.value());
  }
  return key;
}

}  // namespace seganet::coap
