// The MQTT sessions of one worker that are saved on disk, and restored at the start.
#ifndef SEGANET_CORE_RUNTIME_SESSION_OFFERS_H_
#define SEGANET_CORE_RUNTIME_SESSION_OFFERS_H_

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "core/devices/agent.h"
#include "core/devices/command_table.h"
#include "core/devices/device_table.h"
#include "core/devices/kept_sessions.h"
#include "core/devices/session_saves.h"
#include "core/protocol/mqtt/kept_session.h"
#include "core/runtime/session_outbox.h"
#include "core/runtime/session_row.h"

namespace seganet {

// The dependencies of SessionOffers. All objects outlive it.
struct SessionOffersContext {
  uint32_t worker;  // its index
  SessionOutbox* outbox;
  KeptSessions* kept;
  DeviceTable* devices;
  const CommandTable* commands;
};

// Offers the sessions that are due (SessionSaves) to the outbox while that has room, and sends the
// answers of devices whose changes the store thread has committed.
//
// Thread safety: owned by one worker.
class SessionOffers {
 public:
  explicit SessionOffers(const SessionOffersContext& context) : context_(context) {}
  SessionOffers(const SessionOffers&) = delete;
  SessionOffers& operator=(const SessionOffers&) = delete;

  // True if the outbox was switched on or off since Serve was called.
  bool IsOutdated() const { return context_.outbox->active() != is_active_; }
  // Follows the outbox. To be called at each wake-up, so it is cheap when nothing has changed. May
  // close connections.
  void Serve();
  // Offers the sessions that are due.
  void OfferDue();

  // Offers all sessions as if their connections ended now, and no change after that. `agents` are
  // those of the worker.
  void OfferLast(const std::unordered_set<Agent*>& agents);
  // Adds sessions of an earlier run.
  void Restore(std::vector<RestoredSession> sessions);

 private:
  SessionSaves::Offer Offer(const SessionSaves::Due& due);
  void SendAnswers();

  const SessionOffersContext context_;
  uint64_t committed_ = 0;       // SessionOutbox::committed, as last read
  bool is_active_ = false;       // SessionOutbox::active, as last read
  bool outbox_is_full_ = false;  // until the next Serve
  bool is_last_ = false;         // OfferLast was called
};

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_SESSION_OFFERS_H_
