// MQTT sessions of devices without a connection: subscriptions, QoS 2 identifiers, and unanswered
// commands.
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

// Kept in memory only: after a restart of the gateway, a returning device begins a new session and
// learns that from the session-present flag (3.1.1: 3.2.2.2).
//
// Thread safety: owned by one worker.
class KeptSessions {
 public:
  // Keeps at most `limit` sessions, within the limit of `memory`. `ended` is called for each
  // session that ends here without its device taking it.
  using Ended = std::function<void(const std::string& device)>;
  KeptSessions(size_t limit, MemoryShare* memory, Ended ended);
  ~KeptSessions();

  // Keeps a session. If there is no room, the sessions that would expire first end. Returns false
  // if the session is not kept; `ended` is not called for it.
  bool Put(std::string_view device, uint32_t stage, std::unique_ptr<mqtt::KeptSession> session,
           int64_t now_us);

  // Takes out the device's session, or returns null if there is none. A session of another stage
  // ends, because that stage may have permitted what this one forbids.
  std::unique_ptr<mqtt::KeptSession> Take(std::string_view device, uint32_t stage, int64_t now_us);

  // The session of a device that moves to another worker, where PutMoved adds it. Its expiry stays.
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
  // Adds a session of another worker. Without room, the session ends.
  void PutMoved(Moved moved);

  // Ends the device's session: the device starts a new one.
  void Drop(std::string_view device);

  // Ends expired sessions. To be called several times a second.
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
