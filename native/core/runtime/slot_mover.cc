#include "core/runtime/slot_mover.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

#include "core/base/require.h"

namespace seganet {
namespace {

// RFC 7252 4.8.2, EXCHANGE_LIFETIME: within this time, a message may be repeated, and the CoAP
// server that can detect the duplicate stays with the worker.
constexpr int64_t kDatagramUs = 300'000'000;

}  // namespace

bool SlotMover::Owns(std::string_view device) const {
  const SlotExchange& exchange = *context_.exchange;
  return !exchange.active() || (exchange.placement().WorkerOf(device) == context_.worker &&
                                (!is_arriving() || context_.devices->Find(device) != nullptr));
}

void SlotMover::Move(const std::vector<SlotMove>& moves) {
  auto task = [this, moves] {
    const int64_t now = MonotonicUs();
    SlotSet slots;
    for (const SlotMove& move : moves) {
      SEGANET_REQUIRE(context_.exchange->placement().Owner(move.slot) == context_.worker);
      slots.set(move.slot);
    }
    const SlotSet tied = TiedSlots(slots);
    for (const SlotMove& move : moves) {
      if (tied[move.slot]) {
        context_.exchange->Ended(move, false);
      } else {
        moves_.Begin(move, now);
      }
    }
    const std::vector<Agent*> agents(context_.agents->begin(), context_.agents->end());
    for (Agent* agent : agents) Freeze(agent);
    // Records that the devices wait for must not wait for a batch to fill or for a window to end.
    Seal(slots);
  };
  if (context_.thread->Post(std::move(task))) return;
  for (const SlotMove& move : moves) context_.exchange->Ended(move, false);
}

// Seals the records of the devices in these slots into the lanes. Windows do not move: those of the
// devices end early.
void SlotMover::Seal(const SlotSet& slots) {
  std::vector<const Device*> bridges;
  context_.devices->ForEachBridge([&](const Device* bridge) {
    if (slots[bridge->slot]) bridges.push_back(bridge);
  });
  const auto leaves = [&](std::string_view device) {
    return slots[Placement::SlotOf(device)] ||
           std::any_of(bridges.begin(), bridges.end(), [&](const Device* bridge) {
             return DeviceTable::FindBehind(bridge, device) != nullptr;
           });
  };
  context_.pipeline->EndWindows(0, leaves, MonotonicUs());
  context_.pipeline->Flush(0, SealReason::kFlush);
}

void SlotMover::Freeze(Agent* agent) {
  // Connections of the request desk tie their slots (TiedSlots).
  if (agent->session().desk() != nullptr) return;
  SlotMoves::Leaving* const leaving = moves_.Find(Placement::SlotOf(agent->device_id()));
  if (leaving == nullptr) return;
  Unfreeze(agent);
  context_.pauses->Remove(agent);
  agent->paused = Agent::kPausedByMove;
  leaving->agents.push_back(agent);
}

void SlotMover::Unfreeze(Agent* agent) {
  if (agent->paused != Agent::kPausedByMove) return;
  agent->paused = 0;
  moves_.Forget(agent);
}

bool SlotMover::IsQuiet(const SlotMoves::Leaving& leaving) const {
  return std::all_of(leaving.agents.begin(), leaving.agents.end(), [](Agent* agent) {
    return agent->connected() && agent->session().unacknowledged() == 0;
  });
}

void SlotMover::Try() {
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
    const bool moved =
        gone && context_.exchange->placement().Owner(leaving.move.slot) != context_.worker;
    if (moved || leaving.deadline_us <= now) EndMove(i, moved);
  }
}

void SlotMover::EndMove(size_t index, bool moved) {
  SlotMoves::Leaving leaving = std::move(moves_.all()[index]);
  moves_.all().erase(moves_.all().begin() + static_cast<ptrdiff_t>(index));
  for (Agent* agent : leaving.agents) agent->paused = 0;
  for (Agent* agent : leaving.agents) agent->Resume();
  context_.exchange->Ended(leaving.move, moved);
}

// Returns the slots that cannot leave this worker: a device has a command in flight, speaks CoAP
// over UDP, whose server does not move, uses the request desk, whose operations are under way to
// this worker, or has a record in flight whose receipt comes back to this worker.
SlotSet SlotMover::TiedSlots(const SlotSet& slots) const {
  SlotSet tied;
  const auto tie = [&tied](std::string_view device) { tied.set(Placement::SlotOf(device)); };
  context_.commands->ForEachDevice(tie);
  context_.desk->ForEachDevice(tie);
  context_.late->ForEachDevice(tie);
  const int64_t since_us = MonotonicUs() - kDatagramUs;
  context_.devices->ForEach([&](const Device& device) {
    if (!slots[device.slot]) return;
    if (device.observing || (device.registered_in != 0 && device.last_seen_us > since_us)) {
      tied.set(device.slot);
    }
  });
  return tied;
}

