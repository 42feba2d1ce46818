// Worker: its agents, how they connect and end, and the records that they receive.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/record/odd_topic.h"
#include "core/record/part.h"
#include "core/runtime/worker.h"

namespace seganet {
namespace {

constexpr size_t kMessageReadBytes = 4096;
constexpr uint32_t kReadsPerClock = 16;
// Bytes per token in one read from a device with a rate. The smallest records have about this many
// bytes, so one read yields few more records than a bucket has tokens.
constexpr size_t kReadBytesPerToken = 8;
constexpr size_t kLeastReadBytes = 64;
// Discarded before a socket is closed.
constexpr size_t kDiscardBytes = 65'536;

// Discards what the device has sent, up to kDiscardBytes.
void Discard(int fd) {
  char bytes[4096];
  for (size_t left = kDiscardBytes / sizeof(bytes); left > 0; --left) {
    if (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0) return;
  }
}

DeviceEnd EndOf(AgentEnd end) {
  switch (end) {
    case AgentEnd::kProtocol:
    case AgentEnd::kTooMuch:
      return DeviceEnd::kProtocol;
    case AgentEnd::kKeepAlive:
      return DeviceEnd::kKeepAlive;
    case AgentEnd::kTakenOver:
      return DeviceEnd::kTakenOver;
    case AgentEnd::kStopped:
    case AgentEnd::kNotTaken:
      return DeviceEnd::kStopped;
    case AgentEnd::kClosed:
    case AgentEnd::kDismissed:
      break;
  }
  return DeviceEnd::kClosed;
}

}  // namespace

std::span<uint8_t> Worker::read_buffer(const Agent& agent) {
  size_t bytes = read_buffer_.size();
  // Small packets grow several times when they become messages. If messages are their only output,
  // one read must not produce more than half a ring, because the packets are acknowledged.
  if (pipeline_.message_only()) bytes = kMessageReadBytes;
  if (const TokenRate rate = agent.rate(); rate.limited()) {
    const size_t tokens = rate.burst != 0 ? rate.burst : rate.per_s;
    bytes = std::min(bytes, std::max(kLeastReadBytes, tokens * kReadBytesPerToken));
  }
  return std::span(read_buffer_).first(bytes);
}

// All data of one wake-up was present at its first read. Therefore the clock is read at the first
// read of a turn, and occasionally in a long turn.
int64_t Worker::OnRead(size_t bytes) {
  moderation_.Count();
  if (clock_reads_++ % kReadsPerClock == 0) now_ = Now::Read();
  counters_.Add(Counter::kReads);
  counters_.Add(Counter::kBytesReceived, bytes);
  return now_.mono_us;
}

void Worker::OnBuffered(Agent* agent, size_t bytes, bool is_new) {
  if (!unfinished_.Set(agent, bytes, is_new, now_.mono_us)) shared_.end_unfinished();
}

void Worker::EndUnfinished() {
  Post([this] {
    if (Agent* const agent = unfinished_.Costliest(MonotonicUs())) agent->CloseUnfinished();
  });
}

Admission Worker::OnConnect(Agent* agent, std::string_view id) {
  Device* device = devices_.Get(id, now_.mono_us);
  if (device == nullptr) {
    counters_.Add(Counter::kConnectionsRefused);
    return Admission::kNoRoom;
  }
  const SourceSettings& source = agent->source();
  const bool has_no_part = source.parted && source.part.empty();
  if ((device->proven_at != 0 || has_no_part) && !agent->proven()) {
    counters_.Add(Counter::kNotAllowed);
    return Admission::kProven;
  }
  if (agent->proven()) device->proven_at = agent->stage();
  if (device->agent != nullptr) {
    counters_.Add(Counter::kTakeOvers);
    device->agent->Close(AgentEnd::kTakenOver);
  }
  device->agent = agent;
  agent->device = device;
  device->stage = agent->stage();
  device->address = agent->address();
  devices_.UpdateOwn(device);
  CountIfSends(agent);
  RegisterBehind(agent);
  counters_.Add(Counter::kDevicesConnected);
  presence_.Connected(device, agent->source());
  return Admission::kAccepted;
}

RecordAnswer Worker::OnRecord(Agent* agent, const IncomingRecord& incoming) {
  if (!MayPublish(agent, incoming.topic)) {
    return {.verdict = RecordAnswer::Verdict::kNotAllowed};
  }
  Device* const device = agent->bridge_rows ? DeviceOf(agent, incoming) : agent->device;
  const uint8_t registered_class =
      device->place == nullptr ? agent->registered_class : device->registered_class;
  Record record;
  record.device = device->id;
  record.topic = incoming.topic;
  record.payload = incoming.payload;
  record.trace = incoming.trace;
  if (incoming.record_class != 0) {
    record.record_class = incoming.record_class;
  } else if (registered_class != 0) {
    record.record_class = registered_class;
  }
  record.flags = incoming.flags;
  record.seq = device->TakeSeq();
  record.ts_ms = now_.wall_ms;
  record.arrived_us = now_.mono_us;
  device->last_seen_us = now_.mono_us;
  agent->device->bucket.Pay(agent->rate(), now_.mono_us);
  counters_.Add(Counter::kRecordsReceived);
  const bool waits = !options_.acknowledge_at_once && incoming.handle != 0;
  if (waits) record.receipt = agent->ReceiptFor(incoming.handle);
  if (agent->source().delivered && incoming.handle != 0) {
    record.deferred = agent->ReceiptFor(incoming.handle);
  }
  const Passage passage = pipeline_.Run(agent->stage(), record);
  agent->latest_class = passage.record_class;
  urgent_.OnRecord(agent, passage.record_class, now_.mono_us);
  record.record_class = passage.record_class;
  shared_.exchange->CountRecord(device->slot);
  device->CountRecord(agent->stage(), record.record_class, record.payload.size(), now_.mono_us);
  values_.Keep(device, record);
  if (!passage.taken) return AnswerOf(passage.untaken, 0);
  fanout_.OnRecord(agent->source(), record, now_.mono_us);
  return {.copies = (waits ? passage.copies : 0) + passage.deferred};
}

// Returns the row of the device that a bridge's message is of; the bridge's own if the message
// names no device, or one that the bridge may not speak for.
Device* Worker::DeviceOf(Agent* agent, const IncomingRecord& incoming) {
  const BridgedDevice named =
      agent->bridge_rows->DeviceOf(incoming.topic, incoming.payload, &bridged_id_);
  std::string_view id = named.id;
  if (id.empty()) return agent->device;
  std::string with_part;
  if (agent->source().parted) {
    with_part = IdInPart(PartOf(agent->device_id()), id);
    id = with_part;
  }
  if (id == agent->device_id()) return agent->device;
  Device* device = DeviceTable::FindBehind(agent->device, id);
  if (device == nullptr) device = NewBehind(agent, id);
  const bool may = device != nullptr && (device->identity.speaks() ||
                                         device->identity.Claim(agent->device_id(), now_.mono_us));
  if (!may) {
    counters_.Add(Counter::kNotSpokenFor);
    if (device != nullptr) devices_.Uncount(device);
    return agent->device;
  }
  device->identity->spoken_us.store(now_.mono_us, std::memory_order_relaxed);
  std::string& prefix = device->place->prefix;
  if (prefix != named.prefix) prefix = named.prefix;
  const bool appears = !device->counted;
  devices_.Count(device, now_.mono_us);
  if (appears && agent->listening()) presence_.Listening(device);
  return device;
}

// Returns a row for a device that is new behind the agent's; null if it cannot have one.
Device* Worker::NewBehind(Agent* agent, std::string_view id) {
  if (id.size() > kMaxDeviceBytes || (!options_.odd_topics && IsOddTopic(id))) return nullptr;
  Device* const device = devices_.GetBehind(agent->device, id, now_.mono_us);
  if (device == nullptr) return nullptr;
  device->stage = agent->stage();
  device->address = agent->address();
  const auto registered = pipeline_.plan().DevicesOf(agent->stage());
  device->registered_class = registered == nullptr ? 0 : registered->Of(id);
  return device;
}

// Reports that commands for devices behind bridges may be sent: once per turn, because a bridge may
// subscribe many times and have thousands of devices.
void Worker::ReportBehind() {
  reports_behind_ = false;
  devices_.ForEachBridge([this](const Device* bridge) {
    if (std::exchange(bridge->behind->is_told, true)) return;
    for (const auto& [id, device] : bridge->behind->devices) presence_.Listening(device.get());
  });
}

// Runs a record that the gateway makes for a device, at the device's source: presence or a will.
void Worker::Emit(const WillRecord& made) {
  const Now now = Now::Read();
  Record record;
  record.device = made.device;
  record.topic = made.topic;
  record.payload = made.payload;
  record.flags = made.flags;
  record.record_class = made.record_class;
  if (record.record_class == 0) {
    const auto devices = pipeline_.plan().DevicesOf(made.stage);
    record.record_class = devices == nullptr ? 0 : devices->Of(made.device);
    if (record.record_class == 0) record.record_class = kNormal;
  }
  counters_.Add(Counter::kRecordsReceived);
  Device* device = devices_.Get(made.device, now.mono_us);
  if (device == nullptr) {
    counters_.Add(Drop::kTooManyDevices, record.record_class);
    return;
  }
  record.seq = device->TakeSeq();
  record.ts_ms = now.wall_ms;
  record.arrived_us = now.mono_us;
  const Passage passage = pipeline_.Run(made.stage, record);
  record.record_class = passage.record_class;
  values_.Keep(device, record);
  if (passage.taken) {
    fanout_.OnRecord(pipeline_.plan().SettingsOf(made.stage), record, now.mono_us);
  }
}

void Worker::Disconnected(Agent* agent) {
  commands_.Gone(agent->device_id());
  devices_.Disconnected(agent->device);
  presence_.Disconnected(agent->device, agent->source(), DeviceEnd::kClosed);
}

// Looks up the device in the registrations of its source: once per connection, and when these
// change.
void Worker::Register(Agent* agent) {
  const Plan& plan = pipeline_.plan();
  const auto devices = plan.DevicesOf(agent->stage());
  agent->registered_class = devices == nullptr ? 0 : devices->Of(agent->device_id());
  agent->settings = &plan.SettingsOf(agent->stage());
  agent->permissions = DevicePermissions::Of(agent->source().permissions, agent->device_id(),
                                             NameAt(agent->source(), agent->device_id()));
  agent->bridge_rows = BridgeRows::Of(agent->source().bridges, agent->device_id());
  if (agent->device != nullptr) RegisterBehind(agent);
  agent->readable = ReadableBy(agent->source().subscribers, agent->device_id());
  urgent_.OnRegistered(agent, now_.mono_us);
}

// The same for the devices behind the agent's.
void Worker::RegisterBehind(Agent* agent) {
  if (agent->device->behind == nullptr) return;
  if (agent->bridge_rows == nullptr) return devices_.DropBehind(agent->device);
  const auto registered = pipeline_.plan().DevicesOf(agent->stage());
  for (const auto& [id, device] : agent->device->behind->devices) {
    device->stage = agent->stage();
    device->address = agent->address();
    device->registered_class = registered == nullptr ? 0 : registered->Of(id);
  }
  ListensBehind(agent);
}

// Looks up devices again only for stages whose registrations, permissions or bridges have changed.
void Worker::RegisterAll(const Plan& before) {
  const Plan& plan = pipeline_.plan();
  std::unordered_map<uint32_t, bool> changed;  // by stage
  for (Agent* agent : agents_) {
    const uint32_t stage = agent->stage();
    const auto [it, is_new] = changed.try_emplace(stage);
    if (is_new) {
      it->second = before.DevicesOf(stage) != plan.DevicesOf(stage) ||
                   before.SettingsOf(stage).permissions != plan.SettingsOf(stage).permissions ||
                   before.SettingsOf(stage).bridges != plan.SettingsOf(stage).bridges ||
                   before.SettingsOf(stage).subscribers != plan.SettingsOf(stage).subscribers;
    }
    if (it->second) {
      Register(agent);
      agent->session().OnRights();
      if (agent->connected()) CountIfSends(agent);
    } else {
      agent->settings = &plan.SettingsOf(stage);
    }
  }
}

// A client that may only read is no device that the gateway expects records from.
void Worker::CountIfSends(Agent* agent) {
  const bool only_reads =
      !agent->readable.empty() && agent->permissions && !agent->permissions->publishes();
  if (only_reads) {
    agent->device->last_seen_us = now_.mono_us;
  } else {
    devices_.Count(agent->device, now_.mono_us);
  }
}

bool Worker::MayPublish(Agent* agent, std::string_view topic) {
  if (!agent->permissions || agent->permissions->MayPublish(topic)) return true;
  counters_.Add(Counter::kNotAllowed);
  return false;
}

bool Worker::MaySubscribe(Agent* agent, std::string_view filter) {
  if (agent->owner()->Reads(filter)) return true;
  // Without permissions a device may subscribe to any filter, and receives its commands. A local
  // subscriber would take that for permission to read.
  const bool may =
      agent->permissions ? agent->permissions->MaySubscribe(filter) : agent->readable.empty();
  if (may) return true;
  counters_.Add(Counter::kNotAllowed);
  return false;
}

void Worker::OnControl(Agent* agent) { agent->device->bucket.Pay(agent->rate(), now_.mono_us); }

void Worker::OnListening(Agent* agent) {
  presence_.Listening(agent->device);
  ListensBehind(agent);
}

// Commands for the devices behind the agent's may be sent.
void Worker::ListensBehind(Agent* agent) {
  if (agent->device->behind == nullptr) return;
  agent->device->behind->is_told = false;
  reports_behind_ = true;
}

MovedAgent Worker::TakeOut(Agent* agent) {
  agents_.erase(agent);
  receipts_.table().Leave(agent);
  wheel_.Remove(agent);
  if (agent->paused != Agent::kPausedByMove) pauses_.Remove(agent);
  urgent_.Remove(agent);
  if (Subscriber* const it = agent->session().subscriber()) it->Leave();
  return agent->Leave();
}

Agent* Worker::Continue(MovedAgent moved) { return new Agent(this, loop(), std::move(moved)); }

void Worker::Enter(Agent* agent) {
  agent->session().MoveTo(agent->owner(), &kept_, &wills_);
  agents_.insert(agent);
  receipts_.table().Enroll(agent);
  wheel_.Add(agent, now_.mono_us);
  Register(agent);
  agent->session().OnRights();
  if (Subscriber* const it = agent->session().subscriber()) {
    OnSubscriber(agent, it);
    agent->session().TakeRecords();
  }
}

void Worker::OnClosed(Agent* agent, AgentEnd end) {
  agents_.erase(agent);
  wheel_.Remove(agent);
  mover_.Unfreeze(agent);
  pauses_.Remove(agent);
  unfinished_.Remove(agent);
  urgent_.Remove(agent);
  Device* const device = agent->device;
  if (DeskSession* const session = agent->session().desk()) desk_.OnClosed(session, end);
  const bool kept = agent->session().Finish(end);
  std::vector<mqtt::LatePublish> late = agent->session().TakeLate();
  if (late.empty()) {
    receipts_.table().Leave(agent);
  } else {
    receipts_.late().TakeOver(agent, agent->device_id(), std::move(late));
  }
  if (device != nullptr && device->agent == agent) {
    if (!kept) {
      commands_.Gone(device->id);
      receipts_.late().Drop(device->id);
    }
    devices_.Disconnected(device);
    presence_.Disconnected(device, agent->source(), EndOf(end));
  }
  shared_.connections->fetch_sub(1, std::memory_order_relaxed);
  counters_.Add(Counter::kConnectionsClosed);
  if (end == AgentEnd::kKeepAlive) counters_.Add(Counter::kKeepAliveTimeouts);
  if (end == AgentEnd::kNotTaken) {
    close_reasons_[static_cast<size_t>(CloseReason::kNotTaken)].Add();
  }
  if (end == AgentEnd::kProtocol || end == AgentEnd::kTooMuch) {
    counters_.Add(Counter::kProtocolErrors);
    close_reasons_[static_cast<size_t>(agent->close_reason())].Add();
  }
}

void Worker::OnDescriptor(int fd, AgentEnd end) {
  const bool has_reason = end == AgentEnd::kProtocol || end == AgentEnd::kTooMuch ||
                          end == AgentEnd::kTakenOver || end == AgentEnd::kNotTaken ||
                          end == AgentEnd::kDismissed;
  if (has_reason) {
    lingering_.Take(loop(), fd, MonotonicUs());
  } else {
    // Closing a socket with unread data resets the connection, and the device may then lose the
    // DISCONNECT and the acknowledgements before it.
    if (end == AgentEnd::kStopped) Discard(fd);
    close(fd);
  }
}

}  // namespace seganet
