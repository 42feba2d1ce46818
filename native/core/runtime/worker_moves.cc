// Worker: slots that leave it for another worker, and that come from one.
//
// A slot leaves as a whole, in one step, when nothing of its devices is on its way here: no record
// that a device waits for, no command, nothing in the ring from JavaScript or to it, and every
// record sealed into the lanes. Then the first record that runs at the other worker is sealed
// behind them.

#include <algorithm>
#include <ctime>
#include <utility>

#include "core/runtime/worker.h"

namespace seganet {
namespace {

constexpr int64_t kMeasureUs = 1'000'000;
// RFC 7252 4.8.2, EXCHANGE_LIFETIME: for so long a message may come twice, and the server that
// knows it stays with the worker.
constexpr int64_t kDatagramUs = 300'000'000;

int64_t ThreadCpuUs() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return int64_t{time.tv_sec} * 1'000'000 + time.tv_nsec / 1000;
}

}  // namespace

void Worker::MeasureLoad() {
  const int64_t now = MonotonicUs();
  open_agents_.store(agents_.size(), std::memory_order_relaxed);
  const int64_t passed = now - measured_us_;
  if (passed < kMeasureUs) return;
  const int64_t cpu_us = ThreadCpuUs();
  if (measured_us_ != 0) {
    busy_.store(static_cast<double>(cpu_us - measured_cpu_us_) / static_cast<double>(passed),
                std::memory_order_relaxed);
  }
  measured_us_ = now;
  measured_cpu_us_ = cpu_us;
}

// A row may be made for it here: it is not about to come in a parcel.
bool Worker::Owns(std::string_view device) const {
  return !shared_.exchange->active() ||
         (shared_.exchange->placement().WorkerOf(device) == options_.index &&
          (arriving_.load(std::memory_order_relaxed) == 0 || devices_.Find(device) != nullptr));
}

void Worker::MoveSlots(const std::vector<SlotMove>& moves) {
  auto task = [this, moves] {
    const int64_t now = MonotonicUs();
    SlotSet slots;
    for (const SlotMove& move : moves) slots.set(move.slot);
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
    // What their devices wait for is not to wait for a batch to fill.
    pipeline_.Flush(0, SealReason::kFlush);
  };
  if (Post(std::move(task))) return;
  for (const SlotMove& move : moves) shared_.exchange->Ended(move, false);
}

// Its device is not read from now on, if its slot is about to leave.
void Worker::Freeze(Agent* agent) {
  SlotMoves::Leaving* const leaving = moves_.Find(Placement::SlotOf(agent->device_id()));
  if (leaving == nullptr) return;
  Unpause(agent);
  agent->paused = Agent::kPausedByMove;
  leaving->agents.push_back(agent);
}

// Takes it off the list of those that it waits among.
void Worker::Unpause(Agent* agent) {
  const uint8_t paused = std::exchange(agent->paused, 0);
  if (paused == Agent::kPausedByRate) {
    rate_pauses_.Remove(agent, agent->paused_until_us);
  } else if (paused == Agent::kPausedByMove) {
    moves_.Forget(agent);
  } else if (paused != 0) {
    std::erase(paused_[paused], agent);
  }
}

bool Worker::IsQuiet(const SlotMoves::Leaving& leaving) const {
  return std::all_of(leaving.agents.begin(), leaving.agents.end(), [](Agent* agent) {
    return agent->connected() && agent->session().unacknowledged() == 0;
  });
}

