// Worker: slots that move to another worker, and slots that arrive.
//
// A slot leaves as a whole, in one step, when nothing of its devices is in flight on this worker:
// no record that awaits its acknowledgement, no command, nothing in the rings from and to
// JavaScript, and every record sealed into the lanes. The first record that runs on the other
// worker is then sealed behind all of them.

#include <algorithm>
#include <utility>

#include "core/base/require.h"
#include "core/runtime/worker.h"

namespace seganet {
namespace {

// RFC 7252 4.8.2, EXCHANGE_LIFETIME: within this time, a message may be repeated, and the CoAP
// server that can detect the duplicate stays with the worker.
constexpr int64_t kDatagramUs = 300'000'000;

}  // namespace

// True if this worker may create a row for the device: the row is not about to arrive in a parcel.
bool Worker::Owns(std::string_view device) const {
  return !shared_.exchange->active() ||
         (shared_.exchange->placement().WorkerOf(device) == options_.index &&
          (arriving_.load(std::memory_order_relaxed) == 0 || devices_.Find(device) != nullptr));
}

void Worker::MoveSlots(const std::vector<SlotMove>& moves) {
  auto task = [this, moves] {
    const int64_t now = MonotonicUs();
    SlotSet slots;
    for (const SlotMove& move : moves) {
      SEGANET_REQUIRE(shared_.exchange->placement().Owner(move.slot) == options_.index);
      slots.set(move.slot);
    }
    const SlotSet tied = TiedSlots(slots);
    for (const SlotMove& move : moves) {
      if (tied[move.slot]) {
        shared_.exchange->Ended(move, false);
      } else {
        moves_.Begin(move, now);
      }
    }
    const std::vector<Agent*> agents(agents_.begin(), agents_.end());
    for (Agent* agent : agents) Freeze(agent);
    // Records that the devices wait for must not wait for a batch to fill or for a window to end.
    EndWindowsOf(slots);
    pipeline_.Flush(0, SealReason::kFlush);
  };
  if (Post(std::move(task))) return;
  for (const SlotMove& move : moves) shared_.exchange->Ended(move, false);
}

// Windows do not move: those of the devices in these slots end early.
void Worker::EndWindowsOf(const SlotSet& slots) {
  const auto leaves = [&](std::string_view device) { return slots[Placement::SlotOf(device)]; };
  pipeline_.EndWindows(0, leaves, MonotonicUs());
}

// Stops reading the agent's device if its slot is about to leave.
void Worker::Freeze(Agent* agent) {
  // Connections of the request desk tie their slots (TiedSlots).
  if (agent->session().desk() != nullptr) return;
  SlotMoves::Leaving* const leaving = moves_.Find(Placement::SlotOf(agent->device_id()));
  if (leaving == nullptr) return;
  Unfreeze(agent);
  pauses_.Remove(agent);
  agent->paused = Agent::kPausedByMove;
  leaving->agents.push_back(agent);
}

// Removes the agent from the slot that is about to leave.
void Worker::Unfreeze(Agent* agent) {
  if (agent->paused != Agent::kPausedByMove) return;
  agent->paused = 0;
  moves_.Forget(agent);
}

bool Worker::IsQuiet(const SlotMoves::Leaving& leaving) const {
  return std::all_of(leaving.agents.begin(), leaving.agents.end(), [](Agent* agent) {
    return agent->connected() && agent->session().unacknowledged() == 0;
  });
}

// Called once per turn of the loop while slots are about to leave.
void Worker::TryMoves() {
  const int64_t now = MonotonicUs();
  SlotSet ready;
  for (const SlotMoves::Leaving& leaving : moves_.all()) {
    if (IsQuiet(leaving)) ready.set(leaving.move.slot);
  }
  // All moves have the same destination: the planner moves slots from one worker to one other at a
  // time.
  const bool gone = ready.any() && HandOver(ready, moves_.all().front().move.to);
  for (size_t i = moves_.all().size(); i-- > 0;) {
    const SlotMoves::Leaving& leaving = moves_.all()[i];
    const bool moved = gone && shared_.exchange->placement().Owner(leaving.move.slot) !=
                                   static_cast<uint32_t>(options_.index);
    if (moved || leaving.deadline_us <= now) EndMove(i, moved);
  }
}

void Worker::EndMove(size_t index, bool moved) {
  SlotMoves::Leaving leaving = std::move(moves_.all()[index]);
  moves_.all().erase(moves_.all().begin() + static_cast<ptrdiff_t>(index));
  for (Agent* agent : leaving.agents) agent->paused = 0;
  for (Agent* agent : leaving.agents) agent->Resume();
  shared_.exchange->Ended(leaving.move, moved);
}

// Returns the slots that cannot leave this worker: a device has a command in flight, speaks CoAP
// over UDP, whose server does not move, uses the request desk, whose operations are under way to
// this worker, or has a record in flight whose receipt comes back to this worker.
SlotSet Worker::TiedSlots(const SlotSet& slots) const {
  SlotSet tied;
  commands_.ForEachDevice([&](std::string_view device) { tied.set(Placement::SlotOf(device)); });
  desk_.ForEachDevice([&](std::string_view device) { tied.set(Placement::SlotOf(device)); });
  receipts_.late().ForEachDevice(
      [&](std::string_view device) { tied.set(Placement::SlotOf(device)); });
  const int64_t since_us = MonotonicUs() - kDatagramUs;
  devices_.ForEach([&](const Device& device) {
    if (!slots[device.slot]) return;
    if (device.observing || (device.registered_in != 0 && device.last_seen_us > since_us)) {
      tied.set(device.slot);
    }
  });
  return tied;
}

// Moves `slots` to worker `to`. Returns false if that is not possible now.
bool Worker::HandOver(const SlotSet& slots, uint32_t to) {
  SlotExchange& exchange = *shared_.exchange;
  // JavaScript reads the rings one after the other, so messages in this ring must not be read after
  // those in the other worker's ring.
  if (messages_.used() != 0) return false;
  // Each worker counts its own tickets of sessions that are not on disk yet.
  const SessionSaves& saves = kept_.saves();
  if (saves.waiting() > 0 || saves.has_offers()) return false;
  DrainPending();  // most of the work, before the lock makes others wait
  const std::lock_guard<std::mutex> lock(exchange.routes());
  if (exchange.held() || adopting_.load(std::memory_order_relaxed) != 0) return false;
  DrainPending();
  EndWindowsOf(slots);
  pipeline_.Flush(0, SealReason::kFlush);
  if (inbound_.used() != 0 || messages_.used() != 0) return false;
  const SlotSet leaving = slots & ~TiedSlots(slots);
  if (leaving.none()) return false;

  auto parcel = std::make_unique<SlotParcel>();
  for (SlotMoves::Leaving& each : moves_.all()) {
    if (!leaving[each.move.slot]) continue;
    for (Agent* agent : each.agents) {
      agent->device->agent = nullptr;
      parcel->agents.push_back(TakeOut(agent));
    }
    each.agents.clear();
  }
  const auto leaves = [&](std::string_view device) { return leaving[Placement::SlotOf(device)]; };
  parcel->devices = devices_.Take([&](const Device& device) { return leaving[device.slot]; });
  parcel->kept = kept_.TakeAll(leaves);
  parcel->wills = wills_.Take(leaves);
  parcel->touched = kept_.saves().TakeTouched(leaves);
  // Before the table changes: a thread that reads the new owner posts behind the parcel.
  exchange.Deliver(to, std::move(parcel));
  for (uint32_t slot = 0; slot < Placement::kSlots; ++slot) {
    if (leaving[slot]) exchange.placement().Set(slot, to);
  }
  return true;
}

void Worker::Arrive(std::unique_ptr<SlotParcel> parcel) {
  // Before the table names this worker as owner of the slots (DrainRing, Owns).
  arriving_.fetch_add(1, std::memory_order_relaxed);
  const std::shared_ptr<SlotParcel> shared = std::move(parcel);
  Post([this, shared] {
    arriving_.fetch_sub(1, std::memory_order_relaxed);
    Unpack(shared.get());
    Wake();  // pushed records of these devices may be waiting
  });
}

void Worker::Unpack(SlotParcel* parcel) {
  now_ = Now::Read();
  // Before the rows: a full table evicts rows without a connection to make room for these.
  std::vector<Agent*> arrived;
  for (MovedAgent& moved : parcel->agents) {
    Agent* const agent = Continue(std::move(moved));
    agent->device->agent = agent;
    arrived.push_back(agent);
  }
  for (std::unique_ptr<Device>& device : parcel->devices) {
    device->registered_in = 0;  // each worker numbers its plans itself
    devices_.Put(std::move(device));
  }
  for (Wills::Moved& will : parcel->wills) wills_.Put(std::move(will));
  for (KeptSessions::Moved& kept : parcel->kept) kept_.PutMoved(std::move(kept));
  for (Agent* agent : arrived) Enter(agent);
  for (const std::string& device : parcel->touched) kept_.saves().Touch(device);
  for (Agent* agent : arrived) agent->Resume();
}

}  // namespace seganet
