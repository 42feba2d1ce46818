// The policy `drop` over memory and log together, with a disk in memory: two uplinks of one engine
// under random traffic, overload and failures.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/queue/make_room.h"
#include "core/runtime/store_queue.h"
#include "test/support/plan_support.h"
#include "test/support/support.h"

namespace seganet {
namespace {

using test::kMs;

constexpr size_t kUplinks = 2;

// The tests' view of each record, by the sequence of its batch.
class LanesDropRandomTest : public testing::Test, public ReceiptSink {
 protected:
  struct Row {
    std::string node;
    uint8_t record_class = 0;
    std::set<uint64_t> sequences;
    std::string body;
  };
  struct Session {
    Outlet* outlet = nullptr;
    bool connected = false;
    std::map<uint64_t, uint64_t> taken;  // id → sequence
    test::CountingBell bell;
  };

  void Return(size_t, std::vector<Receipt> receipts) override {
    for (const Receipt& receipt : receipts) acknowledged_.insert(receipt.handle);
  }

  void Withhold(size_t, std::vector<Receipt>) override {}

  void Build() {
    for (size_t i = 0; i < kUplinks; ++i) {
      LanesContext context =
          test::PlainLanes(&budget_, &latency_, &sequence_, [this](const Batch& batch, bool ok) {
            if (!ok) OnGone(batch);
          });
      context.receipts = this;
      context.ledger = desk_.ledger();
      context.dead_letters = desk_.dead_letters();
      context.on_due = [](int64_t) {};
      context.wake_log = [] {};
      context.on_full = [this](uint8_t c) {
        incoming_ = c;
        MakeRoom(lanes_, budget_, c);
        incoming_ = 0;
      };
      context.clock = [this] { return now_us_; };
      context.epoch = 7;
      context.save.log = true;
      context.save.drop_when_full = true;
      context.save.disk_first = disk_first_;
      context.save.linger_us.fill(10 * kMs);
      lanes_.push_back(std::make_shared<Lanes>(std::move(context)));
    }
    std::vector<StageSpec> stages;
    for (uint32_t i = 0; i < kUplinks; ++i) {
      stages.push_back(test::UplinkStage(i + 1, i));
      stages.back().name = "node-" + std::to_string(i);
    }
    const Plan plan(std::move(stages), 1, nullptr, [this](uint32_t n) { return lanes_[n]; });
    desk_.SetOptions({7, {}});
    desk_.SetPlan(plan);
    desk_.Attach(&store_bell_);
    desk_.Opened(0, {});
  }

  void Push(size_t uplink, uint8_t record_class, size_t bytes) {
    const std::string payload(bytes, 'x');  // the record refers to it
    Record record = test::MakeRecord("d", "t", payload, record_class, now_us_);
    const uint64_t sequence = sequence_.load() + 1;
    record.receipt = {0, 1, sequence};
    pushed_[sequence] = record_class;
    if (record_class >= kNormal && tickets_) record.ticket = static_cast<uint32_t>(sequence);
    BatchPtr batch = SingleBatch(record);
    batch->stage = static_cast<uint32_t>(uplink + 1);
    budget_.AddRecords(record_class, 1);
    lanes_[uplink]->Push(std::move(batch));
  }

  // A batch left memory undelivered. A spilled one is not lost by that.
  void OnGone(const Batch& batch) {
    if (OnDisk(batch.sequence) && !batch.stays()) return;
    counted_.insert(batch.sequence);
    if (incoming_ == 0) return;
    ASSERT_GE(batch.record_class, incoming_) << "more urgent than what came in";
    for (uint8_t c = kClasses; c > batch.record_class; --c) {
      for (const auto& lanes : lanes_) {
        ASSERT_EQ(lanes->FirstToGo(c), Lanes::kNoBatch)
            << "class " << int{batch.record_class} << " went before class " << int{c};
      }
    }
  }

  bool OnDisk(uint64_t sequence) const { return on_disk_.contains(sequence); }
  size_t DiskBytes() const {
    size_t bytes = 0;
    for (const auto& [id, row] : rows_) bytes += row.body.size();
    return bytes;
  }
  void Erase(int64_t id) {
    for (const uint64_t sequence : rows_.at(id).sequences) on_disk_.erase(sequence);
    rows_.erase(id);
  }