// Moves `slots` to worker `to`. Returns false if that is not possible now.
bool SlotMover::HandOver(const SlotSet& slots, uint32_t to) {
  SlotExchange& exchange = *context_.exchange;
  KeptSessions& kept = *context_.kept;
  // JavaScript reads the rings one after the other, so messages in this ring must not be read after
  // those in the other worker's ring.
  if (context_.messages->used() != 0) return false;
  // Each worker counts its own tickets of sessions that are not on disk yet.
  if (kept.saves().waiting() > 0 || kept.saves().has_offers()) return false;
  context_.pushed->Drain();  // most of the work, before the lock makes others wait
  const std::lock_guard<std::mutex> lock(exchange.routes());
  if (exchange.held() || context_.adopting->load(std::memory_order_relaxed) != 0) return false;
  context_.pushed->Drain();
  Seal(slots);
  if (!context_.pushed->empty() || context_.messages->used() != 0) return false;
  const SlotSet leaving = slots & ~TiedSlots(slots);
  if (leaving.none()) return false;
  context_.transfer->PassRecords();

  auto parcel = std::make_unique<SlotParcel>();
  for (SlotMoves::Leaving& each : moves_.all()) {
    if (!leaving[each.move.slot]) continue;
    for (Agent* agent : each.agents) {
      agent->device->agent = nullptr;
      parcel->agents.push_back(context_.transfer->TakeOut(agent));
    }
    each.agents.clear();
  }
  const auto leaves = [&](std::string_view device) { return leaving[Placement::SlotOf(device)]; };
  parcel->devices =
      context_.devices->Take([&](const Device& device) { return leaving[device.slot]; });
  for (const auto& device : parcel->devices) context_.values->Leave(device.get());
  // A forecast is kept by the slot of its device's id. A device behind a bridge may be in another
  // slot than the bridge, so with a bridge all go, and those that stay come back with their next
  // record.
  const bool has_bridge = std::any_of(parcel->devices.begin(), parcel->devices.end(),
                                      [](const auto& device) { return device->behind != nullptr; });
  context_.pipeline->LeaveForecasts([&](uint32_t place) { return has_bridge || leaving[place]; });
  parcel->kept = kept.TakeAll(leaves);
  parcel->wills = context_.wills->Take(leaves);
  parcel->touched = kept.saves().TakeTouched(leaves);
  // Before the table changes: a thread that reads the new owner posts behind the parcel.
  exchange.Deliver(to, std::move(parcel));
  for (uint32_t slot = 0; slot < Placement::kSlots; ++slot) {
    if (leaving[slot]) exchange.placement().Set(slot, to);
  }
  return true;
}

void SlotMover::Arrive(std::unique_ptr<SlotParcel> parcel) {
  // Before the table names this worker as owner of the slots (is_arriving, Owns).
  arriving_.fetch_add(1, std::memory_order_relaxed);
  const std::shared_ptr<SlotParcel> shared = std::move(parcel);
  context_.thread->Post([this, shared] {
    arriving_.fetch_sub(1, std::memory_order_relaxed);
    Unpack(shared.get());
    context_.thread->Wake();  // pushed records of these devices may be waiting
  });
}

void SlotMover::Unpack(SlotParcel* parcel) {
  *context_.now = Now::Read();
  // Before the rows: a full table evicts rows without a connection to make room for these.
  std::vector<Agent*> arrived;
  for (MovedAgent& moved : parcel->agents) {
    Agent* const agent = context_.transfer->Continue(std::move(moved));
    agent->device->agent = agent;
    arrived.push_back(agent);
  }
  for (std::unique_ptr<Device>& device : parcel->devices) {
    device->registered_in = 0;  // each worker numbers its plans itself
    context_.values->Enter(context_.devices->Put(std::move(device)));
  }
  for (Wills::Moved& will : parcel->wills) context_.wills->Put(std::move(will));
  for (KeptSessions::Moved& kept : parcel->kept) context_.kept->PutMoved(std::move(kept));
  for (Agent* agent : arrived) context_.transfer->Enter(agent);
  for (const std::string& device : parcel->touched) context_.kept->saves().Touch(device);
  for (Agent* agent : arrived) agent->Resume();
}

}  // namespace seganet
