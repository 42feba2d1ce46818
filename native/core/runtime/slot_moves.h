// Slots that move to another worker: the parcel with their devices, the interface between the
// workers, and a worker's list of slots that are about to leave.
#ifndef SEGANET_CORE_RUNTIME_SLOT_MOVES_H_
#define SEGANET_CORE_RUNTIME_SLOT_MOVES_H_

#include <bitset>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/require.h"
#include "core/devices/agent.h"
#include "core/devices/device_table.h"
#include "core/devices/kept_sessions.h"
#include "core/devices/pending_commands.h"
#include "core/devices/wills.h"
#include "core/placement/move_planner.h"
#include "core/placement/placement.h"

namespace seganet {

using SlotSet = std::bitset<Placement::kSlots>;

// Everything that a worker holds for the devices of some slots. Connections come without their
// agents, because a libuv handle cannot change its loop.
struct SlotParcel {
  std::vector<std::unique_ptr<Device>> devices;  // Device::agent is null
  std::vector<MovedAgent> agents;                // MovedAgent::device is one of them
  std::vector<KeptSessions::Moved> kept;
  std::vector<Wills::Moved> wills;
  std::vector<std::string> touched;  // SessionSaves::Touch
};

// The interface of the engine to its workers for moving slots.
//
// A connection or pushed record must find its device on the worker that the table names. Therefore
// routes() is locked from the lookup of the worker until the item is in that worker's queue, and
// while slots change their worker. Items for the old worker are in its queues by then, where the
// old worker sees them; later items are behind the parcel in the queue of the new worker.
//
// Thread safety: any thread.
class SlotExchange {
 public:
  virtual ~SlotExchange() = default;

  // False if no slot ever moves; the lock is not needed then.
  bool active() const { return active_; }
  std::mutex& routes() { return routes_; }
  // True while a Hold exists: nothing moves, so an operation that visits all workers meets each
  // device once. REQUIRES: routes() is held.
  bool held() const { return holds_ > 0; }
  Placement& placement() { return placement_; }
  const Placement& placement() const { return placement_; }

  // A device of this slot has sent a record, which is a part of the slot's load.
  void CountRecord(uint16_t slot) {
    if (active_) placement_.Count(slot);
  }

  // Posts a parcel to a worker. REQUIRES: routes() is held, and held() is false.
  virtual void Deliver(uint32_t worker, std::unique_ptr<SlotParcel> parcel) = 0;
  // Forwards a command that reached a worker after its device had left.
  virtual void Forward(Command command) = 0;
  // Reports the end of a requested move. `moved` false: the slot stays with its worker.
  virtual void Ended(const SlotMove& move, bool moved) = 0;

  // While this exists, no parcel is sent; parcels that were sent before are in their workers'
  // queues.
  class Hold {
   public:
    explicit Hold(SlotExchange* exchange) : exchange_(exchange) { Add(1); }
    ~Hold() { Add(-1); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    void Add(int n) {
      const std::lock_guard<std::mutex> lock(exchange_->routes_);
      exchange_->holds_ += n;
    }
    SlotExchange* const exchange_;
  };

  // Holds indefinitely, because the engine stops.
  void HoldForever() {
    const std::lock_guard<std::mutex> lock(routes_);
    ++holds_;
  }

 protected:
  bool active_ = false;  // set before the threads start

 private:
  std::mutex routes_;
  int holds_ = 0;  // guarded by routes_
  Placement placement_;
};

// The slots that are about to leave a worker, and the connections of their devices, which are not
// read meanwhile.
//
// Thread safety: owned by one worker.
class SlotMoves {
 public:
  // A slot that is not ready after this time stays, so that its devices can be read again.
  static constexpr int64_t kPatienceUs = 1'000'000;

  struct Leaving {
    SlotMove move;
    int64_t deadline_us;
    std::vector<Agent*> agents;
  };

  bool empty() const { return all_.empty(); }
  std::vector<Leaving>& all() { return all_; }

  // Adds a slot. REQUIRES: the slot is not in the list.
  void Begin(const SlotMove& move, int64_t now_us) {
    SEGANET_REQUIRE(Find(move.slot) == nullptr);
    all_.push_back({move, now_us + kPatienceUs, {}});
  }
  // Returns the entry of a slot, or null if the slot stays.
  Leaving* Find(uint32_t slot);
  // Removes an agent from its slot's entry.
  void Forget(Agent* agent);

 private:
  std::vector<Leaving> all_;  // few
};

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_SLOT_MOVES_H_
