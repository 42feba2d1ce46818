// Lanes with a simulated log: helpers shared by the tests of writing.
#ifndef SEGANET_TEST_SUPPORT_LANES_SAVE_SUPPORT_H_
#define SEGANET_TEST_SUPPORT_LANES_SAVE_SUPPORT_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/queue/lanes.h"
#include "core/queue/make_room.h"
#include "test/support/support.h"

namespace seganet::test {

inline constexpr ClassMask kUrgent = MaskOf(kCritical) | MaskOf(kHigh);
inline constexpr ClassMask kRest = kAllClasses & ~kUrgent;

class Desk : public ReceiptSink {
 public:
  void Return(size_t, std::vector<Receipt> receipts) override {
    for (const Receipt& receipt : receipts) handles.push_back(receipt.handle);
  }
  void Withhold(size_t, std::vector<Receipt> receipts) override {
    for (const Receipt& receipt : receipts) withheld.push_back(receipt.handle);
  }
  std::vector<uint64_t> handles;
  std::vector<uint64_t> withheld;
};

class LanesWithLog : public testing::Test {
 protected:
  virtual int64_t Now() { return MonotonicUs(); }

  // 1 MiB of memory, linger 10 and 50 ms, patience 1 s.
  LanesContext Context() {
    LanesContext context = PlainLanes(&budget_, &latency_, &sequence_);
    context.receipts = &desk_;
    context.ledger = &ledger_;
    context.dead_letters = &dead_letters_;
    context.on_due = [this](int64_t due) { told_ = std::min(told_, due); };
    context.wake_log = context.wake_log_again = [this] { ++wakes_; };
    context.on_full = [this](uint8_t c) { MakeRoom({lanes_}, budget_, c); };
    context.clock = [this] { return Now(); };
    context.epoch = 7;
    context.save.log = true;
    context.save.linger_us = {0, 10 * kMs, 10 * kMs, 50 * kMs, 50 * kMs};
    return context;
  }

  Lanes& Use(LanesContext context) {
    lanes_ = std::make_shared<Lanes>(std::move(context));
    lanes_->SetNodes({{1, "one"}, {2, "two"}});
    outlet_ = lanes_->Attach(&bell_);
    return *lanes_;
  }

  uint64_t Push(uint8_t record_class = kNormal, const std::string& payload = "x",
                uint32_t stage = 1) {
    Record record = MakeRecord("d", "t", payload, record_class, Now());
    record.receipt = {0, 1, ++slot_};
    BatchPtr batch = SingleBatch(record);
    batch->stage = stage;
    budget_.AddRecords(record_class, 1);
    lanes_->Push(std::move(batch));
    return slot_;
  }

  void Connect(bool up = true, int64_t later_us = 0) {
    lanes_->SetConnected(outlet_, up, Now() + later_us);
  }
  bool Release(uint64_t id, const Refusal& refusal = {}) {
    return lanes_->Release(outlet_, id, Now(), refusal);
  }
  // The session's thread dies and another one takes over.
  void Reattach() {
    lanes_->Detach(outlet_);
    outlet_ = lanes_->Attach(&bell_);
  }

  // Returns the id of the best batch, which is then in flight; 0 = none.
  uint64_t Take(bool backlog = false, std::string* payload = nullptr) {
    uint64_t id = 0;
    lanes_->Take(
        outlet_, Now(),
        [&](const Batch& batch) {
          id = batch.id;
          if (payload) *payload = batch.bytes.substr(2);
          return true;
        },
        backlog);
    return id;
  }

  // Seals everything due at `now`; 0 = nothing.
  uint64_t Seal(int64_t now_us) { return lanes_->Seal(now_us, &chunk_) ? chunk_.ticket : 0; }
  void Commit(uint64_t ticket, int64_t row) {
    ledger_.Committed(ticket, row);
    lanes_->Committed(ticket);
  }

  std::vector<std::string> Payloads() {
    ChunkHead head;
    std::vector<ChunkEntry> entries;
    EXPECT_EQ(ReadChunk(chunk_.bytes, &head, &entries), ChunkError::kNone);
    std::vector<std::string> payloads;
    for (const ChunkEntry& entry : entries) payloads.emplace_back(entry.bytes.substr(2));
    return payloads;
  }

  uint64_t Count(Counter c) { return lanes_->counters().counters[static_cast<size_t>(c)].Get(); }
  uint64_t AllDropped() {
    uint64_t sum = 0;
    for (const auto& row : lanes_->counters().drops) {
      for (const SingleWriter& n : row) sum += n.Get();
    }
    return sum;
  }
  // Records in memory, and on disk alone.
  uint64_t Held() {
    int64_t sum = 0;
    for (uint8_t c = 1; c <= kClasses; ++c) sum += budget_.records(c) + ledger_.sums().backlog[c];
    return static_cast<uint64_t>(sum);
  }
  void ExpectThatCountersReconcile() {
    EXPECT_EQ(Count(Counter::kRecordsQueued),
              Count(Counter::kRecordsDelivered) + Held() + AllDropped());
  }

  uint64_t Dropped(Drop d, uint8_t c) {
    return lanes_->counters().drops[static_cast<size_t>(d)][c].Get();
  }

  Budget budget_{1 << 20};
  LatencyByClass latency_;
  std::atomic<uint64_t> sequence_{0};
  Desk desk_;
  Ledger ledger_;
  DeadLetters dead_letters_;
  SealedChunk chunk_;
  uint64_t slot_ = 0;
  int64_t told_ = kNever;
  int wakes_ = 0;
  CountingBell bell_;
  std::shared_ptr<Lanes> lanes_;
  Outlet* outlet_ = nullptr;
};

}  // namespace seganet::test

#endif  // SEGANET_TEST_SUPPORT_LANES_SAVE_SUPPORT_H_
