#include "core/devices/presence.h"

#include <utility>

namespace seganet {
namespace {

constexpr std::string_view kPlaceholder = "{device}";

const char* NameOf(Protocol protocol) {
  static constexpr const char* kNames[] = {"mqtt", "coap", "pushed"};
  return kNames[static_cast<size_t>(protocol)];
}

}  // namespace

std::string PresenceTopic(std::string_view pattern, std::string_view device) {
  std::string id(device);
  for (char& c : id) {
    if (c == '+' || c == '#') c = '_';
  }
  std::string topic(pattern);
  for (size_t at = topic.find(kPlaceholder); at != std::string::npos;
       at = topic.find(kPlaceholder, at + id.size())) {
    topic.replace(at, kPlaceholder.size(), id);
  }
  return topic;
}

std::string PresencePayload(Protocol protocol, const DeviceEnd* end) {
  std::string json = R"({"state":")";
  json += end == nullptr ? "connected" : "disconnected";
  json += R"(","protocol":")";
  json += NameOf(protocol);
  if (end != nullptr) {
    json += R"(","reason":")";
    json += Name(*end);
  }
  return json += R"("})";
}

Presence::Presence(uint32_t worker, DeviceEvents* events, CounterBlock* counters, Emit emit)
    : worker_(worker), events_(events), counters_(counters), emit_(std::move(emit)) {}

void Presence::Connected(Device* device, const SourceSettings& source) {
  Report(device, DeviceEventKind::kConnected, {});
  Record(device, source, nullptr);
}

void Presence::Disconnected(Device* device, const SourceSettings& source, DeviceEnd end) {
  Report(device, DeviceEventKind::kDisconnected, end);
  Record(device, source, &end);
}

void Presence::Listening(Device* device) { Report(device, DeviceEventKind::kListening, {}); }

void Presence::Report(Device* device, DeviceEventKind kind, DeviceEnd end) {
  if (muted_) return;
  if (!events_->Add({kind, end, device->stage, worker_, device->id, device->address},
                    &device->events)) {
    counters_->Add(Counter::kEventsLost);
  }
}

void Presence::Record(Device* device, const SourceSettings& source, const DeviceEnd* end) {
  if (muted_ || source.presence_topic.empty()) return;
  emit_(device, PresenceTopic(source.presence_topic, NameAt(source, device->id)),
        PresencePayload(source.protocol, end));
}

}  // namespace seganet
