// Engine: the request desk.
#include <memory>
#include <utility>

#include "core/record/odd_topic.h"
#include "core/runtime/engine.h"

namespace seganet {

Worker* Engine::WorkerAtDesk(uint64_t connection) {
  if (closed_) return nullptr;
  const std::optional<uint32_t> worker = desk_.WorkerOf(connection);
  return worker ? workers_[*worker].get() : nullptr;
}

uint32_t Engine::PlaceAtDesk(Handoff* handoff) {
  const auto worker = static_cast<uint32_t>(next_desk_worker_++ % workers_.size());
  handoff->connection = desk_.Open(handoff->stage, worker);
  return worker;
}

void Engine::ArriveAtDesk(uint32_t worker, uint64_t connection,
                          const std::shared_ptr<DeskParcel>& parcel) {
  if (workers_[worker]->desk().Arrive(connection, parcel)) return;
  desk_.Close(connection, {}, "stopped");
}

bool Engine::AnswerRequest(uint64_t connection, std::string token, uint8_t code,
                           coap::OptionValues options, std::string payload) {
  Worker* const worker = WorkerAtDesk(connection);
  if (worker == nullptr) return false;
  worker->desk().Answer(connection, std::move(token), code, std::move(options), std::move(payload));
  return true;
}

void Engine::AnswerRequests(const std::vector<DeskAddressee>& to, DeskReply reply) {
  if (closed_) return;
  const auto shared = std::make_shared<const DeskReply>(std::move(reply));
  std::vector<std::vector<DeskAddressee>> parts(workers_.size());
  for (const DeskAddressee& each : to) {
    if (const auto worker = desk_.WorkerOf(each.connection)) parts[*worker].push_back(each);
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].empty()) workers_[i]->desk().AnswerAll(std::move(parts[i]), shared);
  }
}

bool Engine::IdentifyConnection(uint64_t connection, DeskIdentity identity) {
  if (closed_ || identity.device.empty() || identity.device.size() > kMaxDeviceBytes ||
      (!options_.odd_topics && IsOddTopic(identity.device))) {
    return false;
  }
  const auto route = Route();
  const uint32_t to = WorkerOf(identity.device);
  const std::optional<uint32_t> from = desk_.Move(connection, identity.device, to);
  if (!from) return false;
  if (*from != to) workers_[to]->desk().Expect(connection);
  workers_[*from]->desk().Identify(connection, std::move(identity), to);
  return true;
}

bool Engine::SettleRequest(uint64_t connection, const std::string& token) {
  Worker* const worker = WorkerAtDesk(connection);
  if (worker == nullptr) return false;
  worker->desk().Settle(connection, token);
  return true;
}

bool Engine::GrantConnection(uint64_t connection, const std::string& owner, GrantRights rights) {
  Worker* const worker = WorkerAtDesk(connection);
  if (worker == nullptr) return false;
  worker->desk().Grant(connection, owner, rights);
  return true;
}

bool Engine::ForgetConnection(uint64_t connection, std::string reason) {
  Worker* const worker = WorkerAtDesk(connection);
  if (worker == nullptr) return false;
  // At once, so that the next identity may be another one.
  desk_.Forget(connection);
  worker->desk().Forget(connection, std::move(reason));
  return true;
}

bool Engine::CloseConnection(uint64_t connection, std::string reason) {
  Worker* const worker = WorkerAtDesk(connection);
  if (worker == nullptr) return false;
  worker->desk().Close(connection, std::move(reason));
  return true;
}

PushResult Engine::RecordOfConnection(uint64_t connection, uint64_t handle, std::string topic,
                                      std::string payload, uint8_t record_class, uint64_t post) {
  if (closed_) return PushResult::kClosed;
  if (topic.empty() || topic.size() > kMaxTopicBytes ||
      payload.size() > options_.max_packet_bytes) {
    return PushResult::kTooLong;
  }
  if (topic.find_first_of(std::string_view("+#\0", 3)) != std::string::npos ||
      (!options_.odd_topics && IsOddTopic(topic))) {
    return PushResult::kOddTopic;
  }
  Worker* const worker = WorkerAtDesk(connection);
  if (worker == nullptr) return PushResult::kNoStage;
  worker->desk().Record(connection, handle, std::move(topic), std::move(payload), record_class,
                        post);
  return PushResult::kOk;
}

uint64_t Engine::OpenTopic(DeskTopicSpec spec) {
  const std::string& subject = spec.subject;
  if (closed_ || topics_.size() >= kMostTopics || spec.owner.empty() || spec.name.empty() ||
      spec.name.find('\0') != std::string::npos || subject.empty() ||
      subject.size() > kMaxTopicBytes ||
      subject.find_first_of(std::string_view("+#\0", 3)) != std::string::npos ||
      (!options_.odd_topics && IsOddTopic(subject))) {
    return 0;
  }
  spec.id = ++last_topic_;
  topics_.insert(spec.id);
  for (const auto& worker : workers_) worker->desk().posts().Open(spec);
  return spec.id;
}

void Engine::CloseTopic(uint64_t id) {
  if (closed_ || topics_.erase(id) == 0) return;
  for (const auto& worker : workers_) worker->desk().posts().Close(id);
}

void Engine::FollowTopic(uint64_t id, bool on) {
  if (closed_ || !topics_.contains(id)) return;
  for (const auto& worker : workers_) worker->desk().posts().Follow(id, on);
}

void Engine::AskLatest(uint32_t stage, uint64_t handle, uint64_t id) {
  desk_.AskLatest(stage, handle, closed_ ? 1 : workers_.size());
  if (closed_) return desk_.GiveLatest(stage, handle, 0, {});
  for (const auto& worker : workers_) worker->desk().posts().GiveLatest(stage, handle, id);
}

uint64_t Engine::AskDevice(uint32_t stage, DeviceAsk ask, int64_t timeout_us) {
  if (closed_) return 0;
  ask.handle = desk_.OpenAsk(stage, ask.device);
  if (ask.handle == 0) return 0;
  ask.deadline_us = MonotonicUs() + timeout_us;
  const uint64_t handle = ask.handle;
  const auto route = Route();
  Worker& owner = *workers_[WorkerOf(ask.device)];
  owner.desk().AskDevice(std::move(ask));
  return handle;
}

void Engine::CancelAsk(uint64_t handle) {
  if (closed_) return;
  const std::optional<std::string> device = desk_.Drop(handle);
  if (!device) return;
  const auto route = Route();
  workers_[WorkerOf(*device)]->desk().CancelAsk(handle);
}

}  // namespace seganet
