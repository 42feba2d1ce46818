// Requests to the device: the client half of a stream.
#include <algorithm>
#include <utility>

#include "core/base/require.h"
#include "core/protocol/coap/option_reader.h"
#include "core/protocol/coap/stream/stream_impl.h"

namespace seganet::coap {
namespace {

constexpr size_t kAskFrameBytes = 1 + 4 + 1 + 1;  // length, code and marker (RFC 8323 3.2)
constexpr size_t kBlockOptionBytes = 2 + 3;       // a Block1 option
constexpr size_t kSizeOptionBytes = 1 + 4;        // a Size1 option
constexpr size_t kMaxOutputBytes = 1 << 20;       // of requests that a device does not read

std::string UintBytes(uint64_t value) {
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) {
    if (!bytes.empty() || (value >> shift) != 0) bytes.push_back(static_cast<char>(value >> shift));
  }
  return bytes;
}

// 0 for a token that is not one of ours.
uint64_t TokenNumber(std::string_view token) {
  uint64_t number = 0;
  for (const char c : token) number = number << 8 | static_cast<uint8_t>(c);
  return UintBytes(number) == token ? number : 0;
}

void InsertOption(uint16_t number, std::string value, OptionValues* options) {
  const auto at =
      std::find_if(options->begin(), options->end(),
                   [number](const OptionValue& other) { return other.number > number; });
  options->insert(at, {number, std::move(value)});
}

bool IsSetBySession(uint16_t number) {
  return number == kObserve || number == kUriPath || number == kUriQuery || number == kBlock1 ||
         number == kBlock2 || number == kSize1 || number == kSize2;
}

OptionValues OptionsOf(const RequestSpec& request) {
  OptionValues options;
  for (const OptionValue& option : request.options) {
    if (!IsSetBySession(option.number)) options.push_back(option);
  }
  for (const std::string& segment : request.path) options.push_back({kUriPath, segment});
  for (const std::string& query : request.query) options.push_back({kUriQuery, query});
  std::stable_sort(options.begin(), options.end(),
                   [](const OptionValue& a, const OptionValue& b) { return a.number < b.number; });
  return options;
}

const OptionValue* FindOption(const OptionValues& options, uint16_t number) {
  const auto found =
      std::find_if(options.begin(), options.end(),
                   [number](const OptionValue& option) { return option.number == number; });
  return found == options.end() ? nullptr : &*found;
}

AskAnswer AskFailure(std::string_view why) {
  AskAnswer answer;
  answer.code = kBadGateway;
  answer.payload = why;
  answer.failed = true;
  return answer;
}

}  // namespace

AskStart StreamImpl::Ask(uint64_t id, const RequestSpec& request) {
  SEGANET_REQUIRE(!asking_.contains(id));
  if (!IsOpen() || releasing_) return AskStart::kClosed;
  size_t observed = 0;
  for (const auto& [other, asking] : asking_) observed += asking.answered ? 1 : 0;
  if (asking_.size() - observed >= options_.max_asks || output().size() > kMaxOutputBytes ||
      (request.observe && observed >= options_.max_observations)) {
    return AskStart::kBusy;
  }
  Asking asking;
  asking.id = id;
  asking.code = request.code;
  asking.options = OptionsOf(request);
  asking.observes = request.observe;
  asking.upload = request.payload;
  asking.exponent = takes_bert() ? Block::kBert : Block::kLargestExponent;
  Asking& stored = asking_.emplace(id, std::move(asking)).first->second;
  if (SendAsk(&stored)) return AskStart::kSent;
  EraseAsking(id);
  return AskStart::kTooLarge;
}

bool StreamImpl::SendAsk(Asking* asking) {
  OptionValues options = asking->options;
  if (asking->observes) InsertOption(kObserve, {}, &options);
  std::string head;
  AppendOptions(options, {}, &head);
  const size_t overhead = kAskFrameBytes + kMaxTokenBytes + head.size();
  const size_t limit = peer_limit();
  const std::string_view body = asking->upload;
  std::string_view part = body;
  if (overhead > limit) return false;
  if (asking->uploaded > 0 || overhead + body.size() > limit) {
    const size_t most = limit - std::min(limit, overhead + kBlockOptionBytes + kSizeOptionBytes);
    if (asking->exponent == Block::kBert && most < 1024) asking->exponent = Block::kLargestExponent;
    while (asking->exponent < Block::kBert && most < size_t{16} << asking->exponent) {
      if (asking->exponent == 0) return false;
      --asking->exponent;
    }
    Block block;
    block.exponent = asking->exponent;
    block.number = static_cast<uint32_t>(asking->uploaded / block.size());
    const size_t n = block.exponent == Block::kBert ? most / 1024 * 1024 : block.size();
    part = body.substr(asking->uploaded, n);
    if (asking->uploaded == 0) InsertOption(kSize1, UintBytes(body.size()), &options);
    asking->uploaded += part.size();
    block.more = asking->uploaded < body.size();
    InsertOption(kBlock1, UintBytes(block.value()), &options);
  }
  tokens_.erase(asking->token);
  asking->token = ++last_token_;
  tokens_.emplace(asking->token, asking->id);
  std::string message;
  AppendOptions(options, part, &message);
  AppendFrame(asking->code, UintBytes(asking->token), message, &output_);
  return true;
}

