#include "core/devices/desk/desk_session.h"

#include <algorithm>
#include <utility>

#include "core/base/require.h"
#include "core/devices/coap_convert.h"
#include "core/record/record.h"

namespace seganet {
namespace {

// Separates handles of JavaScript's records from those of the stream session, whose handles have
// fewer bits.
constexpr uint64_t kRecordBit = uint64_t{1} << 63;

DeskRecorded ResultOf(RecordAnswer::Verdict verdict) {
  switch (verdict) {
    case RecordAnswer::Verdict::kTaken:
      return DeskRecorded::kSafe;
    case RecordAnswer::Verdict::kFull:
    case RecordAnswer::Verdict::kTooFast:
    case RecordAnswer::Verdict::kPartFull:
      return DeskRecorded::kFull;
    case RecordAnswer::Verdict::kNotAllowed:
    case RecordAnswer::Verdict::kNoPart:
      return DeskRecorded::kNotAllowed;
    case RecordAnswer::Verdict::kNotTaken:
      return DeskRecorded::kNotTaken;
  }
  return DeskRecorded::kNotTaken;
}

}  // namespace

DeskSession::DeskSession(DeskHost* host, AgentSessionOwner* owner, uint64_t connection,
                         std::shared_ptr<const DeskOptions> options,
                         std::shared_ptr<const coap::StreamSetup> setup, std::string address,
                         std::string note)
    : host_(host),
      owner_(owner),
      connection_(connection),
      options_(std::move(options)),
      setup_(std::move(setup)),
      address_(std::move(address)),
      note_(std::move(note)),
      session_(this, setup_, {}, MonotonicUs()) {}

void DeskSession::Identify(const DeskIdentity& identity) {
  SEGANET_REQUIRE(device().empty() || device() == identity.device);
  if (device().empty()) session_.Identify(identity.device);
  identity_ = identity;
}

void DeskSession::Forget() {
  session_.Forget();
  identity_ = {};
  grants_.clear();
}

bool DeskSession::Grant(const std::string& owner, GrantRights rights) {
  const auto found =
      std::find_if(grants_.begin(), grants_.end(),
                   [&owner](const DeviceGrant& each) { return each.owner == owner; });
  if (found != grants_.end()) grants_.erase(found);
  if (rights == GrantRights::kNone) return true;
  if (grants_.size() >= kMostGrants) return false;
  grants_.push_back({owner, rights});
  return true;
}

void DeskSession::Hold(HeldRequest request) {
  held_bytes_ += request.event.bytes();
  held_.push_back(std::move(request));
}

HeldRequest DeskSession::TakeHeld() {
  SEGANET_REQUIRE(!held_.empty());
  HeldRequest request = std::move(held_.front());
  held_.pop_front();
  held_bytes_ -= request.event.bytes();
  return request;
}

void DeskSession::Record(uint64_t handle, const IncomingRecord& record, DeskTopic* topic) {
  if (device().empty())
    return host_->OnRecorded(owner_->stage(), handle, DeskRecorded::kNotAllowed);
  const uint64_t own = kRecordBit | ++last_record_;
  IncomingRecord marked = record;
  marked.handle = own;
  const RecordAnswer answer = owner_->OnRecord(marked);
  const bool taken = answer.verdict == RecordAnswer::Verdict::kTaken;
  if (taken && answer.copies > 0) {
    records_[own] = {handle, answer.copies, KeepPost(topic, record.payload)};
  } else {
    if (taken && topic != nullptr) Publish(topic, ++topic->taken, record.payload);
    host_->OnRecorded(owner_->stage(), handle, ResultOf(answer.verdict));
  }
}

void DeskSession::Acknowledge(uint64_t handle) {
  if ((handle & kRecordBit) == 0) {
    session_.Acknowledge(handle);
    return;
  }
  const auto found = records_.find(handle);
  if (found == records_.end() || --found->second.missing > 0) return;
  const Waiting waiting = std::move(found->second);
  records_.erase(found);
  EndPost(waiting.post);
  host_->OnRecorded(owner_->stage(), waiting.handle, DeskRecorded::kSafe);
}

// A post to a topic that JavaScript follows is kept in any case: the number of records that wait
// bounds those.
DeskSession::Post DeskSession::KeepPost(DeskTopic* topic, std::string_view payload) {
  if (topic == nullptr) return {};
  Post post;
  post.topic = topic->shared_from_this();
  post.number = ++topic->taken;
  if (host_->TakeRoom(payload.size())) {
    post.room = payload.size();
    post_room_ += post.room;
  } else if (!topic->is_followed) {
    return {};
  }
  post.payload = payload;
  return post;
}

void DeskSession::EndPost(const Post& post) {
  if (post.topic == nullptr) return;
  DropPost(post);
  Publish(post.topic.get(), post.number, post.payload);
}

// Records may become safe in another order than that of their posts, because batches do. Then the
// later post counts (RFC 7641 1.3), and the topic does not return to the earlier one.
void DeskSession::Publish(DeskTopic* topic, uint64_t number, std::string_view payload) {
  if (number < topic->published) return;
  topic->published = number;
  host_->OnPosted(topic, payload);
}

void DeskSession::DropPost(const Post& post) {
  post_room_ -= post.room;
  host_->GiveRoom(post.room);
}

bool DeskSession::IsRecord(const coap::Asked& asked, coap::Incoming* record) {
  DeskTopic* const topic = host_->OnPost(this, asked);
  if (topic == nullptr) return false;
  record->topic = topic->spec.subject;
  record->record_class = topic->spec.record_class;
  record->context = topic;
  return true;
}

bool DeskSession::RecordOwn(std::string_view token, uint64_t id, DeskTopic* topic,
                            std::string_view payload) {
  coap::Incoming record;
  record.topic = topic->spec.subject;
  record.record_class = topic->spec.record_class;
  record.context = topic;
  record.payload = payload;
  return session_.RecordOwn(token, id, record);
}

void DeskSession::OnSafe(uint64_t handle) {
  const auto found = posts_.empty() ? posts_.end() : posts_.find(handle);
  if (found == posts_.end()) return;
  const Post post = std::move(found->second);
  posts_.erase(found);
  EndPost(post);
}

bool DeskSession::Refuse(uint64_t handle) {
  if ((handle & kRecordBit) == 0) return false;
  const auto found = records_.find(handle);
  if (found == records_.end()) return true;
  const Waiting waiting = std::move(found->second);
  records_.erase(found);
  DropPost(waiting.post);
  host_->OnRecorded(owner_->stage(), waiting.handle, DeskRecorded::kNotTaken);
  return true;
}

coap::Answer DeskSession::OnRecord(const coap::Incoming& incoming) {
  IncomingRecord record;
  record.topic = incoming.topic;
  record.payload = incoming.payload;
  record.flags = incoming.confirmable ? kFlagQos1 : 0;
  record.record_class = incoming.record_class;
  record.handle = incoming.handle;
  const RecordAnswer answer = owner_->OnRecord(record);
  auto* const topic = static_cast<DeskTopic*>(incoming.context);
  if (topic != nullptr && answer.verdict == RecordAnswer::Verdict::kTaken) {
    host_->OnPostTaken();
    if (answer.copies == 0) {
      Publish(topic, ++topic->taken, incoming.payload);
    } else if (Post post = KeepPost(topic, incoming.payload); post.topic != nullptr) {
      posts_.emplace(incoming.handle, std::move(post));
    }
  }
  return CoapAnswer(answer);
}

CommandStart DeskSession::Command(uint64_t id, std::string_view topic, std::string_view payload,
                                  uint8_t) {
  return FromCoap(session_.Command(
      id, CoapCommandTopic(topic, device(), setup_->settings.command_path), payload));
}

void DeskSession::OnCommandAnswer(uint64_t id, uint8_t result) {
  // The outcome of a lost command is unknown: it ends by its timeout or with its connection.
  if (result != coap::kCommandLost) owner_->OnCommandAnswer(id, result == coap::kCommandTaken);
}

bool DeskSession::MayObserve(std::string_view device) {
  return owner_->MaySubscribe(CoapCommandFilter(device));
}

void DeskSession::OnObserved(std::string_view, bool on) {
  if (on) owner_->OnListening();
}

void DeskSession::OnTime(int64_t now_us) {
  if (!session_.OnTime(now_us)) silent_ = true;
  if (!device().empty() && now_us >= identity_.until_us) host_->OnExpired(this);
}

void DeskSession::SayGoodbye(AgentEnd end) {
  // RFC 8323 5.5
  if (end == AgentEnd::kStopped || end == AgentEnd::kNotTaken || end == AgentEnd::kTakenOver ||
      end == AgentEnd::kDismissed) {
    session_.Release();
  }
}

bool DeskSession::Finish(AgentEnd) {
  for (const auto& [own, waiting] : records_) {
    host_->OnRecorded(owner_->stage(), waiting.handle, DeskRecorded::kLost);
  }
  records_.clear();
  return false;
}

}  // namespace seganet
