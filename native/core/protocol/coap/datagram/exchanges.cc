#include "core/protocol/coap/datagram/exchanges.h"

#include <utility>

#include "core/base/require.h"
#include "core/protocol/coap/codes.h"

namespace seganet::coap {
namespace {

constexpr size_t kLeastEntries = 64;

}  // namespace

size_t Exchanges::OutsideBytes(const std::string& answer) {
  return answer.capacity() > std::string().capacity() ? answer.capacity() + 1 : 0;
}

void Exchanges::DropOldest() {
  std::string& answer = At(first_).answer;
  if (const size_t outside = OutsideBytes(answer); outside > 0) {
    answer_bytes_ -= outside;
    answer = std::string();
  }
  ++first_;
}

void Exchanges::Resize(size_t entries) {
  std::vector<Entry> before(entries);
  before.swap(ring_);
  chains_.assign(entries, 0);
  for (uint64_t number = first_; number < end_; ++number) {
    Entry& entry = At(number);
    entry = std::move(before[number & (before.size() - 1)]);
    entry.older = std::exchange(ChainOf(entry.key), number);
  }
}

uint64_t Exchanges::Find(uint64_t key, int64_t now_us) {
  while (first_ < end_ && At(first_).at_us + kExchangeLifetimeUs <= now_us) DropOldest();
  if (first_ == end_) {
    if (ring_.size() > kLeastEntries) Resize(0);
    return 0;
  }
  uint64_t number = ChainOf(key);
  while (number >= first_ && At(number).key != key) number = At(number).older;
  return number >= first_ ? number : 0;
}

uint64_t Exchanges::Add(uint64_t key, int64_t now_us) {
  SEGANET_REQUIRE(first_ == end_ || At(end_ - 1).at_us <= now_us);
  while (first_ < end_ && size() >= max_) DropOldest();
  if (size() == ring_.size()) Resize(ring_.empty() ? kLeastEntries : 2 * ring_.size());
  const uint64_t number = end_++;
  Entry& entry = At(number);
  entry.key = key;
  entry.at_us = now_us;
  entry.answer.clear();
  entry.older = std::exchange(ChainOf(key), number);
  return number;
}

void Exchanges::SetAnswer(uint64_t number, std::string answer) {
  if (number < first_) return;
  std::string& kept = At(number).answer;
  answer_bytes_ -= OutsideBytes(kept);
  kept = std::move(answer);
  answer_bytes_ += OutsideBytes(kept);
}

}  // namespace seganet::coap
