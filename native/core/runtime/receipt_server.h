// The receipts of one worker: which object waits for which record, the receipts that come back, and
// the acknowledgements that they release.
#ifndef SEGANET_CORE_RUNTIME_RECEIPT_SERVER_H_
#define SEGANET_CORE_RUNTIME_RECEIPT_SERVER_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "core/devices/device_table.h"
#include "core/devices/kept_sessions.h"
#include "core/devices/receipt_table.h"
#include "core/devices/receipts/late_receipts.h"
#include "core/loop/loop_thread.h"
#include "core/loop/memory_share.h"
#include "core/plan/deferred_receipts.h"
#include "core/queue/budget.h"
#include "core/record/receipt.h"
#include "core/runtime/returned_receipts.h"
#include "core/runtime/window_receipts.h"

namespace seganet {

// The dependencies of a ReceiptServer. All objects outlive it.
struct ReceiptServerContext {
  LoopThread* thread;              // the worker, whose OnWake calls Serve
  uint32_t worker;                 // its index
  std::atomic<int64_t>* deferred;  // records of the engine that wait for a flow
  Budget* budget;
  MemoryShare* kept_memory;  // KeptSessions
  KeptSessions* kept;
  DeviceTable* devices;
};

// Thread safety: Return, Withhold and EndDeferrals from any thread, also after the worker has
// stopped; everything else from the worker's thread.
class ReceiptServer {
 public:
  explicit ReceiptServer(const ReceiptServerContext& context);
  ReceiptServer(const ReceiptServer&) = delete;
  ReceiptServer& operator=(const ReceiptServer&) = delete;

  // Reports that records of this worker's devices are safe.
  void Return(std::vector<Receipt> receipts);
  // Reports that records of this worker's devices are lost and were never safe.
  void Withhold(const std::vector<Receipt>& receipts);
  // Reports what became of messages whose receipts deferred() keeps.
  void EndDeferrals(const std::vector<Deferral>& ends);

  // Passes what was returned to the objects that wait. Writes once per device, regardless of how
  // many of its records are safe. May close connections; their agents live until the end of the
  // loop's turn.
  void Serve();
  // Serves what this thread returned in this turn of the loop, and frees what has ended.
  void EndTurn();

  // The objects that wait: agents, sockets, tickets.
  ReceiptTable& table() { return table_; }
  LateReceipts& late() { return late_; }
  const LateReceipts& late() const { return late_; }
  DeferredReceipts* deferred() { return &deferred_; }
  WindowReceipts* windows() { return &windows_; }

 private:
  void ServeWindows();
  void EndLate(const std::string& id, const mqtt::LatePublish& late, mqtt::LateEnd end);

  const ReceiptServerContext context_;
  DeferredReceipts deferred_;
  WindowReceipts windows_;
  ReceiptTable table_;
  LateReceipts late_;
  ReturnedReceipts returned_;
  ReturnedReceipts::Taken serving_;  // a member to reuse its memory
  bool is_due_ = false;              // this thread returned receipts since the latest Serve
};

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_RECEIPT_SERVER_H_
