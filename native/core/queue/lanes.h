// The queue in front of one uplink: for each class, a live lane (FIFO) of sealed batches and a
// backlog lane of batches that were read back from the log. Sessions take batches through outlets,
// each for some of the classes, and release the batches that the cloud acknowledged.
//
// Lanes also decide which batches must be written to disk and when, because only they know how well
// the cloud responds, and they enforce the limits of the classes. Files:
//   lanes.cc          adding batches, and removing them for good
//   lanes_outlets.cc  the sessions' interface
//   lanes_second.cc   a second session that sends copies of class 1
//   lanes_limits.cc   limits of age, number and memory
//   lanes_save.cc     selection of the batches to write
//   lanes_stored.cc   results of writing, and batches read back
//   lanes_moves.cc    batches that a new plan moves to other lanes
//
// Parts of their own: the lanes (lane_set.h), whose turn it is (turns.h), and where batches are in
// the log (log_batches.h).
//
// Here a batch crosses from a worker to the uplink's thread, under a mutex, which is locked per
// batch, not per record.
#ifndef SEGANET_CORE_QUEUE_LANES_H_
#define SEGANET_CORE_QUEUE_LANES_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/counters.h"
#include "core/base/doorbell.h"
#include "core/queue/batch.h"
#include "core/queue/demand.h"
#include "core/queue/lane_set.h"
#include "core/queue/lanes_context.h"
#include "core/queue/lanes_memory.h"
#include "core/queue/log_batches.h"
#include "core/queue/outlet.h"
#include "core/queue/turns.h"

namespace seganet {

// Thread safety: any member from any thread. An outlet must be used by one thread at a time, and
// not after its Detach.
class Lanes {
 public:
  explicit Lanes(LanesContext context);

  // Adds a batch to the end of the lane of its class. Then sends it on this thread, if the outlet
  // that serves the class has a direct sender and that is possible, or rings the outlet.
  void Push(BatchPtr batch);

  // Drops all batches that wait or are in flight, and counts their records with `reason`. Batches
  // on disk stay there.
  void Clear(Drop reason);

  // Enforces the age limits while no batch moves. Call it periodically.
  void Sweep(int64_t now_us);

  const CounterBlock& counters() const { return counters_; }

  // Returns the bytes of the batches in memory that wait here or are in flight, as the memory
  // budget counts them.
  int64_t held_bytes() const { return memory_.bytes(); }

  // Returns the demand of the sessions, for the batchers.
  Demand* demand() { return &demand_; }

  // --- The sessions' interface (lanes_outlets.cc) ---

  // Connects a consumer of these classes. Returns null if another outlet serves one of them, or if
  // there are none. The doorbell must outlive the outlet. The session is initially down.
  // `rests`: the consumer takes nothing. When the bell rings, it prepares a session, which takes a
  // while and attaches an outlet of its own. See prompt_classes().
  Outlet* Attach(Doorbell* doorbell, ClassMask classes = kAllClasses, bool rests = false);

  // Connects a second consumer of class 1, on another path to the cloud. Each of the two outlets
  // takes each live batch of class 1 in the same order, and the first Release by either ends it.
  // Returns null if no outlet serves class 1, or if it has a second one.
  //
  // Order: an outlet takes a batch only after all batches before it that are still in flight
  // anywhere. So a session that sends in the order of Take either sent each older batch itself, or
  // the cloud has it from the other session: first arrivals stay in order, however late copies are.
  //
  // A second outlet takes no backlog. It must be detached when its session ends: what only it had
  // taken then returns to the lane, and the other outlet takes it.
  Outlet* AttachSecond(Doorbell* doorbell);

  // What a second outlet achieved, also earlier ones.
  struct Copies {
    uint64_t sent = 0;          // batches that the later of the two outlets took
    uint64_t lead_first = 0;    // of these, batches that the first outlet released first
    uint64_t second_first = 0;  // the same for the second outlet
  };
  Copies copies();

  // Disconnects the outlet. Its batches in flight return to the head of their lanes, in order.
  void Detach(Outlet* outlet);

  // Wakes the thread that serves the outlet.
  void Ring(Outlet* outlet);

  // Lets a worker of the engine attend a session. Takes ownership of `fd`, a descriptor of the
  // connection that is ready when there is something to receive. Returns false if no worker can.
  bool Attend(std::shared_ptr<DirectSession> session, uint64_t attendance, int fd);

  // Sets what Push tries before it rings; null = nothing. A call of Send may still follow.
  void SetDirect(Outlet* outlet, std::shared_ptr<DirectSession> direct);

  // Reports whether the session with the cloud is up.
  void SetConnected(Outlet* outlet, bool connected, int64_t now_us);