void StreamImpl::Cancel(uint64_t id) {
  const auto found = asking_.find(id);
  if (found == asking_.end()) return;
  if (found->second.observes && IsOpen()) {
    OptionValues options = found->second.options;
    InsertOption(kObserve, "\x01", &options);
    std::string message;
    AppendOptions(options, {}, &message);
    AppendFrame(found->second.code, UintBytes(found->second.token), message, &output_);
  }
  EraseAsking(id);
}

void StreamImpl::EraseAsking(uint64_t id) {
  const auto found = asking_.find(id);
  if (found == asking_.end()) return;
  tokens_.erase(found->second.token);
  tokens_.erase(found->second.fetch);
  asking_.erase(found);
}

void StreamImpl::OnResponse(const Message& message) {
  const auto token = tokens_.find(TokenNumber(message.token));
  if (token == tokens_.end()) return;  // late, or an answer to nothing
  Asking& asking = asking_.find(token->second)->second;
  const bool is_fetched = token->first == asking.fetch;
  AskAnswer answer;
  answer.code = message.code;
  answer.payload = message.payload;
  std::optional<Block> block1, block2;
  OptionReader reader(message.options);
  while (reader.Next() == OptionReader::Step::kOption) {
    const std::string_view value = reader.value();
    if (reader.number() == kBlock1 && value.size() <= 3) block1 = Block::Of(UintOf(value));
    if (reader.number() == kBlock2 && value.size() <= 3) block2 = Block::Of(UintOf(value));
    const bool is_observe = reader.number() == kObserve;
    if (is_observe || !IsSetBySession(reader.number())) {
      answer.options.push_back({reader.number(), std::string(value)});
    }
    // RFC 7641 4.2: only a success keeps the device in the list of observers.
    if (is_observe && asking.observes && ClassOf(message.code) == 2) answer.observed = true;
  }
  if (message.code == kContinue) {
    if (asking.uploaded == 0 || asking.uploaded >= asking.upload.size()) {
      return GiveAnswer(&asking, AskFailure("The device continues a body that is complete."));
    }
    // RFC 7959 2.3: the device may ask for smaller blocks, at an offset that both sizes have.
    if (block1 && block1->exponent < asking.exponent) asking.exponent = block1->exponent;
    SendAsk(&asking);
    return;
  }
  if (block2 && (block2->more || block2->number > 0)) {
    return TakeAnswerBlock(&asking, std::move(answer), *block2);
  }
  if (is_fetched && ClassOf(answer.code) == 2) {
    return GiveAnswer(&asking,
                      AskFailure("The device ended a body in blocks without its last block."));
  }
  GiveAnswer(&asking, answer);
}

void StreamImpl::TakeAnswerBlock(Asking* asking, AskAnswer answer, const Block& block) {
  AskAnswer& whole = asking->whole;
  if (block.number == 0) {
    whole = std::move(answer);
  } else {
    const OptionValue* const first = FindOption(whole.options, kETag);
    const OptionValue* const next = FindOption(answer.options, kETag);
    const bool same = first == nullptr || next == nullptr || first->value == next->value;
    // RFC 7959 2.4: blocks of different representations must not be put together.
    if (!same || block.offset() != whole.payload.size() || answer.code != whole.code) {
      return GiveAnswer(asking,
                        AskFailure("The blocks of the device's answer do not fit together."));
    }
    whole.payload += answer.payload;
  }
  if (whole.payload.size() > settings_.max_body_bytes) {
    return GiveAnswer(asking, AskFailure("The device's answer is too large."));
  }
  if (!block.more) {
    const AskAnswer complete = std::move(whole);  // GiveAnswer() clears asking->whole
    return GiveAnswer(asking, complete);
  }
  const bool fits = block.exponent == Block::kBert
                        ? !whole.payload.empty() && whole.payload.size() % block.size() == 0
                        : whole.payload.size() == block.offset() + block.size();
  if (!fits)
    return GiveAnswer(asking, AskFailure("A block of the device's answer has a wrong size."));
  FetchBlock(asking, block);
}

void StreamImpl::FetchBlock(Asking* asking, const Block& block) {
  Block next = block;
  next.more = false;
  next.number = static_cast<uint32_t>(asking->whole.payload.size() / block.size());
  OptionValues options = asking->options;
  InsertOption(kBlock2, UintBytes(next.value()), &options);
  std::string message;
  AppendOptions(options, {}, &message);
  tokens_.erase(asking->fetch);
  // The first request stays open: it carries the notifications of an observation.
  asking->fetch = ++last_token_;
  tokens_.emplace(asking->fetch, asking->id);
  AppendFrame(asking->code, UintBytes(asking->fetch), message, &output_);
}

void StreamImpl::GiveAnswer(Asking* asking, const AskAnswer& answer) {
  const uint64_t id = asking->id;
  // The device still has the observation if the failure is ours, or that of a later block.
  const bool failed = asking->observes && !answer.observed &&
                      (asking->fetch != 0 || (asking->answered && answer.code == kBadGateway));
  asking->whole = {};
  asking->upload = {};
  if (answer.observed) {
    asking->answered = true;
    tokens_.erase(asking->fetch);
    asking->fetch = 0;
  } else if (failed) {
    Cancel(id);
  } else {
    EraseAsking(id);
  }
  handler_->OnAskAnswer(id, answer);
}

}  // namespace seganet::coap
