// The connections of the request desk on one worker.
#ifndef SEGANET_CORE_RUNTIME_DESK_DESK_CONNECTIONS_H_
#define SEGANET_CORE_RUNTIME_DESK_DESK_CONNECTIONS_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "core/devices/agent.h"
#include "core/devices/desk/desk_session.h"

namespace seganet {

struct DeskConnection {
  Agent* agent = nullptr;
  DeskSession* session = nullptr;  // of the agent
  bool is_set_up() const { return set_up_by_us == 0; }

  // The next four are set by DeskConnections.
  std::list<uint64_t>::iterator place;  // among those without an identity
  bool is_unidentified = false;
  int64_t identify_by_us = 0;
  int64_t set_up_by_us = 0;  // when its observations are set up at the latest, 0 = they are
};

// The connections by number, those that have output, those without an identity, and those whose
// observations are not set up yet.
//
// Thread safety: owned by one worker. A pointer to a connection is valid until Remove.
class DeskConnections {
 public:
  // Adds a connection. REQUIRES: its number is unknown.
  DeskConnection* Add(Agent* agent, DeskSession* session);
  // Returns null if the number is unknown.
  DeskConnection* Find(uint64_t connection);
  // REQUIRES: the number is known.
  DeskConnection* Get(uint64_t connection);
  // REQUIRES: the number is known.
  void Remove(uint64_t connection);
  bool empty() const { return all_.empty(); }
  // Calls see(const DeskSession&) for each connection.
  template <typename See>
  void ForEach(See&& see) const {
    for (const auto& [number, connection] : all_) see(*connection.session);
  }

  // The session has output, or a reason to close. Flush() follows in this turn of the loop.
  void QueueOutput(DeskSession* session);
  // Sends what the calls since the last one have produced. May close connections.
  void Flush();

  // The connection has no identity, and gets one until then. REQUIRES: it has waited for none.
  void AddUnidentified(DeskConnection* connection, int64_t by_us);
  // No effect if the connection is not among them.
  void RemoveUnidentified(DeskConnection* connection);
  size_t unidentified() const { return unidentified_.size(); }
  // REQUIRES: there is one.
  DeskConnection* OldestUnidentified();
  // Returns the numbers of those whose time is over.
  std::vector<uint64_t> LateUnidentified(int64_t now_us);

  // The observations of the connection's device are set up until then.
  void AwaitSetUp(DeskConnection* connection, int64_t by_us);
  // They are set up, or no longer wanted.
  void EndSetUp(DeskConnection* connection);
  // The numbers of the connections that wait for this.
  const std::vector<uint64_t>& to_set_up() const { return to_set_up_; }

 private:
  std::unordered_map<uint64_t, DeskConnection> all_;  // by number
  std::list<uint64_t> unidentified_;                  // oldest first
  std::vector<uint64_t> output_;
  std::vector<uint64_t> to_set_up_;  // few
};

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_DESK_DESK_CONNECTIONS_H_
