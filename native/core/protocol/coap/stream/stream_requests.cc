// Requests that go to the desk, and their answers.
#include <algorithm>
#include <utility>

#include "core/base/require.h"
#include "core/base/utf8.h"
#include "core/protocol/coap/option_reader.h"
#include "core/protocol/coap/replies.h"
#include "core/protocol/coap/stream/stream_impl.h"

namespace seganet::coap {
namespace {

constexpr size_t kMaxDeskSegments = 128;
constexpr size_t kMaxUriOptionBytes = 255;
// Bodies whose further blocks a peer may request, and how long.
constexpr size_t kMaxBodies = 2;
constexpr int64_t kBodyUs = 60 * kSecondUs;
// Code, token and length of a message, with the marker of its payload (RFC 8323 3.2).
constexpr size_t kAnswerFrameBytes = 1 + 4 + 1 + 1;
// Output that a peer does not read. Notifications beyond it close the connection.
constexpr size_t kMaxUnreadBytes = 1 << 20;

// True for valid UTF-8 without U+0000 (RFC 7252 3.2).
bool IsPlainText(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t n = text[at] == 0 ? 0 : Utf8Length(text.substr(at));
    if (n == 0) return false;
    at += n;
  }
  return true;
}

bool IsBlockOption(uint16_t number) {
  return number == kBlock1 || number == kBlock2 || number == kSize1 || number == kSize2;
}

// True if the path begins with all segments of `prefix`.
bool BeginsWith(const std::vector<std::string_view>& path, std::string_view prefix) {
  size_t segment = 0;
  for (size_t at = 0; at < prefix.size();) {
    const size_t end = std::min(prefix.find('/', at), prefix.size());
    if (segment == path.size() || path[segment++] != prefix.substr(at, end - at)) return false;
    at = end + 1;
  }
  return true;
}

void AddNumber(uint16_t number, const std::optional<uint32_t>& value, OptionValues* options) {
  if (!value) return;
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) {
    // RFC 7252 3.2: no leading zero bytes.
    if (!bytes.empty() || (*value >> shift) != 0) {
      bytes.push_back(static_cast<char>(*value >> shift));
    }
  }
  options->push_back({number, std::move(bytes)});
}

void SortOptions(OptionValues* options) {
  std::stable_sort(options->begin(), options->end(),
                   [](const OptionValue& a, const OptionValue& b) { return a.number < b.number; });
}

size_t OptionBytes(const OptionValues& options) {
  size_t bytes = 0;
  for (const OptionValue& option : options) bytes += sizeof(OptionValue) + option.value.size();
  return bytes;
}

// Reads a number that may occur once. False when it is repeated or too long.
bool TakeNumber(std::string_view value, size_t max_bytes, std::optional<uint32_t>* number) {
  if (value.size() > max_bytes || *number) return false;
  *number = UintOf(value);
  return true;
}

}  // namespace

void StreamImpl::Identify(std::string device) {
  SEGANET_REQUIRE(options_.identifies && !device.empty());
  device_ = std::move(device);
}

void StreamImpl::Forget() {
  device_.clear();
  bytes_before_ = 0;
  std::erase_if(at_desk_, [](const auto& row) { return !row.second.is_open; });
  asking_.clear();
  tokens_.clear();
  bodies_.clear();
}

bool StreamImpl::IsForDesk(const Message& message) const {
  std::vector<std::string_view> path;
  OptionReader reader(message.options);
  while (reader.Next() == OptionReader::Step::kOption && reader.number() <= kUriPath) {
    if (reader.number() == kUriPath) path.push_back(reader.value());
  }
  return std::any_of(options_.prefixes.begin(), options_.prefixes.end(),
                     [&path](const std::string& prefix) { return BeginsWith(path, prefix); });
}

