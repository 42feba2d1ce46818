#include "core/dtls/handshake_budget.h"

#include <algorithm>

namespace seganet {
namespace {

constexpr int64_t kSecondUs = 1'000'000;

}  // namespace

bool HandshakeBudget::Take(std::string_view host, int64_t now_us) {
  const int64_t price = kSecondUs / per_s_;
  const auto found = spent_us_.find(host);
  if (found == spent_us_.end()) {
    if (spent_us_.size() >= kMaxHosts) Sweep(now_us);
    if (spent_us_.size() >= kMaxHosts) return false;
    spent_us_.emplace(host, now_us + price);
    return true;
  }
  const int64_t spent = std::max(found->second, now_us) + price;
  if (spent > now_us + burst_ * price) return false;
  found->second = spent;
  return true;
}

void HandshakeBudget::Refund(std::string_view host) {
  const auto found = spent_us_.find(host);
  if (found != spent_us_.end()) found->second -= kSecondUs / per_s_;
}

// Forgets the hosts with a full budget.
void HandshakeBudget::Sweep(int64_t now_us) {
  std::erase_if(spent_us_, [now_us](const auto& row) { return row.second <= now_us; });
}

}  // namespace seganet
