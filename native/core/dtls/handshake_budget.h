// Limits the handshakes that one host can start.
#ifndef SEGANET_CORE_DTLS_HANDSHAKE_BUDGET_H_
#define SEGANET_CORE_DTLS_HANDSHAKE_BUDGET_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/keyed_hash.h"

namespace seganet {

// A host may start `burst` handshakes, and one more for each time that `per_s` allows. A completed
// handshake is free, so a fleet of devices behind one address is slowed only by its failures.
//
// The table has at most kMaxHosts hosts: those that spent something recently. While it is full,
// another host gets no handshake. To fill it, an attacker must own that many addresses, because a
// cookie proves each of them.
//
// Thread safety: owned by one worker.
class HandshakeBudget {
 public:
  static constexpr size_t kMaxHosts = 8192;

  HandshakeBudget(uint32_t burst, uint32_t per_s) : burst_(burst), per_s_(per_s) {}

  // False if the host has used its budget up.
  bool Take(std::string_view host, int64_t now_us);
  // Gives one start back.
  void Refund(std::string_view host);

  size_t hosts() const { return spent_us_.size(); }

 private:
  void Sweep(int64_t now_us);

  const int64_t burst_;
  const int64_t per_s_;
  // The time until which the host's starts are paid at per_s. A host without a row has a full
  // budget.
  std::unordered_map<std::string, int64_t, KeyedStringHash, std::equal_to<>> spent_us_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DTLS_HANDSHAKE_BUDGET_H_
