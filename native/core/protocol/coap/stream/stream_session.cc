#include "core/protocol/coap/stream/stream_session.h"

#include <algorithm>
#include <utility>

#include "core/base/require.h"
#include "core/protocol/coap/stream/stream_impl.h"

namespace seganet::coap {
namespace {

constexpr size_t kKeptBytes = 4096;  // an empty buffer keeps this much

}  // namespace

StreamImpl::StreamImpl(Handler* handler, std::shared_ptr<const StreamSetup> setup,
                       std::string device, int64_t now_us)
    : handler_(handler),
      setup_(std::move(setup)),
      settings_(setup_->settings),
      limits_(setup_->limits),
      options_(setup_->options),
      device_(std::move(device)),
      now_us_(now_us) {}

CloseReason StreamImpl::Feed(std::span<const uint8_t> bytes) {
  if (!bytes.empty()) heard_ = true;
  if (is_anonymous() && close_reason_ == CloseReason::kNone) {
    bytes_before_ += bytes.size();
    if (bytes_before_ > options_.max_bytes_before) {
      Close(CloseReason::kTooLarge, "Too many bytes before the device is known.");
    }
  }
  while (!bytes.empty() && IsOpen()) {
    if (!partial_.empty()) {
      if (!FinishPartial(&bytes)) break;
      continue;
    }
    const StreamFrame frame = DecodeFrame(bytes);
    if (!CheckFrame(frame)) break;
    if (frame.status != StreamFrame::Status::kOk || bytes.size() < frame.total) {
      partial_.assign(bytes.begin(), bytes.end());
      break;
    }
    OnFrame(frame, bytes.subspan(frame.header, frame.total - frame.header));
    bytes = bytes.subspan(frame.total);
  }
  return close_reason_;
}

// Completes the buffered message from `bytes`. True when it was complete and handled.
bool StreamImpl::FinishPartial(std::span<const uint8_t>* bytes) {
  for (;;) {
    const StreamFrame frame = DecodeFrame(partial_);
    if (!CheckFrame(frame)) return false;
    if (frame.status == StreamFrame::Status::kOk && partial_.size() == frame.total) {
      std::vector<uint8_t> whole = std::move(partial_);
      partial_.clear();
      OnFrame(DecodeFrame(whole), std::span<const uint8_t>(whole).subspan(frame.header));
      whole.clear();
      if (whole.capacity() <= kKeptBytes) partial_ = std::move(whole);
      return true;
    }
    if (bytes->empty()) return false;
    // Byte by byte until the length is known, so that no byte of the next message is taken.
    const size_t wanted = frame.total == 0 ? 1 : frame.total - partial_.size();
    const size_t n = std::min(wanted, bytes->size());
    partial_.insert(partial_.end(), bytes->begin(), bytes->begin() + static_cast<ptrdiff_t>(n));
    *bytes = bytes->subspan(n);
  }
}

bool StreamImpl::CheckFrame(const StreamFrame& frame) {
  if (frame.status == StreamFrame::Status::kMalformed) {
    Close(CloseReason::kCoapMalformed, "The token is too long.");
  } else if (frame.total > settings_.max_stream_message_bytes) {
    Close(CloseReason::kTooLarge, "The message is larger than our Max-Message-Size.");
  }
  return close_reason_ == CloseReason::kNone;
}

void StreamImpl::OnFrame(const StreamFrame& frame, std::span<const uint8_t> body) {
  mute_ = answered_bytes > 0;
  answered_bytes -= std::min(answered_bytes, frame.total);
  Message message;
  message.code = frame.code;
  message.token = frame.token;
  if (!has_csm_ && !options_.csm_optional && frame.code != kCsm) {  // RFC 8323 5.3
    return Close(CloseReason::kCoapSignal, "The first message must be a CSM.");
  }
  if (!ParseBody(body, &message)) {
    return Close(CloseReason::kCoapMalformed, "The options cannot be read.");
  }
  switch (ClassOf(frame.code)) {
    case kSignalClass:
      return OnSignal(message);
    case 0:
      // RFC 8323 3.4: an Empty message is ignored.
      if (frame.code != kEmpty && !mute_) OnRequest(message);
      return;
    case 2:
    case 4:
    case 5:
      return OnResponse(message);
    default:
      return Close(CloseReason::kCoapMalformed, "The code is in a reserved class.");
  }
}

void StreamImpl::ConsumeOutput(size_t n) {
  SEGANET_REQUIRE(n <= output().size());
  output_sent_ += n;
  if (output_sent_ < output_.size()) {
    // Moves each byte at most once on average, and keeps the string close to the unsent size.
    if (output_sent_ <= output_.size() / 2) return;
    output_.erase(0, output_sent_);
    output_sent_ = 0;
    return;
  }
  output_sent_ = 0;
  output_.clear();
  if (output_.capacity() > kKeptBytes) output_.shrink_to_fit();
}

void StreamImpl::ReleaseBuffers() {
  if (partial_.empty()) partial_.shrink_to_fit();
  if (output_.empty()) output_.shrink_to_fit();
  if (bodies_.empty()) bodies_.shrink_to_fit();
  if (in_flight_.empty()) in_flight_.shrink_to_fit();
  pending_.ReleaseIfEmpty();
  ReleaseWhole();
  request_.reset();
}

size_t StreamImpl::memory_bytes() const {
  size_t bytes = partial_.capacity() + output_.capacity() + whole_.capacity() +
                 pending_.memory_bytes() + in_flight_.capacity() * sizeof(InFlight) + desk_bytes();
  if (request_ != nullptr) bytes += sizeof(Request) + request_->memory_bytes();
  if (uploads_ != nullptr) bytes += sizeof(Uploads) + uploads_->memory_bytes();
  if (commands_ == nullptr) return bytes;
  const auto& latest = commands_->latest;
  return bytes + sizeof(CommandState) + commands_->observers.memory_bytes() +
         (latest ? latest->payload.size() + latest->topic.size() : 0);
}

StreamSession::StreamSession(Handler* handler, std::shared_ptr<const StreamSetup> setup,
                             std::string device, int64_t now_us)
    : impl_(std::make_unique<StreamImpl>(handler, std::move(setup), std::move(device), now_us)) {}

StreamSession::StreamSession(Handler* handler, const Settings& settings, const Limits& limits,
                             std::string device, int64_t now_us, const StreamOptions& options)
    : StreamSession(handler, std::make_shared<const StreamSetup>(settings, limits, options),
                    std::move(device), now_us) {}

StreamSession::~StreamSession() = default;

void StreamSession::SkipAnswered(size_t n) { impl_->answered_bytes = n; }
CloseReason StreamSession::Feed(std::span<const uint8_t> bytes) { return impl_->Feed(bytes); }
bool StreamSession::Acknowledge(uint64_t handle) { return impl_->Acknowledge(handle); }
CommandStart StreamSession::Command(uint64_t id, std::string_view topic, std::string_view payload) {
  return impl_->Start(id, topic, payload);
}
void StreamSession::Identify(std::string device) { impl_->Identify(std::move(device)); }
void StreamSession::Forget() { impl_->Forget(); }
bool StreamSession::Answer(std::string_view token, uint8_t code, OptionValues options,
                           std::string_view payload) {
  return impl_->Answer(token, code, std::move(options), payload);
}
size_t StreamSession::asked() const { return impl_->asked(); }
void StreamSession::Settle(std::string_view token) { impl_->Settle(token); }
size_t StreamSession::unsettled() const { return impl_->unsettled(); }
bool StreamSession::AnswerOwn(std::string_view token, uint64_t id, uint8_t code,
                              OptionValues options, std::string_view payload) {
  return impl_->AnswerOwn(token, id, code, std::move(options), payload);
}
bool StreamSession::PassToDesk(std::string_view token, uint64_t id) {
  return impl_->PassToDesk(token, id);
}
bool StreamSession::RecordOwn(std::string_view token, uint64_t id, const Incoming& record) {
  return impl_->RecordOwn(token, id, record);
}
void StreamSession::EndOwn() { impl_->EndOwn(); }
AskStart StreamSession::Ask(uint64_t id, const RequestSpec& request) {
  return impl_->Ask(id, request);
}
void StreamSession::Cancel(uint64_t id) { impl_->Cancel(id); }
bool StreamSession::OnTime(int64_t now_us) { return impl_->OnTime(now_us); }
void StreamSession::OnResumed() { impl_->OnResumed(); }
void StreamSession::Release() { impl_->Release(); }
std::string_view StreamSession::output() const { return impl_->output(); }
void StreamSession::ConsumeOutput(size_t n) { impl_->ConsumeOutput(n); }
bool StreamSession::WantsPause() const { return impl_->WantsPause(); }
CloseReason StreamSession::close_reason() const { return impl_->close_reason(); }
const std::string& StreamSession::device() const { return impl_->device(); }
bool StreamSession::listening() const { return impl_->listening(); }
size_t StreamSession::unacknowledged() const { return impl_->unacknowledged(); }
size_t StreamSession::buffered_bytes() const { return impl_->buffered_bytes(); }
size_t StreamSession::partial_bytes() const { return impl_->partial_bytes(); }
size_t StreamSession::memory_bytes() const { return sizeof(StreamImpl) + impl_->memory_bytes(); }

}  // namespace seganet::coap