Refusal StreamImpl::ReadAsked(const Message& message, DeskRequest* request) const {
  Asked& asked = request->asked;
  std::optional<uint32_t> block1, block2;
  const Refusal unknown{kBadOption, "A critical option is unknown, repeated or too long."};
  OptionReader reader(message.options);
  while (reader.Next() == OptionReader::Step::kOption) {
    const uint16_t number = reader.number();
    const std::string_view value = reader.value();
    const auto& known = options_.known_options;
    switch (number) {
      case kUriPath:
      case kUriQuery: {
        auto& list = number == kUriPath ? asked.path : asked.query;
        if (value.size() > kMaxUriOptionBytes) return unknown;
        const bool dots = number == kUriPath && (value == "." || value == "..");
        if (!IsPlainText(value) || dots || list.size() == kMaxDeskSegments) {
          return {kBadRequest, "The path or the query is not valid."};
        }
        list.push_back(value);
        break;
      }
      case kUriHost:
      case kUriPort:
        break;  // the gateway answers for all names and ports
      case kProxyUri:
      case kProxyScheme:
        return {kProxying, "This is not a proxy."};
      case kBlock1:
        if (!TakeNumber(value, 3, &block1)) return unknown;
        break;
      case kBlock2:
        if (!TakeNumber(value, 3, &block2)) return unknown;
        break;
      case kSize1:
      case kSize2:
        break;
      case kNoResponse:
        if (value.size() <= 1) request->no_response = static_cast<uint8_t>(UintOf(value));
        break;
      case kObserve:
        // An observation that cannot be read is ignored, as any elective option.
        if (!TakeNumber(value, 3, &request->observe)) break;
        [[fallthrough]];
      default: {
        const bool is_known = number % 2 == 0 || number == kIfMatch || number == kIfNoneMatch ||
                              number == kAccept ||
                              std::find(known.begin(), known.end(), number) != known.end();
        if (!is_known || value.size() > kMaxOptionBytes) return unknown;
        asked.options.push_back({number, std::string(value)});
      }
    }
  }
  if (block1) request->block1 = Block::Of(*block1);
  if (block2) request->block2 = Block::Of(*block2);
  return {};
}

void StreamImpl::OnAsked(const Message& message) {
  DeskRequest request;
  request.asked.code = message.code;
  request.asked.token = message.token;
  request.asked.payload = message.payload;
  Refusal refusal = ReadAsked(message, &request);
  const Asker asker{Token(message.token), request.no_response};
  if (refusal.code == kEmpty && message.code > kIPatch) {
    refusal = {kMethodNotAllowed, "The method is unknown."};
  }
  if (refusal.code == kEmpty && releasing_) refusal = {kUnavailable, "The gateway is stopping."};
  const auto same = at_desk_.find(message.token);
  request.asked.id = ++last_asked_;
  request.asked.reuses_token = same != at_desk_.end();
  if (refusal.code == kEmpty && same != at_desk_.end() && same->second.is_open) {
    refusal = {kBadRequest, "The token is in use."};
  }
  if (refusal.code != kEmpty) return Respond(asker, ReplyTo(refusal));
  request.asked.is_plain = !request.block1 && !request.block2 && request.no_response == 0;
  if (request.asked.is_plain && same == at_desk_.end() &&
      request.asked.payload.size() <= settings_.max_body_bytes) {
    Incoming record;
    record.payload = request.asked.payload;
    if (handler_->IsRecord(request.asked, &record)) return HandOver(asker, {}, record);
  }
  std::string key = static_cast<char>(message.code) + BodyKey(message);
  if (request.block2 && request.block2->number > 0) {
    const auto kept = std::find_if(bodies_.begin(), bodies_.end(),
                                   [&key](const SentBody& body) { return body.key == key; });
    if (kept != bodies_.end()) {
      AtDesk row;
      row.no_response = request.no_response;
      row.block2 = request.block2;
      kept->sent_us = now_us_;
      const SentBody body = *kept;  // SendAnswer() may move it
      return SendAnswer(message.token, row, body.code, body.options, body.body);
    }
  }
  if (request.block1 && !TakeUpload(asker, key, &request)) return;
  if (request.asked.payload.size() > settings_.max_body_bytes) {
    return Respond(asker, ReplyTo(Uploads::Step::kTooLarge, {}, settings_.max_body_bytes));
  }
  PassOn(request, std::move(key));
  if (!whole_.empty()) ReleaseWhole();
}

bool StreamImpl::TakeUpload(const Asker& asker, const std::string& key, DeskRequest* request) {
  const Block& block = *request->block1;
  const Uploads::Step step =
      uploads().Add(key, device_, block, request->asked.payload, true, now_us_, &whole_);
  if (step == Uploads::Step::kWhole) {
    request->asked.payload = whole_;
    return true;
  }
  Respond(asker, ReplyTo(step, block, settings_.max_body_bytes));
  return false;
}

