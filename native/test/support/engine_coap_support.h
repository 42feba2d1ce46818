// An engine whose source speaks CoAP, and its devices' records.
#ifndef SEGANET_TEST_SUPPORT_ENGINE_COAP_SUPPORT_H_
#define SEGANET_TEST_SUPPORT_ENGINE_COAP_SUPPORT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/record/frame.h"
#include "test/support/engine_support.h"

namespace seganet::test {

struct Seen {
  std::string device, topic, payload;
  uint8_t record_class, flags;
  uint32_t seq;
};

class EngineCoapTest : public EngineTest {
 protected:
  // Devices feed messages, so that a test sees records; or the usual uplink.
  static std::vector<StageSpec> Plan(SourceSettings settings = {}, bool messages = true) {
    settings.protocol = Protocol::kCoap;
    auto plan = UsualPlan();
    plan[0].source = std::move(settings);
    if (messages) {
      plan[0].next.clear();
      plan[0].messages = true;
    }
    return plan;
  }

  uint16_t ListenCoap(Transport transport, const std::string& host = "127.0.0.1",
                      uint16_t port = 0) {
    uint16_t bound = 0;
    const Status status =
        engine_.Listen(kSource, {.host = host, .port = port, .transport = transport}, &bound);
    EXPECT_TRUE(status.ok()) << status.message();
    return bound;
  }

  // Returns the records that became messages since the last call; waits for `n` in all.
  std::vector<Seen> Records(size_t n) {
    std::vector<Seen> seen;
    std::vector<char> frames(1 << 20);
    Until([&] {
      const size_t bytes = engine_.TakeMessages(frames.data(), frames.size());
      for (size_t at = 0; at < bytes;) {
        const Record r = ReadRecordFrame(frames.data() + at);
        seen.push_back({std::string(r.device), std::string(r.topic), std::string(r.payload),
                        r.record_class, r.flags, r.seq});
        at += FrameBytes(r);
      }
      return seen.size() >= n;
    });
    return seen;
  }
};

}  // namespace seganet::test

#endif  // SEGANET_TEST_SUPPORT_ENGINE_COAP_SUPPORT_H_