  // As in nodes/lib/store/log-transaction.js: a full disk gives up the oldest row of its least
  // urgent class, or the new chunk.
  void Save(int64_t later_us, bool fails) {
    const StoreTask* task = desk_.Next(now_us_ + later_us);
    if (task == nullptr) return;
    const SealedChunk chunk = task->chunk;
    desk_.Taken();
    if (fails) return desk_.Failed(chunk.ticket);
    std::vector<std::pair<int64_t, Row>> removed;
    while (DiskBytes() + chunk.bytes.size() > disk_limit_) {
      int64_t victim = 0;
      for (const auto& [id, row] : rows_) {
        if (row.record_class < chunk.record_class) continue;
        if (victim == 0 || row.record_class > rows_.at(victim).record_class) victim = id;
      }
      if (victim == 0) break;
      removed.emplace_back(victim, rows_.at(victim));
      Erase(victim);
    }
    const bool fits = DiskBytes() + chunk.bytes.size() <= disk_limit_;
    if (fits) {
      ChunkHead head;
      std::vector<ChunkEntry> entries;
      ASSERT_EQ(ReadChunk(chunk.bytes, &head, &entries), ChunkError::kNone);
      Row& row = rows_[++last_row_];
      row.node = chunk.node;
      row.record_class = chunk.record_class;
      row.body = chunk.bytes;
      for (const ChunkEntry& entry : entries) {
        row.sequences.insert(entry.sequence);
        on_disk_.insert(entry.sequence);
      }
      desk_.Committed(chunk.ticket, last_row_);
    }
    for (const auto& [id, row] : removed) {
      desk_.Removed(id, row.record_class, static_cast<int64_t>(row.sequences.size()));
      // Counts its records, whether in memory, on disk alone or in flight.
      for (const uint64_t sequence : row.sequences) {
        if (!delivered_.contains(sequence)) counted_.insert(sequence);
      }
    }
    if (!fits) desk_.Dropped(chunk.ticket);
  }

  void Free() {
    for (const int64_t row : desk_.TakeFrees(64)) {
      if (rows_.contains(row)) Erase(row);
    }
    desk_.Freed();
  }

  void Read() {
    WantedRow wanted;
    if (!desk_.Wanted(&wanted)) return;
    auto it = rows_.upper_bound(wanted.after);
    while (it != rows_.end() && !IsWanted(it->second, wanted)) ++it;
    if (it == rows_.end() || it->first > wanted.up_to) return desk_.Missing();
    const auto records = static_cast<int64_t>(it->second.sequences.size());
    ASSERT_EQ(desk_.Loaded(it->first, records, it->second.body, now_us_, 0), LoadResult::kOk);
  }
  static bool IsWanted(const Row& row, const WantedRow& wanted) {
    return row.record_class == wanted.record_class && row.node == wanted.node;
  }

  void Take(size_t uplink, bool backlog) {
    Session& session = sessions_[uplink];
    lanes_[uplink]->Take(
        session.outlet, now_us_,
        [&](const Batch& batch) {
          session.taken[batch.id] = batch.sequence;
          return true;
        },
        backlog);
  }

  void Check() {
    uint64_t delivered = 0, dropped = 0;
    std::array<int64_t, kClasses + 1> unsaved{};
    for (const auto& lanes : lanes_) {
      delivered +=
          lanes->counters().counters[static_cast<size_t>(Counter::kRecordsDelivered)].Get();
      dropped += DroppedBy(lanes->counters());
      const auto of_lanes = lanes->Unsaved();
      for (uint8_t c = kCritical; c <= kClasses; ++c) unsaved[c] += of_lanes[c];
    }
    dropped += DroppedBy(desk_.counters());
    uint64_t held = 0;
    for (uint8_t c = kCritical; c <= kClasses; ++c) {
      held += static_cast<uint64_t>(budget_.records(c) + desk_.ledger()->sums().backlog[c]);
    }
    ASSERT_EQ(pushed_.size(), delivered + held + dropped);
    ASSERT_EQ(dropped, counted_.size());
    std::array<int64_t, kClasses + 1> really{};
    for (const auto& [sequence, c] : pushed_) {
      const bool settled = delivered_.contains(sequence) || counted_.contains(sequence);
      if (!settled && !OnDisk(sequence)) ++really[c];
    }
    ASSERT_EQ(unsaved, really);
  }
  // After kill -9 nothing else is left.
  void CheckAcknowledged() {
    for (const uint64_t sequence : acknowledged_) {
      ASSERT_TRUE(delivered_.contains(sequence) || OnDisk(sequence) || counted_.contains(sequence))
          << sequence << " is acknowledged, and nowhere";
    }
  }
  static uint64_t DroppedBy(const CounterBlock& block) {
    uint64_t sum = 0;
    for (const auto& row : block.drops) {
      for (const SingleWriter& n : row) sum += n.Get();
    }
    return sum;
  }