  // Returns the class of the batch that Take would take at `now_us`, 0 = none. Selects among the
  // classes that may send: a class that sent nothing for the aging time, else class 1, else by
  // weights across all outlets (queue/selection.h). A class that is too far ahead of a class that
  // waits at another connected outlet is held, and the outlet is rung when the hold ends. Does not
  // use up a turn. `of`: as if only these classes waited.
  uint8_t Best(Outlet* outlet, int64_t now_us, ClassMask of = kAllClasses);
  // The same for the backlog.
  uint8_t BestBacklog(Outlet* outlet, int64_t now_us);

  // Passes the best batch to `copy`. If `copy` returns true, the batch is taken and in flight.
  // Returns false if there is no batch, or if `copy` returned false.
  bool Take(Outlet* outlet, int64_t now_us, const std::function<bool(const Batch&)>& copy,
            bool backlog = false, ClassMask of = kAllClasses);

  // Passes a batch in flight to `show`. Returns false if no such batch is in flight.
  bool Look(Outlet* outlet, uint64_t id, const std::function<void(const Batch&)>& show);

  // Releases batch `id`, which the cloud acknowledged except for the records in `refusal`. Returns
  // false if no such batch is in flight.
  bool Release(Outlet* outlet, uint64_t id, int64_t now_us, const Refusal& refusal = {});

  // Returns the time until a class that is held, or waits only for its rate, must be
  // checked again, µs; -1 = there is none.
  int64_t RetryUs(Outlet* outlet, int64_t now_us);

  // Returns the longest time that a live batch of the outlet, waiting or in flight, has been here,
  // µs; -1 = none. Does not include the time in which it collected its records.
  int64_t OldestUs(Outlet* outlet, int64_t now_us);

  // The session is up, has room, and found no live batch: demands the records that batchers hold of
  // its classes.
  void RaiseDemand(Outlet* outlet, int64_t now_us);

  // Where batches are that could move now.
  enum Whereabouts : uint32_t {
    kLive = 1,     // in memory, and could be taken
    kBacklog = 2,  // the same for the backlog
    kLog = 4,      // on disk, and could be read
  };
  // Returns where batches of the outlet's classes wait, a set of Whereabouts. Excludes classes that
  // are held or wait for their rate, the disk or memory. If this lasts while the session is up, has
  // room, and nothing moves, somebody was not woken.
  uint32_t WaitingAt(Outlet* outlet, int64_t now_us);
  // Wakes everything that could move a batch of the outlet: the session, the log, and batchers.
  // Also if its last ring was never answered.
  void WakeAll(Outlet* outlet);

  // Sets m of the session's link. REQUIRES: kMinBatchBytes <= bytes <= kMaxAdaptiveBytes.
  void SetBatchBytes(Outlet* outlet, uint32_t bytes);
  // Sets what a message costs on the session's link (Demand::SetCost).
  void SetCost(Outlet* outlet, bool is_metered, uint32_t head_bytes, uint32_t record_bytes);

  // --- Uplink nodes that are added, moved or removed (lanes_moves.cc) ---

  // Sets the stages that these lanes serve; before the first call they serve all. Returns the
  // waiting batches of other stages, in order. Batches in flight stay: they are delivered, or
  // become strays when their outlet is detached (LanesContext). For the lanes for leftovers,
  // `stages` are the stages that other lanes serve.
  std::vector<BatchPtr> SetStages(std::set<uint32_t> stages);

  // While paused, sessions can take no batch. Lanes that get a stage of others are paused until its
  // older batches are here.
  void SetPaused(bool paused);

  // Adds batches of other lanes of the engine, each before all younger batches.
  void TakeIn(std::vector<BatchPtr> batches);

  // --- The log's interface (lanes_save.cc, lanes_stored.cc) ---

  // Sets the names of the uplink nodes (stages) where batches wait. The log stores chunks under
  // these names.
  void SetNodes(std::map<uint32_t, std::string> nodes);

  // Returns when the next batch must be written, CLOCK_MONOTONIC; kNever = none.
  int64_t NextSave(int64_t now_us);

  // From now on, all batches are due at once.
  void SaveAll();

  // Makes a chunk of due batches of one class and one node. Returns false if no batch is due.
  bool Seal(int64_t now_us, SealedChunk* chunk);

  // The chunk `ticket` is on disk.
  void Committed(uint64_t ticket);
  // The chunk was not written; its batches are due again.
  void Failed(uint64_t ticket);
  // The log has no room for the chunk, and the user chose to drop: drops its batches. Batches in
  // flight stay, unsaved and without a receipt, and are written if they return to their lane.
  void Discard(uint64_t ticket);

  // The log removed a committed chunk to make room: drops its batches in memory. Batches in flight
  // are counted as dropped, because their devices have an acknowledgment, and may still arrive.
  void Removed(uint64_t ticket);

  // The log lost a committed chunk, or all of them (0): its live batches in memory are written
  // again. Batches of the backlog are not; they must reach the cloud from memory.
  void Unsave(uint64_t ticket = 0);

  // True if the log should be read for this class.
  bool WantsBacklog(uint8_t record_class);
  // Adds batches that were read from the log, oldest first.
  void PushBacklog(std::vector<BatchPtr> batches);

