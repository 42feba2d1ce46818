#include "core/devices/desk/device_asks.h"

#include <algorithm>
#include <utility>

#include "core/base/require.h"
#include "core/protocol/coap/codes.h"

namespace seganet {
namespace {

void AppendText(std::string_view text, std::string* key) {
  key->append(std::to_string(text.size())).append(":").append(text);
}

// Requests with the same key can share an observation: the same representation of the same
// resource.
std::string KeyOf(const std::string& device, const coap::RequestSpec& request) {
  std::string key;
  AppendText(device, &key);
  key.push_back(static_cast<char>(request.code));
  for (const std::string& segment : request.path) AppendText(segment, &key);
  key.push_back('?');
  for (const std::string& query : request.query) AppendText(query, &key);
  key.push_back('#');
  for (const coap::OptionValue& option : request.options) {
    if (option.number != coap::kAccept) continue;
    AppendText(option.value, &key);
  }
  AppendText(request.payload, &key);
  return key;
}

}  // namespace

void DeviceAsks::Fail(uint64_t handle, uint8_t code, std::string_view why, bool busy) {
  coap::AskAnswer answer;
  answer.code = code;
  answer.payload = why;
  answer.failed = true;
  if (busy) answer.options.push_back({coap::kMaxAge, "\x01"});
  answer_(handle, answer, true);
}

void DeviceAsks::Start(DeviceAsk ask, AskLink* link) {
  SEGANET_REQUIRE(!by_handle_.contains(ask.handle));
  if (link == nullptr) {
    return Fail(ask.handle, coap::kUnavailable, "The device is not connected.");
  }
  const bool observe = ask.request.observe;
  const std::string key = observe ? KeyOf(ask.device, ask.request) : std::string();
  const auto shared = observe ? observations_.find(key) : observations_.end();
  uint64_t id = 0;
  if (shared != observations_.end()) {
    id = shared->second;
    Sent& sent = sent_.at(id);
    sent.handles.push_back(ask.handle);
    by_handle_[ask.handle].id = id;
    if (sent.latest) {
      const coap::AskAnswer latest = *sent.latest;
      return answer_(ask.handle, latest, false);
    }
  } else {
    id = ++last_id_;
    // An ETag of one request must not turn the answer of the others into 2.03.
    if (observe) {
      std::erase_if(ask.request.options,
                    [](const coap::OptionValue& option) { return option.number == coap::kETag; });
    }
    switch (link->Ask(id, ask.request)) {
      case coap::AskStart::kSent:
        break;
      case coap::AskStart::kBusy:
        return Fail(ask.handle, coap::kUnavailable, "Too many requests of the device are open.",
                    true);
      case coap::AskStart::kTooLarge:
        return Fail(ask.handle, coap::kEntityTooLarge, "The device takes no request of this size.");
      case coap::AskStart::kClosed:
        return Fail(ask.handle, coap::kUnavailable, "The device is not connected.");
    }
    Sent sent;
    sent.device = ask.device;
    sent.key = key;
    sent.link = link;
    sent.handles = {ask.handle};
    if (observe) {
      sent.request = std::move(ask.request);
      observations_[key] = id;
    }
    by_device_[sent.device].push_back(id);
    sent_.emplace(id, std::move(sent));
    by_handle_[ask.handle].id = id;
  }
  Waiting& waiting = by_handle_.at(ask.handle);
  waiting.deadline = deadlines_.emplace(ask.deadline_us, ask.handle);
  waiting.has_deadline = true;
}

void DeviceAsks::ClearDeadline(Waiting* waiting) {
  if (!waiting->has_deadline) return;
  deadlines_.erase(waiting->deadline);
  waiting->has_deadline = false;
}

void DeviceAsks::Cancel(uint64_t handle) { Leave(handle); }

void DeviceAsks::Leave(uint64_t handle) {
  const auto found = by_handle_.find(handle);
  if (found == by_handle_.end()) return;
  const uint64_t id = found->second.id;
  ClearDeadline(&found->second);
  by_handle_.erase(found);
  Sent& sent = sent_.at(id);
  std::erase(sent.handles, handle);
  if (!sent.handles.empty()) return;
  if (sent.link != nullptr) sent.link->Cancel(id);
  Erase(id);
}

// REQUIRES: no handle uses it.
void DeviceAsks::Erase(uint64_t id) {
  const auto found = sent_.find(id);
  const auto of_device = by_device_.find(found->second.device);
  std::erase(of_device->second, id);
  if (of_device->second.empty()) by_device_.erase(of_device);
  if (!found->second.key.empty()) observations_.erase(found->second.key);
  sent_.erase(found);
}

void DeviceAsks::Answered(uint64_t id, const coap::AskAnswer& answer) {
  const auto found = sent_.find(id);
  if (found == sent_.end()) return;
  const std::vector<uint64_t> handles = found->second.handles;
  for (uint64_t handle : handles) ClearDeadline(&by_handle_.at(handle));
  const bool goes_on = answer.observed && !found->second.key.empty();
  if (goes_on) {
    found->second.latest = answer;
  } else {
    for (uint64_t handle : handles) by_handle_.erase(handle);
    Erase(id);
  }
  for (uint64_t handle : handles) answer_(handle, answer, !goes_on);
}

void DeviceAsks::FailAll(uint64_t id, uint8_t code, std::string_view why, bool busy) {
  const std::vector<uint64_t> handles = sent_.at(id).handles;
  for (uint64_t handle : handles) {
    ClearDeadline(&by_handle_.at(handle));
    by_handle_.erase(handle);
  }
  Erase(id);
  for (uint64_t handle : handles) Fail(handle, code, why, busy);
}

void DeviceAsks::Connected(const std::string& device, AskLink* link) {
  const auto found = by_device_.find(device);
  if (found == by_device_.end()) return;
  const std::vector<uint64_t> ids = found->second;
  for (uint64_t id : ids) {
    Sent& sent = sent_.at(id);
    if (sent.link != nullptr) continue;  // a request since the device connected
    sent.link = link;
    if (link->Ask(id, sent.request) != coap::AskStart::kSent) {
      FailAll(id, coap::kUnavailable, "The device takes no further observation.", true);
    }
  }
}

void DeviceAsks::Gone(std::string_view device) {
  const auto found = by_device_.find(device);
  if (found == by_device_.end()) return;
  const std::vector<uint64_t> ids = found->second;
  for (uint64_t id : ids) {
    Sent& sent = sent_.at(id);
    // An observation without a first answer fails as a request does.
    if (sent.latest) {
      sent.link = nullptr;
    } else {
      FailAll(id, coap::kUnavailable, "The device disconnected before it answered.");
    }
  }
}

void DeviceAsks::Expire(int64_t now_us) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now_us) {
    const uint64_t handle = deadlines_.begin()->second;
    Leave(handle);
    Fail(handle, coap::kGatewayTimeout, "The device did not answer in time.");
  }
}

void DeviceAsks::EndAll() {
  while (!sent_.empty()) {
    FailAll(sent_.begin()->first, coap::kUnavailable, "The gateway is stopping.");
  }
}

}  // namespace seganet
