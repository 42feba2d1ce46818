// Slots that change their worker: what goes over, whom it goes to, and a worker's list of those
// that are about to leave it.
#ifndef SEGANET_CORE_RUNTIME_SLOT_MOVES_H_
#define SEGANET_CORE_RUNTIME_SLOT_MOVES_H_

#include <bitset>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/devices/agent.h"
#include "core/devices/device_table.h"
#include "core/devices/kept_sessions.h"
#include "core/devices/pending_commands.h"
#include "core/devices/wills.h"
#include "core/placement/move_planner.h"
#include "core/placement/placement.h"

namespace seganet {

using SlotSet = std::bitset<Placement::kSlots>;

// All that a worker knows of the devices of some slots. Connections come without their agents: a
// handle of libuv cannot change its loop.
struct SlotParcel {
  std::vector<std::unique_ptr<Device>> devices;  // Device::agent is null
  std::vector<MovedAgent> agents;                // MovedAgent::device is one of them
  std::vector<KeptSessions::Moved> kept;
  std::vector<Wills::Moved> wills;
};

// The engine, as its workers see it when slots move.
//
// What finds its worker by the table must find the device there: the lock is held from looking a
// connection's or a pushed record's worker up until it is in that worker's queue, and while slots
// change their worker. So whatever was meant for the old worker lies in its queues by then, where
// it is seen, and whatever comes later lies behind the parcel.
//
// Thread safety: any thread.
class SlotExchange {
 public:
  virtual ~SlotExchange() = default;

  // False: devices stay where they are for ever, and the lock is not needed.
  bool active() const { return active_; }
  std::mutex& routes() { return routes_; }
  // REQUIRES: routes() is held. While there is a hold, whatever goes around all workers meets each
  // device once, because nothing moves.
  bool held() const { return holds_ > 0; }
  Placement& placement() { return placement_; }
  const Placement& placement() const { return placement_; }

  // REQUIRES: routes() is held, and held() is false.
  virtual void Deliver(uint32_t worker, std::unique_ptr<SlotParcel> parcel) = 0;
  // It came to a worker that its device has left.
  virtual void Forward(Command command) = 0;
  // A move that the worker was asked for is over. Not moved: the slot stays where it was.
  virtual void Ended(const SlotMove& move, bool moved) = 0;

  // No parcel is sent while this lives; one that was is in the queue of its worker.
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

  // For ever: the end has begun.
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

// The slots that shall leave a worker, and the connections of their devices, which are not read
// meanwhile.
//
// Thread safety: owned by one worker.
class SlotMoves {
 public:
  // A slot that is not ready by then stays: its devices were not read for long enough.
  static constexpr int64_t kPatienceUs = 1'000'000;

  struct Leaving {
    SlotMove move;
    int64_t deadline_us;
    std::vector<Agent*> agents;
  };

  bool empty() const { return all_.empty(); }
  std::vector<Leaving>& all() { return all_; }

  // REQUIRES: the slot is not in.
  void Begin(const SlotMove& move, int64_t now_us) {
    all_.push_back({move, now_us + kPatienceUs, {}});
  }
  // Null when the slot stays.
  Leaving* Find(uint32_t slot);
  void Forget(Agent* agent);

 private:
  std::vector<Leaving> all_;  // few
};

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_SLOT_MOVES_H_
