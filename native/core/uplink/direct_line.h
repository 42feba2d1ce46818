// The connection of an uplink session on the express path, which workers may use in turns with the
// session's thread.
#ifndef SEGANET_CORE_UPLINK_DIRECT_LINE_H_
#define SEGANET_CORE_UPLINK_DIRECT_LINE_H_

#include <atomic>
#include <string>
#include <utility>

#include "core/queue/direct_sender.h"
#include "core/uplink/connection.h"
#include "core/uplink/express.h"
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
// Thread safety: MayTry and Send from any thread, everything else from the session's thread.
class DirectLine : public DirectSender {
 public:
  // Held by whoever uses the connection.
  TurnLock& turn() { return turn_; }

  // Workers may send with these from now on. REQUIRES: the caller has the turn; the objects live
  // until Close.
  void Open(Express* express, Connection* connection) {
    express_ = express;
    connection_ = connection;
    reason_ = LeaveReason::kNone;
  }
  // Workers send nothing from now on. Waits for one that is sending. Idempotent.
  void Close();

  // True: workers may try. REQUIRES: the rate is low; otherwise turns of the session's thread,
  // which send many batches each, cost less.
  void SetCalm(bool is_calm) { is_calm_.store(is_calm, std::memory_order_relaxed); }

  // Returns why a worker found that the express path must be left, and resets it.
  // REQUIRES: the caller has the turn.
  LeaveReason TakeReason() { return std::exchange(reason_, LeaveReason::kNone); }

  bool MayTry() const override { return is_calm_.load(std::memory_order_relaxed); }
  bool Send() override;

 private:
  TurnLock turn_;
  std::atomic<bool> is_calm_{false};
  // Guarded by the turn; null = closed.
  Express* express_ = nullptr;
  Connection* connection_ = nullptr;
  LeaveReason reason_ = LeaveReason::kNone;
  std::string out_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_UPLINK_DIRECT_LINE_H_
