// The records that JavaScript pushes to one worker.
#ifndef SEGANET_CORE_RUNTIME_PUSHED_RECORDS_H_
#define SEGANET_CORE_RUNTIME_PUSHED_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/counters.h"
#include "core/base/nap.h"
#include "core/devices/device_table.h"
#include "core/devices/last_values.h"
#include "core/devices/push_tickets.h"
#include "core/devices/receipt_table.h"
#include "core/devices/subscribers/subscriber_fanout.h"
#include "core/loop/loop_thread.h"
#include "core/plan/pipeline.h"
#include "core/queue/byte_ring.h"
#include "core/record/record.h"
#include "core/runtime/read_pauses.h"
#include "core/runtime/slot_moves.h"

namespace seganet {

class SlotMover;

// The dependencies of PushedRecords. All objects outlive it.
struct PushedRecordsContext {
  LoopThread* thread;          // the worker, whose OnWake calls Serve
  size_t ring_bytes;           // for records that wait
  bool acknowledge_at_once;    // a ticket is completed when its record is accepted
  PushTickets::Done complete;  // reports the tickets of records that are safe
  Nap* nap;
  Now* now;  // time of the current turn
  CounterBlock* counters;
  Pipeline* pipeline;
  ReadPauses* pauses;
  DeviceTable* devices;
  LastValues* values;
  ReceiptTable* receipts;
  SubscriberFanout* fanout;
  SlotExchange* exchange;
  const SlotMover* mover;
};

// Thread safety: Push from the engine's thread, empty from any thread; everything else from the
// worker's thread.
class PushedRecords {
 public:
  explicit PushedRecords(const PushedRecordsContext& context);
  PushedRecords(const PushedRecords&) = delete;
  PushedRecords& operator=(const PushedRecords&) = delete;

  // Puts a record into the ring. Returns false if the ring is full.
  bool Push(uint32_t stage, const Record& record, bool assign_seq);

  // Runs some of the records, unless too many messages wait for JavaScript. Wakes the thread if
  // there are more.
  void Serve();
  // Runs the records that were pushed before now; records pushed meanwhile may wait.
  void Drain();
  // True if no record waits.
  bool empty() const { return ring_.used() == 0; }

 private:
  void DrainRing(size_t most);
  void Run(std::string_view frame);
  Device* Identify(uint32_t stage, Record* record);
  Passage Pass(uint32_t stage, Record* record, Device* device);
  bool AsksForSafety(uint32_t stage, const Record& record) const;

  const PushedRecordsContext context_;
  ByteRing ring_;
  PushTickets tickets_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_PUSHED_RECORDS_H_
