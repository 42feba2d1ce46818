#include "core/devices/identities.h"

#include <algorithm>

namespace seganet {

Identity* Identities::Join(std::string_view id, uint32_t next_seq) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [it, is_new] = by_id_.try_emplace(std::string(id));
  Identity& identity = it->second;
  if (is_new) identity.next_seq.store(std::max(next_seq, first_seq_), std::memory_order_relaxed);
  identity.owner = this;
  identity.id = &it->first;
  ++identity.rows;
  return &identity;
}

void Identities::Leave(Identity* identity, uint32_t speaker) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (speaker == 0) {
    identity->own = false;
  } else if (identity->speaker.load(std::memory_order_relaxed) == speaker) {
    identity->speaker.store(0, std::memory_order_relaxed);
    identity->bridge.clear();
  }
  if (--identity->rows > 0) return;
  first_seq_ = std::max(first_seq_, identity->next_seq.load(std::memory_order_relaxed));
  by_id_.erase(by_id_.find(*identity->id));
}

bool Identities::Claim(Identity* identity, uint32_t speaker, std::string_view bridge,
                       int64_t now_us) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (identity->own) return false;
  const uint32_t current = identity->speaker.load(std::memory_order_relaxed);
  const int64_t spoken_us = identity->spoken_us.load(std::memory_order_relaxed);
  const bool is_spoken_for = spoken_us != Identity::kEnded && now_us - spoken_us <= kSpokenUs;
  if (current != 0 && current != speaker && is_spoken_for) return false;
  identity->bridge = bridge;
  identity->spoken_us.store(now_us, std::memory_order_relaxed);
  identity->speaker.store(speaker, std::memory_order_relaxed);
  return true;
}

void Identities::SetOwn(Identity* identity, bool own) {
  const std::lock_guard<std::mutex> lock(mutex_);
  identity->own = own;
  if (!own) return;
  identity->speaker.store(0, std::memory_order_relaxed);
  identity->bridge.clear();
}

std::string Identities::BridgeOf(std::string_view device) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = by_id_.find(device);
  return it == by_id_.end() ? std::string() : it->second.bridge;
}

}  // namespace seganet
