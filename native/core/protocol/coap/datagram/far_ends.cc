#include "core/protocol/coap/datagram/far_ends.h"

#include <iterator>

#include "core/base/require.h"

namespace seganet::coap {

FarEnds::FarEnds(size_t max, uint32_t worker, uint32_t workers, SecretNumbers* secret)
    : max_(max),
      worker_(worker),
      workers_(workers),
      secret_(secret),
      by_peer_(0, PeerHash{static_cast<uint32_t>(secret->Next())}) {
  SEGANET_REQUIRE(max > 0 && worker < workers);
}

FarEnd& FarEnds::Touch(const Peer& peer) {
  const auto found = by_peer_.find(peer);
  if (found != by_peer_.end()) {
    ends_.splice(ends_.end(), ends_, found->second);
    return *found->second;
  }
  if (ends_.size() >= max_) {
    by_peer_.erase(ends_.front().peer);
    ends_.pop_front();
  }
  FarEnd end;
  end.peer = peer;
  end.next_id = static_cast<uint32_t>(secret_->Next() & 0xFFFF);
  ends_.push_back(end);
  by_peer_.emplace(peer, std::prev(ends_.end()));
  return ends_.back();
}

void FarEnds::ProveByWithdrawn(const Peer& peer, uint16_t id) {
  const auto found = by_peer_.find(peer);
  if (found == by_peer_.end() || found->second->withdrawn_id != id) return;
  found->second->withdrawn_id.reset();
  found->second->proved = true;
}

uint16_t FarEnds::NextId(FarEnd* end) const {
  const uint32_t ids = (65536 - worker_ + workers_ - 1) / workers_;
  return static_cast<uint16_t>((end->next_id++ % ids) * workers_ + worker_);
}

}  // namespace seganet::coap
