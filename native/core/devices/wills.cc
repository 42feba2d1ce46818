#include "core/devices/wills.h"

#include <utility>

namespace seganet {

Wills::Wills(MemoryShare* memory, Publish publish)
    : memory_(memory), publish_(std::move(publish)) {}

Wills::~Wills() {
  while (!waiting_.empty()) Remove(waiting_.begin());
}

void Wills::Ended(WillRecord will, uint32_t delay_s, int64_t now_us) {
  if (muted_) return;
  if (const auto old = waiting_.find(will.device); old != waiting_.end()) publish_(Remove(old));
  if (delay_s == 0) {
    publish_(will);
  } else {
    Wait(std::move(will), now_us + int64_t{delay_s} * 1'000'000);
  }
}

void Wills::Wait(WillRecord will, int64_t due_us) {
  const auto bytes = static_cast<int64_t>(sizeof(Waiting) + will.device.size() * 3 +
                                          will.topic.size() + will.payload.size());
  if (!memory_->Add(bytes)) {
    memory_->Add(-bytes);
    publish_(will);
    return;
  }
  const auto due = due_.emplace(due_us, will.device);
  std::string device = will.device;
  waiting_.emplace(std::move(device), Waiting{std::move(will), bytes, due});
}

void Wills::Put(Moved moved) {
  if (!muted_) Wait(std::move(moved.will), moved.due_us);
}

void Wills::Cancel(std::string_view device) {
  if (const auto it = waiting_.find(device); it != waiting_.end()) Remove(it);
}

void Wills::SessionEnded(std::string_view device) {
  if (const auto it = waiting_.find(device); it != waiting_.end()) publish_(Remove(it));
}

void Wills::OnTime(int64_t now_us) {
  while (!due_.empty() && due_.begin()->first <= now_us) {
    publish_(Remove(waiting_.find(due_.begin()->second)));
  }
}

void Wills::PublishAll() {
  while (!waiting_.empty()) publish_(Remove(waiting_.begin()));
}

WillRecord Wills::Remove(All::iterator it) {
  WillRecord will = std::move(it->second.will);
  memory_->Add(-it->second.bytes);
  due_.erase(it->second.due);
  waiting_.erase(it);
  return will;
}

}  // namespace seganet