void StreamImpl::PassOn(const DeskRequest& request, std::string key) {
  const std::string token(request.asked.token);
  AtDesk row;
  row.no_response = request.no_response;
  row.observes = request.asked.code == kGet || request.asked.code == kFetch;
  row.observes = row.observes && request.observe == 0u;
  row.block1 = request.block1;
  if (row.block1) row.block1->more = false;
  row.block2 = request.block2;
  row.key = std::move(key);
  row.id = request.asked.id;
  const size_t most = is_anonymous() ? options_.max_asked_before : options_.max_asked;
  if (open_asked_ < most) {
    // A new registration replaces the observation with its token (RFC 7641 4.1).
    at_desk_.insert_or_assign(token, row);
    ++open_asked_;
    const Taker taker = handler_->OnAsked(request.asked);
    const auto found = at_desk_.find(token);
    // It may have been answered in that call.
    const bool is_open =
        found != at_desk_.end() && found->second.id == row.id && found->second.is_open;
    if (taker != Taker::kNone) {
      if (is_open) SetTaker(&found->second, taker);
      return;
    }
    --open_asked_;
    at_desk_.erase(found);
  }
  Reply reply = ReplyTo(Refusal{kUnavailable, "Too many requests wait. Try again."});
  reply.max_age = 1;
  Respond({Token(token), request.no_response}, reply);
}

void StreamImpl::SetTaker(AtDesk* row, Taker taker) {
  const auto is_unsettled = [row] { return row->taker == Taker::kDesk && !row->is_settled; };
  if (row->taker == Taker::kOwner) --own_asked_;
  if (is_unsettled()) --unsettled_;
  row->taker = taker;
  if (row->taker == Taker::kOwner) ++own_asked_;
  if (is_unsettled()) ++unsettled_;
}

void StreamImpl::Settle(std::string_view token) {
  const auto found = at_desk_.find(token);
  if (found == at_desk_.end()) return;
  AtDesk& row = found->second;
  if (row.is_open && row.taker == Taker::kDesk && !row.is_settled) --unsettled_;
  row.is_settled = true;
}

bool StreamImpl::PassToDesk(std::string_view token, uint64_t id) {
  const auto found = at_desk_.find(token);
  if (found == at_desk_.end() || found->second.id != id) return false;
  SetTaker(&found->second, Taker::kDesk);
  return true;
}

bool StreamImpl::RecordOwn(std::string_view token, uint64_t id, const Incoming& record) {
  const auto found = at_desk_.find(token);
  if (found == at_desk_.end() || found->second.id != id) return false;
  SEGANET_REQUIRE(found->second.is_open && found->second.taker == Taker::kOwner);
  if (close_reason_ != CloseReason::kNone) return false;
  const Asker asker{Token(token), found->second.no_response};
  SetTaker(&found->second, Taker::kNone);
  --open_asked_;
  at_desk_.erase(found);
  HandOver(asker, {}, record);
  return true;
}

bool StreamImpl::AnswerOwn(std::string_view token, uint64_t id, uint8_t code, OptionValues options,
                           std::string_view payload) {
  const auto found = at_desk_.find(token);
  if (found == at_desk_.end() || found->second.id != id) return false;
  return AnswerRow(found, code, std::move(options), payload);
}

void StreamImpl::EndOwn() {
  for (auto row = at_desk_.begin(); row != at_desk_.end();) {
    const auto current = row++;
    if (current->second.is_open && current->second.taker == Taker::kOwner) {
      AnswerRow(current, kUnavailable, {}, "The session of this connection has changed.");
    }
  }
}

bool StreamImpl::Answer(std::string_view token, uint8_t code, OptionValues options,
                        std::string_view payload) {
  const auto found = at_desk_.find(token);
  if (found == at_desk_.end()) return false;
  // What the desk was asked under this token before has ended.
  if (found->second.is_open && found->second.taker == Taker::kOwner) return false;
  return AnswerRow(found, code, std::move(options), payload);
}

