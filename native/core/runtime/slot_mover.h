// The slots of one worker that move to another worker, and slots that arrive.
#ifndef SEGANET_CORE_RUNTIME_SLOT_MOVER_H_
#define SEGANET_CORE_RUNTIME_SLOT_MOVER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/base/clock.h"
#include "core/devices/agent.h"
#include "core/devices/agent_transfer.h"
#include "core/devices/command_table.h"
#include "core/devices/device_table.h"
#include "core/devices/kept_sessions.h"
#include "core/devices/receipts/late_receipts.h"
#include "core/devices/wills.h"
#include "core/loop/loop_thread.h"
#include "core/plan/pipeline.h"
#include "core/queue/byte_ring.h"
#include "core/runtime/desk/desk_server.h"
#include "core/runtime/pushed_records.h"
#include "core/runtime/read_pauses.h"
#include "core/runtime/slot_moves.h"

namespace seganet {

// The dependencies of a SlotMover. All objects outlive it.
struct SlotMoverContext {
  LoopThread* thread;  // the worker
  uint32_t worker;     // its index
  SlotExchange* exchange;
  AgentTransfer* transfer;
  const std::unordered_set<Agent*>* agents;
  const std::atomic<uint32_t>* adopting;  // connections on the way to this worker
  Now* now;                               // time of the current turn
  PushedRecords* pushed;
  const ByteRing* messages;  // to JavaScript
  Pipeline* pipeline;
  ReadPauses* pauses;
  DeviceTable* devices;
  LastValues* values;
  KeptSessions* kept;
  Wills* wills;
  const CommandTable* commands;
  const LateReceipts* late;
  const DeskServer* desk;
};

// A slot leaves as a whole, in one step, when nothing of its devices is in flight on this worker:
// no record that awaits its acknowledgement, no command, nothing in the rings from and to
// JavaScript, and every record sealed into the lanes. The first record that runs on the other
// worker is then sealed behind all of them.
//
// Thread safety: Move, Arrive and is_arriving from any thread; everything else from the worker's
// thread.
class SlotMover {
 public:
  explicit SlotMover(const SlotMoverContext& context) : context_(context) {}
  SlotMover(const SlotMover&) = delete;
  SlotMover& operator=(const SlotMover&) = delete;

  // Moves these slots to other workers. A slot moves when nothing of its devices is in flight, or
  // not at all; SlotExchange::Ended reports which. REQUIRES: this worker owns the slots.
  void Move(const std::vector<SlotMove>& moves);
  // Receives slots of another worker.
  void Arrive(std::unique_ptr<SlotParcel> parcel);
  // True if a parcel is in flight to this worker.
  bool is_arriving() const { return arriving_.load(std::memory_order_relaxed) != 0; }

  // True if this worker may create a row for the device: the row is not about to arrive in a
  // parcel.
  bool Owns(std::string_view device) const;
  // Stops reading the agent's device if its slot is about to leave.
  void Freeze(Agent* agent);
  // The agent closes: removes it from the slot that is about to leave.
  void Unfreeze(Agent* agent);

  // True if no slot is about to leave.
  bool empty() const { return moves_.empty(); }
  // Hands over the slots that are ready. To be called once per turn of the loop unless empty().
  void Try();

 private:
  void EndMove(size_t index, bool moved);
  bool IsQuiet(const SlotMoves::Leaving& leaving) const;
  bool HandOver(const SlotSet& slots, uint32_t to);
  void Seal(const SlotSet& slots);
  SlotSet TiedSlots(const SlotSet& slots) const;
  void Unpack(SlotParcel* parcel);

  const SlotMoverContext context_;
  SlotMoves moves_;
  std::atomic<uint32_t> arriving_{0};  // parcels in flight to this worker
};

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_SLOT_MOVER_H_
