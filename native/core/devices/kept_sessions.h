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

#include "core/devices/session_saves.h"
#include "core/loop/memory_share.h"
#include "core/protocol/mqtt/kept_session.h"

namespace seganet {

// With a log, the sessions are also on disk (SessionSaves), and Restore() gets those of an earlier
// run. Without one, a returning device begins a new session after a restart, and learns that from
// the session-present flag (3.1.1: 3.2.2.2). A session belongs to the source of its device: another
// source may have permitted what this one forbids. `source` is a name that no two sources share.
//
// Thread safety: owned by one worker.
class KeptSessions {
 public:
  // Keeps at most `limit` sessions, within the limit of `memory`. `ended` is called for each
  // session that ends here without its device taking it; is_over(id) is true if no answer to
  // command `id` is awaited.
  using Ended = std::function<void(const std::string& device)>;
  using IsOver = std::function<bool(uint64_t id)>;
  KeptSessions(size_t limit, MemoryShare* memory, Ended ended, IsOver is_over);
  ~KeptSessions();

  // Keeps a session, without commands that are over. If there is no room, the sessions that would
  // expire first end. Returns false if the session is not kept; `ended` is not called for it.
  bool Put(std::string_view device, std::string_view source,
           std::unique_ptr<mqtt::KeptSession> session, int64_t now_us);

  // Takes out the device's session, or returns null if there is none. A session of another source
  // ends, and so does one whose connection ended more than `most_s` ago.
  std::unique_ptr<mqtt::KeptSession> Take(std::string_view device, std::string_view source,
                                          uint32_t most_s, int64_t now_us);

  // Adds the session of an earlier run, which ends at `end_us`. If there is no room, the sessions
  // that would expire first end. No effect if the device has a session.
  void Restore(std::string_view device, std::string_view source,
               std::unique_ptr<mqtt::KeptSession> session, int64_t end_us);

  // A kept session, for saving it.
  struct View {
    const std::string* source;
    int64_t end_us;
    mqtt::KeptSession* session;
  };
  // Returns the device's session; its `session` is null if there is none.
  View Find(std::string_view device);
  template <typename See>
  void ForEachDevice(See&& see) const {
    for (const auto& [device, kept] : sessions_) see(device);
  }
  SessionSaves& saves() { return saves_; }
  const SessionSaves& saves() const { return saves_; }

  // The session of a device that moves to another worker, where PutMoved adds it. Its expiry stays.
  struct Moved {
    std::string device;
    std::string source;
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
      std::string source = at->second.source;
      const int64_t end_us = at->second.end->first;
      taken.push_back({std::move(device), std::move(source), end_us, Remove(at)});
    }
    return taken;
  }
  // Adds a session of another worker. Without room, the session ends.
  void PutMoved(Moved moved);

  // Removes unanswered command `id`: the device does not get it when it returns. No effect if the
  // device has no session here.
  void Withdraw(std::string_view device, uint64_t id);

  // Ends the device's session: the device starts a new one.
  void Drop(std::string_view device);

  // Ends expired sessions. To be called several times a second.
  void Expire(int64_t now_us);

  size_t size() const { return sessions_.size(); }

 private:
  struct Kept {
    std::string source;
    int64_t bytes;
    std::unique_ptr<mqtt::KeptSession> session;
    std::multimap<int64_t, std::string>::iterator end;
  };
  using Sessions = std::map<std::string, Kept, std::less<>>;

  bool Keep(std::string_view device, std::string_view source,
            std::unique_ptr<mqtt::KeptSession> session, int64_t end_us);
  std::unique_ptr<mqtt::KeptSession> Remove(Sessions::iterator it);
  void End(Sessions::iterator it);
  void EndSoonest() { End(sessions_.find(ends_.begin()->second)); }

  const size_t limit_;
  MemoryShare* const memory_;
  const Ended ended_;
  const IsOver is_over_;
  Sessions sessions_;
  std::multimap<int64_t, std::string> ends_;  // devices by time
  SessionSaves saves_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_KEPT_SESSIONS_H_