bool StreamImpl::AnswerRow(AtDeskRows::iterator found, uint8_t code, OptionValues options,
                           std::string_view payload) {
  if (close_reason_ != CloseReason::kNone) return false;
  const std::string_view token = found->first;
  AtDesk& row = found->second;
  const auto is_observe = [](const OptionValue& option) { return option.number == kObserve; };
  const size_t relations = at_desk_.size() - open_asked_;
  bool keeps =
      row.observes && ClassOf(code) == 2 && std::any_of(options.begin(), options.end(), is_observe);
  if (row.is_open && relations >= options_.max_relations) keeps = false;
  if (!keeps) std::erase_if(options, is_observe);
  std::erase_if(options, [](const OptionValue& option) { return IsBlockOption(option.number); });
  SortOptions(&options);
  if (!row.is_open && output().size() > kMaxUnreadBytes) {
    Close(CloseReason::kUnread, "The peer does not read its notifications.");
    return false;
  }
  SendAnswer(token, row, code, std::move(options), payload);
  if (row.is_open) {
    SetTaker(&row, Taker::kNone);
    --open_asked_;
  }
  row.is_open = false;
  row.block1.reset();
  row.no_response = 0;
  if (!keeps) at_desk_.erase(found);
  return true;
}

// A peer without a CSM has announced neither a size nor blocks. Implementations that omit the CSM
// take whole messages.
size_t StreamImpl::peer_limit() const {
  return has_csm_ || !options_.csm_optional ? peer_max_bytes_ : settings_.max_stream_message_bytes;
}

void StreamImpl::SendAnswer(std::string_view token, const AtDesk& row, uint8_t code,
                            OptionValues options, std::string_view body) {
  // RFC 7967 2: bit c - 1 = the peer does not want class c.
  if ((row.no_response >> (ClassOf(code) - 1) & 1) != 0) return;
  if (row.block1) AddNumber(kBlock1, row.block1->value(), &options);
  SortOptions(&options);
  std::string head;
  AppendOptions(options, {}, &head);
  Reply part;
  const size_t overhead = kAnswerFrameBytes + token.size() + head.size();
  if (body.empty()) {
    part.block2.reset();
  } else if (!CarryBody(body, row.block2, overhead, peer_limit(), &part, takes_bert())) {
    code = kBadRequest;
    options.clear();
    part.payload = "There is no such block, or no room for it.";
  }
  if (part.block2 && part.block2->more && part.block2->number == 0) {
    KeepBody(row.key, code, options, body);
  }
  if (part.block2) AddNumber(kBlock2, part.block2->value(), &options);
  AddNumber(kSize2, part.size2, &options);
  SortOptions(&options);
  std::string message;
  AppendOptions(options, part.payload, &message);
  AppendFrame(code, token, message, &output_);
}

void StreamImpl::KeepBody(const std::string& key, uint8_t code, const OptionValues& options,
                          std::string_view body) {
  std::erase_if(bodies_, [&key](const SentBody& kept) { return kept.key == key; });
  if (bodies_.size() == kMaxBodies) bodies_.erase(bodies_.begin());
  SentBody kept{key, code, options, std::string(body), now_us_};
  // RFC 7959 2.6: a later block is no notification.
  std::erase_if(kept.options, [](const OptionValue& option) {
    return option.number == kObserve || IsBlockOption(option.number);
  });
  bodies_.push_back(std::move(kept));
}

void StreamImpl::DropOldBodies() {
  std::erase_if(bodies_, [this](const SentBody& kept) { return now_us_ - kept.sent_us > kBodyUs; });
}

size_t StreamImpl::desk_bytes() const {
  constexpr size_t kNodeBytes = 64;
  size_t bytes = at_desk_.size() * (sizeof(AtDesk) + kNodeBytes);
  for (const auto& [token, row] : at_desk_) bytes += token.size() + row.key.size();
  for (const SentBody& kept : bodies_) bytes += sizeof(SentBody) + kept.body.capacity();
  for (const auto& [id, asking] : asking_) {
    bytes += sizeof(Asking) + 2 * kNodeBytes + asking.upload.capacity() +
             asking.whole.payload.capacity() + OptionBytes(asking.options);
  }
  return bytes;
}

}  // namespace seganet::coap
