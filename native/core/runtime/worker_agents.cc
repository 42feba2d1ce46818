// Worker: its agents, which of them may be read, and what they bring.

#include <utility>

#include "core/runtime/worker.h"

namespace seganet {
namespace {

constexpr size_t kMessageReadBytes = 4096;

}  // namespace

// Whatever class they are of.
bool Worker::AllMustPause() { return !reading_ || MessagesHigh(); }

// What a device sends next is likely to be of the class of what it sent last. Of one that sent
// nothing yet the best is supposed: it may be an alarm.
bool Worker::MayRead(Agent* agent) {
  uint8_t c = agent->latest_class;
  if (c == 0) c = agent->registered_class;
  if (c == 0) c = kCritical;
  if (!AllMustPause()) {
    const Throttle::Verdict verdict = shared_.throttle->MayGoOn(c);
    if (verdict == Throttle::Verdict::kGoOn) return true;
    if (verdict == Throttle::Verdict::kBegins) counters_.Add(Counter::kSlowed);
  }
  if (agent->paused == 0) {
    agent->paused = c;
    paused_[c].push_back(agent);
  }
  return false;
}

std::span<uint8_t> Worker::read_buffer() {
  // Small packets grow many times as messages. Where those are all that becomes of a record, one
  // read must not make more of them than half a ring holds, because the packets are acknowledged.
  return pipeline_.message_only() ? std::span(read_buffer_).first(kMessageReadBytes)
                                  : std::span(read_buffer_);
}

void Worker::ResumeAgents() {
  for (uint8_t c = kCritical; c <= kClasses; ++c) {
    if (paused_[c].empty() || shared_.throttle->slowed(c) || AllMustPause()) continue;
    std::vector<Agent*> agents;
    agents.swap(paused_[c]);
    for (Agent* agent : agents) {
      agent->paused = 0;
      agent->Resume();
    }
  }
}

void Worker::OnRead(size_t bytes) {
  now_ = Now::Read();
  counters_.Add(Counter::kReads);
  counters_.Add(Counter::kBytesReceived, bytes);
}

bool Worker::OnConnect(Agent* agent, std::string_view id) {
  Device* device = devices_.Get(id, now_.mono_us);
  if (device == nullptr) {
    counters_.Add(Counter::kConnectionsRefused);
    return false;
  }
  if (device->agent != nullptr) {
    counters_.Add(Counter::kTakeOvers);
    device->agent->Close(AgentEnd::kTakenOver);
  }
  device->agent = agent;
  agent->device = device;
  devices_.Count(device, now_.mono_us);
  counters_.Add(Counter::kDevicesConnected);
  return true;
}

RecordAnswer Worker::OnRecord(Agent* agent, const IncomingRecord& incoming) {
  Record record;
  record.device = agent->device->id;
  record.topic = incoming.topic;
  record.payload = incoming.payload;
  if (incoming.record_class != 0) {
    record.record_class = incoming.record_class;
  } else if (agent->registered_class != 0) {
    record.record_class = agent->registered_class;
  }
  record.flags = incoming.flags;
  record.seq = agent->device->next_seq++;
  record.ts_ms = now_.wall_ms;
  record.arrived_us = now_.mono_us;
  agent->device->last_seen_us = now_.mono_us;
  counters_.Add(Counter::kRecordsReceived);
  const bool waits = !options_.acknowledge_at_once && incoming.slot != 0;
  if (waits) record.receipt = agent->ReceiptFor(incoming.slot);
  const Passage passage = pipeline_.Run(agent->stage(), record);
  agent->latest_class = passage.record_class;
  return {.copies = waits ? passage.copies : 0};
}

// Looks the device up in the register of its source: once a connection, and when that changes.
void Worker::Register(Agent* agent) {
  const auto devices = pipeline_.plan().DevicesOf(agent->stage());
  agent->registered_class = devices == nullptr ? 0 : devices->Of(agent->device_id());
}

void Worker::OnClosed(Agent* agent, AgentEnd end) {
  agents_.erase(agent);
  receipt_rows_.Leave(agent);
  if (agent->paused != 0) std::erase(paused_[agent->paused], agent);
  if (agent->device != nullptr && agent->device->agent == agent) {
    devices_.Disconnected(agent->device);
  }
  shared_.connections->fetch_sub(1, std::memory_order_relaxed);
  counters_.Add(Counter::kConnectionsClosed);
  if (end == AgentEnd::kKeepAlive) counters_.Add(Counter::kKeepAliveTimeouts);
  if (end == AgentEnd::kProtocol) {
    counters_.Add(Counter::kProtocolErrors);
    close_reasons_[static_cast<size_t>(agent->close_reason())].Add();
  }
}

}  // namespace seganet
