// Forwards the requests of a peer to a device, and the device's answers back, both with any bytes.
// Checks what reaches either side, and the counts of requests that the desk and the owner have. An
// input is the bytes of the peer, those of the device, the number of the latter (2 bytes) and the
// mode. With mode 8, posts to p/… are records; some are held before.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/devices/desk/desk_topics.h"
#include "core/devices/desk/forward_rules.h"
#include "core/protocol/coap/stream/stream_session.h"
#include "test/support/coap_bytes.h"

namespace {

using seganet::ForwardFormat;
using seganet::ForwardOptions;
using seganet::ForwardShape;
using seganet::PostOptions;
using seganet::coap::AskAnswer;
using seganet::coap::Asked;
using seganet::coap::AskStart;
using seganet::coap::Limits;
using seganet::coap::Settings;
using seganet::coap::StreamOptions;
using seganet::coap::StreamSession;
using seganet::coap::Taker;
using seganet::coap_test::Read;
using seganet::coap_test::ReadFrames;
using seganet::coap_test::Span;

void Check(bool good) {
  if (!good) std::abort();
}

constexpr unsigned kVersion = 2053;

StreamOptions Stream() {
  StreamOptions options;
  options.identifies = true;
  options.csm_optional = true;
  options.prefixes = {""};
  options.known_options = {2049, kVersion};
  options.max_asked = 6;
  options.max_asks = 4;
  return options;
}

ForwardOptions Forward(uint8_t mode) {
  ForwardOptions options;
  options.prefix = {"f"};
  options.options = {{.number = 4, .least_bytes = 1, .most_bytes = 8, .most = 2}};
  options.most_queries = 2;
  options.answer_options = {4, 8, 12, 14, kVersion};
  if ((mode & 1) != 0) {
    options.format = ForwardFormat{.value = 10'000,
                                   .alias = 60,
                                   .accept_option = 2049,
                                   .content_option = kVersion,
                                   .version = 2048};
  }
  return options;
}

PostOptions Posts() {
  PostOptions options;
  options.prefix = {"p"};
  options.formats = {60, 10'000};
  options.ignored_options = {2049, kVersion};
  options.body = {.bytes = 256, .depth = 3, .items = 16};
  return options;
}

class Gateway;

class Device : public seganet::coap::Handler {
 public:
  explicit Device(Gateway* gateway)
      : session(this, Settings{}, Limits{}, "", 1, Stream()), gateway_(gateway) {
    session.Identify("d");
  }
  seganet::coap::Answer OnRecord(const seganet::coap::Incoming&) override { return {}; }
  void OnAskAnswer(uint64_t id, const AskAnswer& answer) override;

  StreamSession session;

 private:
  Gateway* const gateway_;
};

class Gateway : public seganet::coap::Handler {
 public:
  explicit Gateway(uint8_t mode)
      : peer(this, Settings{}, Limits{}, "", 1, Stream()),
        device(this),
        mode_(mode),
        options_(Forward(mode)) {
    peer.Identify("c");
  }

  // All requests go to the desk, so every record is a post.
  seganet::coap::Answer OnRecord(const seganet::coap::Incoming& record) override {
    Check(record.context == this && record.topic == "topic" && record.handle != 0);
    Check(seganet::IsCborMap(record.payload, posts_.body));
    if (record.payload.size() % 3 == 0) return {seganet::coap::Verdict::kNotTaken, 0, 1};
    ++posted_;
    seganet::coap::Answer answer;
    answer.copies = record.payload.size() % 3 == 1 ? 1 : 0;
    if (answer.copies > 0) unsafe_.push_back(record.handle);
    return answer;
  }
  void OnSafe(uint64_t) override { ++safe_; }

  bool IsRecord(const Asked& asked, seganet::coap::Incoming* record) override {
    if (!IsPost(asked) || asked.id % 3 == 0) return false;
    record->topic = "topic";
    record->context = this;
    return true;
  }

  Taker OnAsked(const Asked& asked) override {
    const std::string token(asked.token);
    if (IsPost(asked)) {
      posts_held_.push_back({asked.id, token, std::string(asked.payload)});
      return Taker::kOwner;
    }
    if (seganet::ForwardDevice(options_, asked.path) != "d") return ToDesk(token);
    Request request{asked.id, token, {}};
    seganet::coap::RequestSpec spec;
    if (!ReadForward(options_, asked, &spec, &request.shape)) return ToDesk(token);
    Check(!spec.observe && spec.query.size() <= 2);
    for (const std::string& segment : spec.path) {
      Check(segment.find('/') == std::string::npos);
      for (const char c : segment) Check(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
    }
    own_[request.id] = request;
    if ((mode_ & 2) != 0 && asked.id % 3 == 0) return Taker::kOwner;  // held until the end
    if (device.session.Ask(request.id, spec) != AskStart::kSent) {
      AskAnswer busy;
      busy.code = 0xA3;
      Answer(request.id, busy);
    }
    return Taker::kOwner;
  }

  void Answer(uint64_t id, const AskAnswer& answer) {
    const auto found = own_.find(id);
    Check(found != own_.end());
    const Request request = found->second;
    own_.erase(found);
    const auto options = ForwardedAnswer(options_, "d", request.shape, answer.options);
    for (const auto& option : options) {
      const auto& known = options_.answer_options;
      Check(std::find(known.begin(), known.end(), option.number) != known.end());
      const bool may_know = request.shape.knows_version && !request.shape.wants_alias;
      Check(option.number != kVersion || may_know || !options_.format);
    }
    const bool sent = peer.AnswerOwn(request.token, id, answer.code, options, answer.payload);
    Check(sent || peer.close_reason() != seganet::CloseReason::kNone);
  }

  // The requests that are held go to the desk; then it answers all of them.
  void End() {
    for (const auto& [id, request] : own_) {
      if (id % 3 != 0 || (mode_ & 2) == 0) continue;
      Check(peer.PassToDesk(request.token, id));
      tokens_.push_back(request.token);
    }
    Check(peer.unsettled() == peer.asked());
    for (const std::string& token : tokens_) {
      peer.Settle(token);
      peer.Answer(token, 0x45, {}, "desk");
    }
    Check(peer.unsettled() == 0);
    for (const Held& post : posts_held_) {
      seganet::coap::Incoming record;
      record.topic = "topic";
      record.payload = post.payload;
      record.context = this;
      const bool done = peer.RecordOwn(post.token, post.id, record);
      Check(done || peer.close_reason() != seganet::CloseReason::kNone);
      Check(!peer.RecordOwn(post.token, post.id, record));
    }
    for (const uint64_t handle : unsafe_) {
      const bool done = peer.Acknowledge(handle);
      Check(done || peer.close_reason() != seganet::CloseReason::kNone);
    }
    const bool is_open = peer.close_reason() == seganet::CloseReason::kNone;
    Check(!is_open || (safe_ == posted_ && peer.unacknowledged() == 0));
    peer.EndOwn();
    Check(peer.asked() == 0 || peer.close_reason() != seganet::CloseReason::kNone);
  }

  StreamSession peer;
  Device device;

 private:
  struct Request {
    uint64_t id = 0;
    std::string token;
    ForwardShape shape;
  };

  struct Held {
    uint64_t id = 0;
    std::string token, payload;
  };

  bool IsPost(const Asked& asked) const {
    if ((mode_ & 8) == 0 || !seganet::IsPost(posts_, asked)) return false;
    Check(asked.code == 2 && asked.query.empty() && asked.path.size() >= 2 && asked.is_plain);
    return true;
  }

  Taker ToDesk(const std::string& token) {
    if ((mode_ & 4) != 0 && token.size() % 2 == 1) return Taker::kNone;
    tokens_.push_back(token);
    return Taker::kDesk;
  }

  const uint8_t mode_;
  const ForwardOptions options_;
  std::map<uint64_t, Request> own_;  // forwarded or held, by id
  std::vector<std::string> tokens_;  // of requests at the desk
  const PostOptions posts_ = Posts();
  std::vector<Held> posts_held_;
  std::vector<uint64_t> unsafe_;  // handles of records
  size_t posted_ = 0;             // records of posts
  size_t safe_ = 0;
};

void Device::OnAskAnswer(uint64_t id, const AskAnswer& answer) { gateway_->Answer(id, answer); }

// What a device gets: only options that it knows, and the one format.
void CheckAsked(const Read& request, bool has_format) {
  Check(request.good);
  if (request.code == 0 || request.code >= 0x20) return;
  size_t accepts = 0;
  for (const auto& [number, value] : request.options) {
    switch (number) {
      case 4:
        Check(!value.empty() && value.size() <= 8);
        break;
      case 11:
      case 15:
      case 23:  // the options of blocks
      case 27:
      case 28:
      case 60:
        break;
      case 17:
        ++accepts;
        [[fallthrough]];
      case 12:
        Check(has_format && value == "\x27\x10");
        break;
      case 2049:
      case kVersion:
        Check(has_format && value == std::string_view("\x08\x00", 2));
        break;
      default:
        Check(false);
    }
  }
  Check(accepts == (has_format ? 1 : 0));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const uint8_t mode = data[size - 1];
  const size_t tail = std::min<size_t>(data[size - 3] * 256u + data[size - 2], size - 3);
  const std::string_view bytes(reinterpret_cast<const char*>(data), size - 3);
  Gateway gateway(mode);
  (void)gateway.peer.Feed(Span(bytes.substr(0, bytes.size() - tail)));
  (void)gateway.device.session.Feed(Span(bytes.substr(bytes.size() - tail)));
  gateway.End();
  for (const Read& request : ReadFrames(gateway.device.session.output())) {
    CheckAsked(request, (mode & 1) != 0);
  }
  for (const Read& answer : ReadFrames(gateway.peer.output())) Check(answer.good);
  return 0;
}
