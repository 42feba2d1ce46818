// Passes the records of one worker's devices to the local subscribers.
#ifndef SEGANET_CORE_DEVICES_SUBSCRIBERS_SUBSCRIBER_FANOUT_H_
#define SEGANET_CORE_DEVICES_SUBSCRIBERS_SUBSCRIBER_FANOUT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/counters.h"
#include "core/devices/subscribers/subscribers.h"
#include "core/plan/plan.h"
#include "core/record/part.h"
#include "core/record/record.h"

namespace seganet {

using SubscriberList = std::vector<std::shared_ptr<Subscriber>>;

// The dependencies of SubscriberFanout. All objects outlive it.
struct SubscriberFanoutContext {
  Subscribers* subscribers;
  CounterBlock* counters;
  // Lets `worker` call Agent::TakeRecords for these.
  std::function<void(uint32_t worker, SubscriberList list)> wake;
};

// Encodes each record once for all subscribers of a protocol version. The packets of some
// milliseconds reach a subscriber in one step, so that the cost of a subscriber does not grow with
// the number of records, and acknowledgements leave first.
//
// Thread safety: owned by one worker.
class SubscriberFanout {
 public:
  // Packets wait for at most this long.
  static constexpr int64_t kPassUs = 5'000;

  explicit SubscriberFanout(const SubscriberFanoutContext& context) : context_(context) {}
  SubscriberFanout(const SubscriberFanout&) = delete;
  SubscriberFanout& operator=(const SubscriberFanout&) = delete;

  // A record has entered, from a device of `source`.
  void OnRecord(const SourceSettings& source, const Record& record, int64_t now_us) {
    if (context_.subscribers->active()) {
      Distribute(record, source.parted ? PartOf(record.device) : std::string_view(), now_us);
    }
  }

  // Returns Subscribers::changes.
  uint64_t changes() const { return context_.subscribers->changes(); }
  // True if records are matched with the subscriptions of change `change`; otherwise ask again
  // later.
  bool Knows(uint64_t change, int64_t now_us) {
    if (context_.subscribers->HasNewer(seen_, now_us)) Refresh();
    return seen_ >= change;
  }
  // Passes all on, and then these packets (Subscriber::PutKept). Returns false, and does not pass
  // these on, if there is no room for them.
  bool Send(const std::shared_ptr<Subscriber>& subscriber, std::string packets);

  // Passes all on. Call it before a device leaves the worker: its records stay in order.
  void Pass();
  // True if EndTurn has nothing to do.
  bool idle() const { return touched_.empty() && !wakes_any_; }
  // To be called at the end of each turn; passes on what is due.
  void EndTurn(int64_t now_us);
  // Returns when EndTurn must be called at the latest.
  int64_t NextDeadline() const { return touched_.empty() ? kNever : next_us_; }

 private:
  // What one subscriber gets of this worker's next pass.
  struct Row {
    uint64_t latest = 0;  // the number of the record that the next three belong to
    bool retain = false;  // it wants to know whether the device retained it
    bool refused = false;
    std::vector<uint32_t> numbers;
    std::vector<SubscriberRange> ranges;
  };

  void Distribute(const Record& record, std::string_view part, int64_t now_us);
  void Refresh();
  SubscriberRange Encode(const Record& record, bool five, bool retain,
                         const std::vector<uint32_t>& numbers);
  void Append(uint32_t number, const SubscriberRange& packet);
  std::shared_ptr<const SubscriberChunk> ChunkOf(std::string* packets);
  void Mail(const std::shared_ptr<Subscriber>& subscriber,
            const std::shared_ptr<const SubscriberChunk>& chunk,
            std::span<const SubscriberRange> ranges);
  void WakeLater(const std::shared_ptr<Subscriber>& subscriber, uint32_t worker);

  const SubscriberFanoutContext context_;
  std::shared_ptr<const SubscriberIndex> index_;
  uint64_t seen_ = 0;     // the change of index_
  uint64_t records_ = 0;  // that had subscribers
  std::vector<SubscriberIndex::Hit> hits_;
  std::vector<uint32_t> readers_;       // of the current record
  std::vector<Row> rows_;               // by number of subscriber in index_
  std::vector<uint32_t> touched_;       // rows with ranges
  std::array<std::string, 2> packets_;  // 3.x, 5
  std::vector<SubscriberList> wakes_;   // by worker
  bool wakes_any_ = false;
  int64_t next_us_ = 0;  // of the next pass
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_SUBSCRIBERS_SUBSCRIBER_FANOUT_H_