  // The classes whose batches are written after the linger time, so that their open batches must be
  // sealed by then.
  ClassMask hurried_classes() const { return hurried_.load(std::memory_order_relaxed); }
  bool must_write(uint8_t record_class) const {
    return (hurried_classes() & MaskOf(record_class)) != 0;
  }
  bool must_write() const { return hurried_classes() != 0; }
  // The classes whose batches are written at once, so that open batches must be sealed now: their
  // consumer rests, and nothing of the class was written within the linger time. A burst causes
  // at most one write more than with the linger time.
  ClassMask prompt_classes(int64_t now_us) const;

  // Returns the number of records that are not on disk, by class.
  std::array<int64_t, kClasses + 1> Unsaved();
  // Returns the steps that keeping them in order took (UnsavedBatches::steps).
  uint64_t UnsavedSteps();

  // --- When memory is full and the user chose to drop (lanes_limits.cc, make_room.h) ---

  // Spills batches of this class that are on disk, while the budget has no room for the class.
  void SpillFull(uint8_t record_class);
  // Returns the id of the batch of this class that GiveUpFirst would drop, kNoBatch = none.
  uint64_t FirstToGo(uint8_t record_class);
  // Drops that batch. Returns false if there is none.
  bool GiveUpFirst(uint8_t record_class);
  static constexpr uint64_t kNoBatch = UINT64_MAX;

 private:
  // Batches that left the lanes and are settled after the mutex is released (lanes_leaving.h).
  struct Leaving;

  // Members named …Locked, and private members without a comment, need the mutex.

  void DropLocked(BatchPtr batch, Drop reason, Leaving* leaving);
  void LetGoLocked(BatchPtr batch, Drop reason, Leaving* leaving);
  // Without the mutex.
  void Settle(Leaving* leaving);

  void RestoreLocked(BatchPtr batch);
  Batch* OwedLocked(Outlet* outlet, ClassMask of) const;
  bool TakeOwedLocked(Outlet* outlet, ClassMask of, const std::function<bool(const Batch&)>& copy,
                      bool* taken);
  std::deque<BatchPtr> LeaveFlightLocked(Outlet* outlet);
  std::shared_ptr<DirectSession> WakeLocked(Outlet* outlet, uint8_t record_class);
  bool ServesLocked(uint32_t stage) const {
    return !stages_ || stages_->contains(stage) != context_.leftovers;
  }
  void TakeStraysLocked(Lane* lane, std::vector<BatchPtr>* strays, Leaving* leaving);
  void MoveOutLocked(Batch* batch, Leaving* leaving);
  void LeaveStoredLocked(Leaving* leaving);
  void GiveUpLocked(int64_t sealed_before_us, Leaving* leaving);
  // Without the mutex.
  void PushDeadLetter(BatchPtr batch, const Refusal& refusal);

  void RingLocked(uint8_t record_class);
  void CountDelivery(Outlet* outlet, const Batch& batch, int64_t now_us);
  void TidyLocked(ClassMask classes, int64_t now_us, Leaving* leaving);
  bool Expired(const Lane& lane, int64_t now_us) const;
  void Spill(uint8_t record_class, const std::function<bool(const Batch&)>& may_go,
             Leaving* leaving);
  std::function<bool(const Batch&)> Overflow(uint8_t record_class) const;
  void SpillCrowd(Leaving* leaving);
  Lane::iterator NextToGo(uint8_t record_class);
  void LimitRecords(uint8_t record_class, Leaving* leaving);

  bool HurriedLocked(uint8_t record_class, int64_t now_us);
  int64_t DueLocked(uint8_t record_class, int64_t now_us);
  bool IsPrompt(uint8_t record_class, int64_t now_us) const;
  bool DiskCounts() const;
  std::string NodeOf(uint32_t stage) const;
  bool HasRoomToRead(uint8_t record_class) const;
  void ReadOnLocked(uint8_t record_class, Leaving* leaving);

  const LanesContext context_;
  LanesMemory memory_;
  Demand demand_;

  std::mutex mutex_;
  LaneSet lanes_;
  Outlets outlets_;
  std::array<Outlet*, kClasses + 1> serving_{};  // by class; null = none
  Turns turns_;
  Copies copies_;
  LogBatches log_;
  std::array<uint64_t, kClasses + 1> stay_below_{};  // live batches with lower ids stay in memory
  std::map<uint32_t, std::string> nodes_;
  ClassMask unread_ = 0;  // classes that had no room for backlog at the last WantsBacklog
  bool save_all_ = false;
  std::optional<std::set<uint32_t>> stages_;  // of SetStages
  std::atomic<ClassMask> hurried_{0};
  std::atomic<ClassMask> resting_{0};  // classes of consumers that rest; 0 without a log
  // By class: when the linger time after its last chunk ends.
  std::array<std::atomic<int64_t>, kClasses + 1> prompt_from_us_{};
  CounterBlock counters_;  // written under the mutex
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_LANES_H_
