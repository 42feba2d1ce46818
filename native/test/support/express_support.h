// An Express on real lanes, with its own clock, and the sent packets as a broker reads them.
#ifndef SEGANET_TEST_SUPPORT_EXPRESS_SUPPORT_H_
#define SEGANET_TEST_SUPPORT_EXPRESS_SUPPORT_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/uplink/express.h"
#include "test/support/lanes_save_support.h"

namespace seganet::test {

// A broker's view of a PUBLISH of MQTT 3.1.1 [MQTT 3.3].
struct SentPublish {
  uint16_t id = 0;
  bool is_dup = false;
  std::string topic;
  std::string payload;
};

inline std::vector<SentPublish> ReadPublishes(std::string_view bytes) {
  std::vector<SentPublish> packets;
  const auto u8 = [&](size_t at) { return static_cast<uint8_t>(bytes[at]); };
  while (!bytes.empty()) {
    SentPublish packet;
    EXPECT_EQ(u8(0) & 0xf6, 0x32) << "a PUBLISH of QoS 1";
    packet.is_dup = (u8(0) & 8) != 0;
    size_t size = 0, at = 1;
    for (int shift = 0;; shift += 7) {
      size |= size_t{u8(at) & 0x7fu} << shift;
      if ((u8(at++) & 0x80) == 0) break;
    }
    const size_t end = at + size;
    const size_t topic = size_t{u8(at)} << 8 | u8(at + 1);
    packet.topic = bytes.substr(at + 2, topic);
    at += 2 + topic;
    packet.id = static_cast<uint16_t>(u8(at) << 8 | u8(at + 1));
    packet.payload = bytes.substr(at + 2, end - at - 2);
    packets.push_back(std::move(packet));
    bytes.remove_prefix(end);
  }
  return packets;
}

// The topic of a batch is its class, so that a test can see it.
inline UplinkStage StageByClass(uint32_t id) {
  UplinkStage stage;
  stage.id = id;
  for (uint8_t c = kCritical; c <= kClasses; ++c) {
    const TopicPart part{TopicPart::Kind::kText, std::to_string(int{c})};
    stage.topic[c] = stage.record_topic[c] = {part};
  }
  stage.key_raw = stage.key_json = "g";
  return stage;
}

struct BoardOptions {
  uint32_t window = 1;    // places
  uint32_t reserved = 0;  // of these, for class 1
  size_t max_packet = SIZE_MAX;
  size_t max_unsent = SIZE_MAX;
  std::vector<UplinkStage> stages = {};
};

class ExpressTest : public LanesWithLog {
 protected:
  static constexpr int64_t kSecond = 1'000'000;

  void SetUp() override { Open(PlainContext()); }
  void TearDown() override {
    express_.reset();
    if (shared_) shared_->Clear(Drop::kClosed);
  }
  int64_t Now() override { return now_us_; }

  LanesContext PlainContext() {
    LanesContext context =
        PlainLanes(&budget_, &latency_, &sequence_, [this](const Batch&, bool) { ++done_; });
    context.clock = [this] { return Now(); };
    context.on_demand = [this] { ++woken_; };
    return context;
  }
  void Open(LanesContext context) {
    Use(std::move(context));
    shared_ = std::shared_ptr<Lanes>(std::move(lanes_));
    shared_->SetConnected(outlet_, true, Now());
    Enter({});
  }
  void Enter(BoardOptions options) {
    if (options.window == 1) options.window = 8;
    BoardAsItIs(std::move(options));
  }
  void BoardAsItIs(BoardOptions board) {
    ExpressOptions options;
    options.window = std::make_shared<InFlightWindow>(board.window, board.reserved);
    options.max_packet = board.max_packet;
    options.max_unsent = board.max_unsent;
    options.stages = std::move(board.stages);
    if (options.stages.empty()) options.stages = {StageByClass(1)};
    options.clock = [this] {
      if (tick_us_ != 0) now_us_ += tick_us_;  // others may be reading it
      return now_us_;
    };
    express_ = std::make_unique<Express>(shared_, outlet_, std::move(options));
  }

  BatchPtr MakeBatch(uint8_t record_class, const std::string& payload, uint32_t stage = 1) {
    BatchPtr batch = SingleBatch(MakeRecord("d", "t", payload, record_class, Now()));
    batch->stage = stage;
    return batch;
  }
  void Put(BatchPtr batch) {
    budget_.AddRecords(batch->record_class, 1);
    shared_->Push(std::move(batch));
  }
  void Put(uint8_t record_class, const std::string& payload = "x") {
    Put(MakeBatch(record_class, payload));
  }
  void PutMany(uint8_t record_class, int count) {
    for (int i = 0; i < count; ++i) Put(record_class, std::to_string(i));
  }

  LeaveReason Pump(size_t unsent = 0) {
    std::string out;
    const LeaveReason reason = express_->Pump(unsent, &out);
    sent_ = ReadPublishes(out);
    return reason;
  }
  // Classes in the order of sending.
  std::string Classes() {
    std::string classes;
    for (const SentPublish& packet : sent_) classes += packet.topic;
    return classes;
  }
  LeaveReason Ack(uint16_t id, uint8_t code = 0) { return express_->Acknowledge(id, code, Now()); }
  uint8_t Best() { return shared_->Best(outlet_, Now()); }
  uint64_t Delivered() {
    return shared_->counters().counters[static_cast<size_t>(Counter::kBatchesDelivered)].Get();
  }
  const ExpressNumbers& numbers() const { return express_->numbers(); }

  int64_t now_us_ = 1000 * kSecond;
  int64_t tick_us_ = 0;  // of each look at the clock
  int done_ = 0;
  int woken_ = 0;
  std::shared_ptr<Lanes> shared_;
  std::unique_ptr<Express> express_;
  std::vector<SentPublish> sent_;
};

}  // namespace seganet::test

#endif  // SEGANET_TEST_SUPPORT_EXPRESS_SUPPORT_H_
