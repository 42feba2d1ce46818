// A pipeline with uplinks that tests drain by hand.
#ifndef SEGANET_TEST_SUPPORT_PIPELINE_SUPPORT_H_
#define SEGANET_TEST_SUPPORT_PIPELINE_SUPPORT_H_

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "core/plan/pipeline.h"
#include "core/record/frame.h"
#include "test/support/support.h"

namespace seganet::test {

class PipelineTest : public testing::Test {
 protected:
  void Apply(std::vector<StageSpec> specs) {
    const Status status = ValidatePlan(specs);
    ASSERT_TRUE(status.ok()) << status.message();
    plan_ = std::make_shared<const Plan>(std::move(specs), 1, plan_.get(), [this](uint32_t number) {
      auto& lanes = lanes_[number];
      if (!lanes) {
        lanes = std::make_shared<Lanes>(PlainLanes(&budget_, &latency_, &sequence_));
      }
      return lanes;
    });
    pipeline_.SetPlan(plan_);
  }

  Passage Run(uint32_t stage, std::string_view payload = "1", uint8_t record_class = kNormal,
              int64_t now_us = 0) {
    return pipeline_.Run(stage, MakeRecord("d", "t", payload, record_class, now_us));
  }

  // Takes and acknowledges everything that waits for an uplink.
  std::vector<Batch> Drain(uint32_t uplink) {
    std::vector<Batch> batches;
    Lanes& lanes = *lanes_[uplink];
    Outlet* outlet = sessions_.At(&lanes);
    while (lanes.Take(outlet, 0, [&](const Batch& batch) {
      batches.push_back(batch);
      return true;
    })) {
      lanes.Release(outlet, batches.back().id, 0);
    }
    return batches;
  }

  std::vector<FrameHeader> Messages() {
    std::vector<FrameHeader> headers;
    for (std::string_view frame = ring_.Front(); frame.data() != nullptr; frame = ring_.Front()) {
      headers.emplace_back();
      std::memcpy(&headers.back(), frame.data(), sizeof(FrameHeader));
      EXPECT_EQ(headers.back().total_bytes, frame.size());
      ring_.Pop();
    }
    return headers;
  }

  uint64_t Dropped(Drop reason) {
    uint64_t sum = 0;
    for (const SingleWriter& n : counters_.drops[static_cast<size_t>(reason)]) sum += n.Get();
    return sum;
  }
  const StageCounters& StageOf(uint32_t id) { return plan_->Find(id)->shared->counters[0]; }
  int64_t HeldRecords() {
    int64_t sum = 0;
    for (uint8_t c = 1; c <= kClasses; ++c) sum += budget_.records(c);
    return sum;
  }

  Budget budget_{1 << 20};
  LatencyByClass latency_;
  CounterBlock counters_;
  ByteRing ring_{4096};
  CountingBell bell_;
  std::atomic<int64_t> devices_{100};
  std::atomic<uint64_t> sequence_{0};
  Sessions sessions_;
  std::map<uint32_t, std::shared_ptr<Lanes>> lanes_;
  std::shared_ptr<const Plan> plan_;
  Pipeline pipeline_{PipelineContext{0, &budget_, &counters_, &ring_, &bell_, &devices_}};
};

}  // namespace seganet::test

#endif  // SEGANET_TEST_SUPPORT_PIPELINE_SUPPORT_H_
