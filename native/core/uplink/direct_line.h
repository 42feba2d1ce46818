// The connection of an uplink session on the express path, which workers may use in turns with the
// session's thread.
#ifndef SEGANET_CORE_UPLINK_DIRECT_LINE_H_
#define SEGANET_CORE_UPLINK_DIRECT_LINE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "core/queue/direct_session.h"
#include "core/uplink/brief_reading.h"
#include "core/uplink/connection.h"
#include "core/uplink/express.h"
#include "core/uplink/late_reading.h"
#include "core/uplink/turn_lock.h"

namespace seganet {

// At a low rate, waking the session's thread costs more than sending. A worker whose batch is ready
// therefore sends it, if nobody else uses the connection: it tries to take the turn, and does not
// wait for it. The session's thread holds the turn whenever it uses the connection, its Express or
// its in-flight window. What needs the session's loop or a decision is left to that thread.
//
// Order: whoever has the turn takes batches from the lanes and writes their packets before it gives
// the turn away, so packets leave in the order in which batches are taken.
//
// While the rate is low, a worker also attends the session: it waits for what the broker sends, in
// place of the session's loop, and handles the acknowledgments. It wakes the session's thread only
// for what that must do, and at times so that it notices a higher rate.
//
// Each acknowledgment would wake the worker. Those that nothing waits for are read every 20 ms
// (LateReading). Those that devices wait for are read when the next packet is sent, 4 ms after the
// previous read at most, while that pays (BriefReading). In both cases Receive returns kLate. If a
// sender changes this, the attending worker reads at once: it sees that at the end of its turn if
// it is the sender. Otherwise the attendance ends, so that the session's thread reads.
//
// Thread safety: MayTry and Send from any thread, everything else from the session's thread.
class DirectLine : public DirectSession, public std::enable_shared_from_this<DirectLine> {
 public:
  // Receives what a worker reads.
  class Receiver {
   public:
    // Called by the thread that has the turn. Returns false if the session's thread must handle
    // some of it.
    virtual bool OnBytesAside(std::span<const uint8_t> bytes) = 0;

   protected:
    ~Receiver() = default;
  };

  // Held by whoever uses the connection.
  TurnLock& turn() { return turn_; }

  // Workers may send with these from now on. REQUIRES: the caller has the turn; the objects live
  // until Close. `may_read_late` false: the broker also sends packets that must be read at once.
  void Open(Express* express, Connection* connection, Receiver* receiver, bool may_read_late) {
    may_read_late_ = may_read_late;
    late_ = {};
    brief_ = {};
    express_ = express;
    connection_ = connection;
    receiver_ = receiver;
    reason_ = LeaveReason::kNone;
  }
  // Workers send and read nothing from now on. Waits for one that does. Idempotent.
  void Close();

  // Sees to it that a worker attends the session while the rate is low, and no longer. Call it at
  // the end of each turn of the session's thread. REQUIRES: the caller has the turn.
  void Share();
  // True if a worker attends the session. REQUIRES: the caller has the turn.
  bool is_attended() const { return attendance_ != 0; }
  // True if acknowledgments are read late at the moment. REQUIRES: the caller has the turn.
  bool is_late() const { return pace_ != Pace::kAtOnce; }

  // True: workers may try. REQUIRES: the rate is low; otherwise turns of the session's thread,
  // which send many batches each, cost less.
  void SetCalm(bool is_calm) { is_calm_.store(is_calm, std::memory_order_relaxed); }

  // Returns why a worker found that the express path must be left, and resets it.
  // REQUIRES: the caller has the turn.
  LeaveReason TakeReason() { return std::exchange(reason_, LeaveReason::kNone); }

  bool MayTry() const override { return is_calm_.load(std::memory_order_relaxed); }
  bool Send() override;
  Received Receive(uint64_t attendance) override;
  int64_t read_at_us() const override { return read_at_us_.load(std::memory_order_relaxed); }
  void Abandon(uint64_t attendance) override;

 private:
  // An attending worker wakes the session's thread after this many records.
  static constexpr uint64_t kRecordsPerLook = 250;

  // A timer of libuv may be early by less than this.
  static constexpr int64_t kEarlyUs = 1'000;

  // When the attending worker reads.
  enum class Pace : uint8_t {
    kAtOnce,
    kBrief,  // with the next packet (BriefReading)
    kLate,   // LateReading
  };

  // The caller has the turn.
  bool SendReady();
  void EndAttendance();
  bool Read();
  void SetPace(Pace pace, int64_t read_at_us);
  void ChoosePace(bool may_pause);
  void Pause(int64_t now_us);
  bool MayKeepPace() const;
  bool KeepPace();
  bool EndPause();
  bool ReadAtOnce();
  bool IsLookDue() const { return express_->numbers().records - looked_at_ >= kRecordsPerLook; }

  TurnLock turn_;
  std::atomic<bool> is_calm_{false};
  // Guarded by the turn; null = closed.
  Express* express_ = nullptr;
  Connection* connection_ = nullptr;
  Receiver* receiver_ = nullptr;
  uint64_t attendance_ = 0;   // 0 = the session's thread reads
  uint64_t attendances_ = 0;  // number of the latest one
  bool may_read_late_ = false;
  Pace pace_ = Pace::kAtOnce;
  std::atomic<int64_t> read_at_us_{kAtOnce};
  std::thread::id attendant_;  // read last
  LateReading late_;
  BriefReading brief_;
  uint64_t returned_ = 0;   // of express_ when the pause began
  bool is_barred_ = false;  // no worker can attend the session
  uint64_t looked_at_ = 0;  // records of express_ in the latest turn of the session's thread
  LeaveReason reason_ = LeaveReason::kNone;
  std::string out_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_UPLINK_DIRECT_LINE_H_