  bool disk_first_ = false;
  bool tickets_ = false;
  size_t disk_limit_ = 0;
  int64_t now_us_ = 1'000'000 * kMs;
  uint8_t incoming_ = 0;
  Budget budget_{1 << 18};
  LatencyByClass latency_;
  std::atomic<uint64_t> sequence_{0};
  std::vector<std::shared_ptr<Lanes>> lanes_;
  StoreQueue desk_{&budget_, this, [this] { return lanes_; }};
  test::CountingBell store_bell_;
  std::array<Session, kUplinks> sessions_;
  int64_t last_row_ = 0;
  std::map<int64_t, Row> rows_;
  std::map<uint64_t, uint8_t> pushed_;  // class by sequence
  std::set<uint64_t> on_disk_, acknowledged_, delivered_, counted_;
};

TEST_F(LanesDropRandomTest, AcknowledgedRecordsAreDeliveredOnDiskOrCounted) {
  test::Random random;
  disk_first_ = random.OneIn(4);
  tickets_ = random.OneIn(3);
  disk_limit_ = random.In<size_t>(20'000, 400'000);
  budget_.SetDropping(true);
  Build();
  for (int i = 0; i < 12'000; ++i) {
    now_us_ += random.In<int64_t>(0, random.OneIn(1000) ? 15'000 : 10) * kMs;
    const size_t uplink = random.In<size_t>(0, kUplinks - 1);
    Session& session = sessions_[uplink];
    if (session.outlet == nullptr) {
      session.outlet = lanes_[uplink]->Attach(&session.bell, kAllClasses, random.OneIn(3));
    }
    switch (random.In(0, 10)) {
      case 0:
      case 1:
      case 2:
      case 3:
        Push(uplink, random.In<uint8_t>(kCritical, 5), random.In<size_t>(0, 4000));
        break;
      case 4:
      case 5:
        Save(random.In<int64_t>(0, 30) * kMs, random.OneIn(20));
        break;
      case 6:
        if (session.connected && session.taken.size() < 16) Take(uplink, random.OneIn(3));
        break;
      case 7:
        if (session.taken.empty()) break;
        delivered_.insert(session.taken.begin()->second);
        // Records counted as dropped stay dropped.
        if (counted_.contains(session.taken.begin()->second)) {
          delivered_.erase(session.taken.begin()->second);
        }
        ASSERT_TRUE(lanes_[uplink]->Release(session.outlet, session.taken.begin()->first, now_us_));
        session.taken.erase(session.taken.begin());
        break;
      case 8:
        Free();
        break;
      case 9:
        Read();
        break;
      default:
        if (random.OneIn(10)) {
          session.connected = !session.connected;
          lanes_[uplink]->SetConnected(session.outlet, session.connected, now_us_);
        } else if (random.OneIn(20)) {
          lanes_[uplink]->Detach(session.outlet);
          session.outlet = nullptr;
          session.connected = false;
          session.taken.clear();
        } else {
          lanes_[uplink]->Sweep(now_us_);
        }
    }
    CheckAcknowledged();
    if (i % 20 == 0) Check();
    if (testing::Test::HasFailure()) return;
  }
  // After the overload everything is delivered.
  for (int i = 0; i < 100'000 && delivered_.size() + counted_.size() < pushed_.size(); ++i) {
    now_us_ += kMs;
    for (size_t uplink = 0; uplink < kUplinks; ++uplink) {
      Session& session = sessions_[uplink];
      if (session.outlet == nullptr) session.outlet = lanes_[uplink]->Attach(&session.bell);
      if (!session.connected) lanes_[uplink]->SetConnected(session.outlet, true, now_us_);
      session.connected = true;
      Take(uplink, false);
      Take(uplink, true);
      for (const auto& [id, sequence] : session.taken) {
        if (!counted_.contains(sequence)) delivered_.insert(sequence);
        ASSERT_TRUE(lanes_[uplink]->Release(session.outlet, id, now_us_));
      }
      session.taken.clear();
    }
    Read();
    Free();
  }
  Check();
  EXPECT_EQ(delivered_.size() + counted_.size(), pushed_.size());
  EXPECT_EQ(acknowledged_.size(), pushed_.size());
  for (const auto& lanes : lanes_) lanes->Clear(Drop::kClosed);
  EXPECT_EQ(budget_.held(), 0);
}

}  // namespace
}  // namespace seganet
