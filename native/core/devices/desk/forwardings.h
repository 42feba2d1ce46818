// Requests that pass from one connection to another, as the worker of the device knows them.
#ifndef SEGANET_CORE_DEVICES_DESK_FORWARDINGS_H_
#define SEGANET_CORE_DEVICES_DESK_FORWARDINGS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/devices/desk/desk_session.h"
#include "core/devices/desk/forward_rules.h"
#include "core/devices/desk/forward_table.h"
#include "core/protocol/coap/exchange.h"

namespace seganet {

// A forwarded request without an answer: who asked, and how the answer must look.
struct Forwarding {
  uint32_t worker = 0;      // that has the connection of the peer
  uint64_t connection = 0;  // of the peer
  uint64_t id = 0;          // coap::Asked::id
  std::string token;
  std::string device;
  ForwardShape shape;
};

// The forwarded requests to the devices of one worker. At most kMost, with bodies of kMostBytes. A
// peer gets at most as many of these bytes as are free, so that one peer alone gets half, and
// others find room beside it.
//
// Thread safety: owned by one worker.
class Forwardings {
 public:
  static constexpr size_t kMost = 16'384;
  static constexpr size_t kMostBytes = 32u << 20;

  // True for handles of Add(), which differ from those of RequestDesk::OpenAsk().
  static bool IsHandle(uint64_t handle) { return (handle & kBit) != 0; }

  // Returns a handle for a request with a body of `bytes`; 0, and no effect, if there is no room.
  uint64_t Add(Forwarding forwarding, size_t bytes) {
    if (open_.size() >= kMost) return 0;
    if (bytes > 0) {
      const auto peer = by_peer_.find(forwarding.connection);
      const size_t own = peer == by_peer_.end() ? 0 : peer->second;
      if (own + bytes > kMostBytes - bytes_) return 0;
      by_peer_[forwarding.connection] = own + bytes;
      bytes_ += bytes;
    }
    const uint64_t handle = kBit | ++last_;
    open_.emplace(handle, Open{std::move(forwarding), bytes});
    return handle;
  }
  // Removes a request. Nothing for an unknown handle.
  std::optional<Forwarding> Take(uint64_t handle) {
    const auto found = open_.find(handle);
    if (found == open_.end()) return std::nullopt;
    if (const size_t bytes = found->second.bytes; bytes > 0) {
      bytes_ -= bytes;
      const auto peer = by_peer_.find(found->second.forwarding.connection);
      if ((peer->second -= bytes) == 0) by_peer_.erase(peer);
    }
    Forwarding forwarding = std::move(found->second.forwarding);
    open_.erase(found);
    return forwarding;
  }
  size_t size() const { return open_.size(); }

 private:
  static constexpr uint64_t kBit = uint64_t{1} << 63;
  struct Open {
    Forwarding forwarding;
    size_t bytes = 0;
  };

  uint64_t last_ = 0;
  size_t bytes_ = 0;
  std::unordered_map<uint64_t, size_t> by_peer_;  // bytes, by connection
  std::unordered_map<uint64_t, Open> open_;
};

// A request that may be forwarded.
struct ForwardPlan {
  const ForwardRow* row = nullptr;  // valid until the table changes
  coap::RequestSpec request;
  ForwardShape shape;
};

// Returns how a request is forwarded; nothing if the desk must decide: another path, no device of
// this source, no right, no session, or a form that ReadForward() leaves to the desk.
std::optional<ForwardPlan> PlanForward(const ForwardTable& table, const DeskSession& session,
                                       const coap::Asked& asked, int64_t now_us);

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_DESK_FORWARDINGS_H_
