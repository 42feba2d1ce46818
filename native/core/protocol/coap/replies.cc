#include "core/protocol/coap/replies.h"

#include <algorithm>

#include "core/base/require.h"

namespace seganet::coap {
namespace {

constexpr size_t kMaxSegmentBytes = 255;

Reply Error(Code code, std::string_view why) {
  Reply reply;
  reply.code = code;
  reply.payload = why;
  return reply;
}

}  // namespace

std::string Discovery(const Settings& settings) {
  return "</" + settings.path + ">;rt=\"seganet.records\",</" + settings.command_path +
         ">;rt=\"seganet.commands\";obs";
}

Reply ReplyTo(const Refusal& refusal) { return Error(refusal.code, refusal.why); }

Reply ReplyTo(const Answer& answer) {
  Reply reply;
  switch (answer.verdict) {
    case Verdict::kTaken:
      reply.code = kChanged;
      return reply;
    case Verdict::kFull:
      reply = Error(kUnavailable, "The gateway is full.");
      break;
    case Verdict::kTooFast:
      reply = Error(kTooManyRequests, "This device sends too many records.");
      break;
    case Verdict::kNotAllowed:
      return Error(kForbidden, "This device may not send to this topic.");
    case Verdict::kNotTaken:
      reply = Error(kUnavailable, "Nothing in the gateway accepts the record.");
      break;
  }
  reply.max_age = answer.retry_s;
  return reply;
}

Reply ReplyTo(Uploads::Step step, const Block& block, size_t max_body_bytes) {
  SEGANET_REQUIRE(step != Uploads::Step::kWhole);
  Reply reply;
  switch (step) {
    case Uploads::Step::kContinue:
    case Uploads::Step::kWhole:
      reply.code = kContinue;
      reply.block1 = block;
      break;
    case Uploads::Step::kIncomplete:
      reply = Error(kEntityIncomplete, "A previous block is missing. Start again.");
      break;
    case Uploads::Step::kTooLarge:
      reply = Error(kEntityTooLarge, "The body is too large.");
      reply.size1 = static_cast<uint32_t>(max_body_bytes);
      break;
    case Uploads::Step::kBadBlock:
      reply = Error(kBadRequest, "The block has the wrong size.");
      break;
  }
  return reply;
}

Refusal CheckMethod(uint8_t code, const Request& request) {
  const bool is_get = code == kGet;
  const bool is_write = code == kPost || code == kPut;
  if (!is_get && !is_write) return {kMethodNotAllowed, "Use GET, POST or PUT."};
  if (request.resource == Resource::kRecords && is_get) {
    return {kMethodNotAllowed, "Use POST for records."};
  }
  if (request.resource != Resource::kRecords && is_write) {
    return {kMethodNotAllowed, "This resource is read-only."};
  }
  if (request.resource == Resource::kDiscovery && request.accept &&
      *request.accept != kLinkFormat) {
    return {kNotAcceptable, "Only application/link-format."};
  }
  return {};
}

bool IsLocation(std::string_view topic) {
  for (size_t at = 0;;) {
    const size_t end = std::min(topic.find('/', at), topic.size());
    if (end - at > kMaxSegmentBytes) return false;
    if (end == topic.size()) return true;
    at = end + 1;
  }
}

}  // namespace seganet::coap
