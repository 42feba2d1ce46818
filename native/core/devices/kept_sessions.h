// MQTT sessions of devices that have no connection: subscriptions, QoS 2 identifiers, and commands
// that were not answered.
#ifndef SEGANET_CORE_DEVICES_KEPT_SESSIONS_H_
#define SEGANET_CORE_DEVICES_KEPT_SESSIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/loop/memory_share.h"
#include "core/protocol/mqtt/kept_session.h"

namespace seganet {

// In memory alone: a device that comes back after the gateway's restart begins a new session and is
// told so (3.1.1: 3.2.2.2).
//
// Thread safety: owned by one worker.
class KeptSessions {
 public:
  // At most `limit` of them, in what `memory` has. `ended` is told of each session that ends here
  // without its device taking it.
  using Ended = std::function<void(const std::string& device)>;
  KeptSessions(size_t limit, MemoryShare* memory, Ended ended);
  ~KeptSessions();

  // Where there is no room the ones that end soonest anyway make it. False: it did not get in.
  // `ended` is not told.
  bool Put(std::string_view device, uint32_t stage, std::unique_ptr<mqtt::KeptSession> session,
           int64_t now_us);

  // That of the device, null when there is none. One of another stage ends: it was allowed what
  // this one may not.
  std::unique_ptr<mqtt::KeptSession> Take(std::string_view device, uint32_t stage, int64_t now_us);

  // Of devices that go to another worker, which Puts them into its own: they end when they would
  // have.
  struct Moved {
    std::string device;
    uint32_t stage;
    int64_t end_us;
    std::unique_ptr<mqtt::KeptSession> session;
  };
  template <typename Leaves>
  std::vector<Moved> TakeAll(Leaves&& leaves) {
    std::vector<Moved> taken;
    for (auto it = sessions_.begin(); it != sessions_.end();) {
      const auto at = it++;
      if (!leaves(std::string_view(at->first))) continue;
      std::string device = at->first;
      const uint32_t stage = at->second.stage;
      const int64_t end_us = at->second.end->first;
      taken.push_back({std::move(device), stage, end_us, Remove(at)});
    }
    return taken;
  }
  // Where there is no room for it, it ends.
  void PutMoved(Moved moved);

  // The device begins anew.
  void Drop(std::string_view device);

  // To be called some times a second.
  void Expire(int64_t now_us);

  size_t size() const { return sessions_.size(); }

 private:
  struct Kept {
    uint32_t stage;
    int64_t bytes;
    std::unique_ptr<mqtt::KeptSession> session;
    std::multimap<int64_t, std::string>::iterator end;
  };
  using Sessions = std::map<std::string, Kept, std::less<>>;

  bool Keep(std::string_view device, uint32_t stage, std::unique_ptr<mqtt::KeptSession> session,
            int64_t end_us);
  std::unique_ptr<mqtt::KeptSession> Remove(Sessions::iterator it);
  void End(Sessions::iterator it);
  void EndSoonest() { End(sessions_.find(ends_.begin()->second)); }

  const size_t limit_;
  MemoryShare* const memory_;
  const Ended ended_;
  Sessions sessions_;
  std::multimap<int64_t, std::string> ends_;  // devices by time
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_KEPT_SESSIONS_H_
