// The express path with batches that are encoded or compressed, which takes long.
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>

#include "test/support/express_support.h"
#include "test/support/fake_compression.h"

namespace seganet {
namespace {

// Called whenever something is compressed; empty = nothing.
std::function<void()> on_compress;

const CompressionLibrary& HookedLibrary() {
  static const CompressionLibrary library = [] {
    CompressionLibrary made = test::FakeLibrary();
    static const auto compress = made.zstd.compress;
    made.zstd.compress = [](void* context, void* out, size_t out_bytes, const void* in,
                            size_t in_bytes) -> size_t {
      if (on_compress) on_compress();
      return compress(context, out, out_bytes, in, in_bytes);
    };
    return made;
  }();
  return library;
}

class ExpressPackedTest : public test::ExpressTest {
 protected:
  void TearDown() override {
    on_compress = nullptr;
    ExpressTest::TearDown();
  }

  UplinkStage PackedStage() {
    UplinkStage stage = test::StageByClass(1);
    stage.packer = std::make_shared<EnvelopePacker>(
        &HookedLibrary(), PackerOptions{.compression = Compression::kZstd});
    return stage;
  }

  // `text`: LARGE is not compressed.
  void PutLines(const std::string& text = "", uint8_t record_class = kNormal) {
    BatchPtr batch = MakeBatch(record_class, "");
    batch->kind = BatchKind::kEnvelope;
    batch->device_bytes = batch->topic_bytes = 0;
    batch->bytes =
        R"({"d":"1","t":"a","ts":1,"s":1,"c":3,"p":")" + text + std::string(200, 'x') + "\"}\n";
    Put(std::move(batch));
  }

  // True if the feeder finds the batch in flight, as it was.
  bool IsInFlight(uint64_t id, const std::string& text) {
    bool is_it = false;
    return shared_->Look(outlet_, id, [&](const Batch& batch) {
      is_it = batch.bytes.find(text) != std::string::npos && !batch.redelivery;
    }) && is_it;
  }
};

TEST_F(ExpressPackedTest, OthersUseTheLanesWhileABatchIsCompressed) {
  Enter({.stages = {PackedStage()}});
  std::future<uint8_t> other;
  on_compress = [&] {
    if (other.valid()) return;
    other = std::async(std::launch::async, [this] { return Best(); });
    EXPECT_EQ(other.wait_for(std::chrono::seconds(5)), std::future_status::ready);
  };
  PutLines();
  PutLines();
  EXPECT_EQ(Pump(), LeaveReason::kNone);
  EXPECT_EQ(sent_.size(), 2u);
  ASSERT_TRUE(other.valid());
  EXPECT_EQ(other.get(), kNormal) << "the second one waits";
}

TEST_F(ExpressPackedTest, ATurnEndsAfterThePacketThatTakesTooLong) {
  Enter({.window = 100, .stages = {PackedStage()}});
  for (int i = 0; i < 10; ++i) PutLines();
  on_compress = [this] { now_us_ += Express::kTurnUs * 2 / 3; };
  EXPECT_EQ(Pump(), LeaveReason::kNone);
  EXPECT_EQ(sent_.size(), 2u);
  EXPECT_TRUE(express_->has_more());
  on_compress = nullptr;
  Pump();
  EXPECT_EQ(sent_.size(), 8u);
  EXPECT_FALSE(express_->has_more());
}

TEST_F(ExpressPackedTest, SendsABatchThatTheEngineDropsMeanwhile) {
  Enter({.stages = {PackedStage()}});
  PutLines();
  on_compress = [this] { shared_->Clear(Drop::kClosed); };
  EXPECT_EQ(Pump(), LeaveReason::kNone);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(Ack(sent_[0].id), LeaveReason::kNone);
  EXPECT_EQ(express_->window().open(), 0u);
}

TEST_F(ExpressPackedTest, LeavesABatchThatIsTooLargeToTheFeeder) {
  Enter({.max_packet = 150, .stages = {PackedStage()}});
  PutLines("first");
  PutLines("LARGE");
  PutLines("last");
  EXPECT_EQ(express_->unsent_batch(), nullptr);
  EXPECT_EQ(Pump(), LeaveReason::kSize);
  EXPECT_EQ(sent_.size(), 1u);
  EXPECT_EQ(express_->window().open(), 1u);
  EXPECT_EQ(numbers().records, 1u);
  ASSERT_NE(express_->unsent_batch(), nullptr);
  EXPECT_TRUE(IsInFlight(*express_->unsent_batch(), "LARGE"));
  EXPECT_EQ(Ack(sent_[0].id), LeaveReason::kNone);
  EXPECT_EQ(Pump(), LeaveReason::kSize) << "nothing may overtake it";
  EXPECT_TRUE(sent_.empty());
  EXPECT_TRUE(shared_->Release(outlet_, *express_->unsent_batch(), Now()));
  EXPECT_EQ(Best(), kNormal);
}

TEST_F(ExpressPackedTest, AndOneThatCannotBeAPublish) {
  UplinkStage stage = test::StageByClass(1);
  stage.format = Format::kCbor;
  stage.topic[kNormal].clear();
  stage.record_topic[kNormal].clear();
  Enter({.stages = {stage}});
  PutLines("here");
  EXPECT_EQ(Pump(), LeaveReason::kTopic);
  ASSERT_NE(express_->unsent_batch(), nullptr);
  EXPECT_TRUE(IsInFlight(*express_->unsent_batch(), "here"));
  shared_->Detach(outlet_);
  outlet_ = shared_->Attach(&bell_);
  EXPECT_EQ(Best(), kNormal) << "it is still there";
}

TEST_F(ExpressPackedTest, ChecksTheRoomBeforeItTakesABatch) {
  Enter({.window = 2, .stages = {PackedStage()}});
  for (int i = 0; i < 3; ++i) PutLines();
  int compressed = 0;
  on_compress = [&compressed] { ++compressed; };
  Pump();
  Pump();
  EXPECT_EQ(sent_.size() + express_->window().open(), 2u);
  EXPECT_EQ(compressed, 2);
  EXPECT_EQ(Best(), kNormal);
}

}  // namespace
}  // namespace seganet
