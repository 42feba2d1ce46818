#include "core/protocol/coap/exchanges.h"

#include <utility>

#include "core/protocol/coap/codes.h"

namespace seganet::coap {

size_t Exchanges::OutsideBytes(const std::string& answer) {
  return answer.capacity() > std::string().capacity() ? answer.capacity() + 1 : 0;
}

void Exchanges::DropOldest() {
  answer_bytes_ -= OutsideBytes(entries_.front().answer);
  by_key_.erase(entries_.front().key);
  entries_.pop_front();
  ++first_;
}

const std::string* Exchanges::Find(uint64_t key, int64_t now_us) {
  while (!entries_.empty() && entries_.front().at_us + kExchangeLifetimeUs <= now_us) DropOldest();
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : &entries_[found->second - first_].answer;
}

void Exchanges::Add(uint64_t key, int64_t now_us) {
  while (!entries_.empty() && entries_.size() >= max_) DropOldest();
  entries_.push_back({key, now_us, {}});
  by_key_.emplace(key, first_ + entries_.size() - 1);
}

void Exchanges::SetAnswer(uint64_t key, std::string answer) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return;
  std::string& kept = entries_[found->second - first_].answer;
  answer_bytes_ -= OutsideBytes(kept);
  kept = std::move(answer);
  answer_bytes_ += OutsideBytes(kept);
}

}  // namespace seganet::coap