// Once a turn while slots are about to leave.
void Worker::TryMoves() {
  const int64_t now = MonotonicUs();
  SlotSet ready;
  for (const SlotMoves::Leaving& leaving : moves_.all()) {
    if (IsQuiet(leaving)) ready.set(leaving.move.slot);
  }
  // The planner has one worker at a time give slots to one other.
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

// Those of `slots` that something ties to this worker: a command that waits for its answer, or a
// device that speaks CoAP over UDP, whose server does not move.
SlotSet Worker::TiedSlots(const SlotSet& slots) const {
  SlotSet tied;
  commands_.ForEachDevice([&](std::string_view device) { tied.set(Placement::SlotOf(device)); });
  const int64_t since_us = MonotonicUs() - kDatagramUs;
  devices_.ForEach([&](const Device& device) {
    if (!slots[device.slot]) return;
    if (device.observing || (device.registered_in != 0 && device.last_seen_us > since_us)) {
      tied.set(device.slot);
    }
  });
  return tied;
}

// False: not now.
bool Worker::HandOver(const SlotSet& slots, uint32_t to) {
  SlotExchange& exchange = *shared_.exchange;
  // Rings are read one after the other: what is in this one must not be behind what comes in the
  // other worker's.
  if (messages_.used() != 0) return false;
  DrainPending();  // most of it before others have to wait
  const std::lock_guard<std::mutex> lock(exchange.routes());
  if (exchange.held() || adopting_.load(std::memory_order_relaxed) != 0) return false;
  DrainPending();
  pipeline_.Flush(0, SealReason::kFlush);
  if (inbound_.used() != 0 || messages_.used() != 0) return false;
  const SlotSet leaving = slots & ~TiedSlots(slots);
  if (leaving.none()) return false;

  auto parcel = std::make_unique<SlotParcel>();
  for (SlotMoves::Leaving& each : moves_.all()) {
    if (!leaving[each.move.slot]) continue;
    for (Agent* agent : each.agents) {
      agent->device->agent = nullptr;
      agents_.erase(agent);
      receipt_rows_.Leave(agent);
      wheel_.Remove(agent);
      parcel->agents.push_back(agent->Leave());
    }
    each.agents.clear();
  }
  const auto leaves = [&](std::string_view device) { return leaving[Placement::SlotOf(device)]; };
  parcel->devices = devices_.Take([&](const Device& device) { return leaving[device.slot]; });
  parcel->kept = kept_.TakeAll(leaves);
  parcel->wills = wills_.Take(leaves);
  // Before the table says so: whoever reads that the slot is there posts behind it.
  exchange.Deliver(to, std::move(parcel));
  for (uint32_t slot = 0; slot < Placement::kSlots; ++slot) {
    if (leaving[slot]) exchange.placement().Set(slot, to);
  }
  return true;
}

void Worker::Arrive(std::unique_ptr<SlotParcel> parcel) {
  // Before the table says that its slots are here (DrainRing, Owns).
  arriving_.fetch_add(1, std::memory_order_relaxed);
  const std::shared_ptr<SlotParcel> shared = std::move(parcel);
  Post([this, shared] {
    arriving_.fetch_sub(1, std::memory_order_relaxed);
    Unpack(shared.get());
    Wake();  // pushed records of these devices may wait
  });
}

void Worker::Unpack(SlotParcel* parcel) {
  now_ = Now::Read();
  // Before the rows: a full table forgets rows without a connection to take these in.
  std::vector<Agent*> arrived;
  for (MovedAgent& moved : parcel->agents) {
    auto* agent = new Agent(this, loop(), std::move(moved));
    agent->device->agent = agent;
    arrived.push_back(agent);
  }
  for (std::unique_ptr<Device>& device : parcel->devices) {
    device->registered_in = 0;  // plans are numbered by each worker
    devices_.Put(std::move(device));
  }
  for (Wills::Moved& will : parcel->wills) wills_.Put(std::move(will));
  for (KeptSessions::Moved& kept : parcel->kept) kept_.PutMoved(std::move(kept));
  for (Agent* agent : arrived) {
    agent->session().MoveTo(agent->owner(), &kept_, &wills_);
    agents_.insert(agent);
    receipt_rows_.Enroll(agent);
    wheel_.Add(agent, now_.mono_us);
    Register(agent);
  }
  for (Agent* agent : arrived) agent->Resume();
}

}  // namespace seganet
