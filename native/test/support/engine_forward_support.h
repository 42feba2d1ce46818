// An engine whose workers forward requests to d/f/{device}/….
#ifndef SEGANET_TEST_SUPPORT_ENGINE_FORWARD_SUPPORT_H_
#define SEGANET_TEST_SUPPORT_ENGINE_FORWARD_SUPPORT_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "test/support/engine_desk_support.h"

namespace seganet::test {

class EngineForwardTest : public EngineDeskTest {
 protected:
  using CoapOptions = decltype(CoapMessage::options);

  // Requests to d/f/{device}/… are forwarded.
  uint16_t ListenForward(int64_t timeout_us = 10'000'000, size_t max_asks = 32) {
    auto forward = std::make_shared<ForwardOptions>();
    forward->prefix = {"d", "f"};
    forward->timeout_us = timeout_us;
    forward->options = {{.number = 4, .least_bytes = 1, .most_bytes = 8, .most = 2}};
    forward->answer_options = {4, 8, 12, 14, 2053};
    forward->format = ForwardFormat{.value = 10000,
                                    .alias = 60,
                                    .accept_option = 2049,
                                    .content_option = 2053,
                                    .version = 2048};
    DeskOptions options;
    options.forward = std::move(forward);
    options.stream.known_options = {2049, 2053};
    options.stream.max_asks = max_asks;
    return ListenDesk(std::move(options));
  }

  uint64_t Forwarded() {
    std::array<uint64_t, kCounters> counters{};
    std::array<std::array<uint64_t, kClassSlots>, kDrops> drops{};
    std::array<uint64_t, kCloseReasonCount> reasons{};
    engine_.ReadCounters(&counters, &drops, &reasons);
    return counters[static_cast<size_t>(Counter::kRequestsForwarded)];
  }

  static void SendTo(DeskClient* client, const std::string& device, std::string token,
                     unsigned code = kCoapGet, CoapOptions more = {}, std::string payload = "") {
    CoapMessage m = CoapSignal(code, std::move(token));
    for (const std::string& segment :
         {std::string("d"), std::string("f"), device, std::string("light")}) {
      m.options.emplace_back(11, segment);
    }
    m.options.insert(m.options.end(), more.begin(), more.end());
    std::stable_sort(m.options.begin(), m.options.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    m.payload = std::move(payload);
    client->Send(CoapFrame(m));
  }

  // The desk gets the request, and answers it with 4.04.
  void ExpectAtDesk(DeskClient* client, const std::string& token) {
    const DeskEvent event = Event();
    EXPECT_EQ(event.kind, DeskEventKind::kAsked);
    EXPECT_EQ(event.token, token);
    EXPECT_TRUE(engine_.AnswerRequest(event.connection, event.token, 0x84, {}, ""));
    EXPECT_EQ(client->Next().code, 0x84u);
  }
  // Sends the request `a`. False if the desk got it, because the worker does not know the device
  // yet; it is answered then.
  bool TryOnce(DeskClient* client, const std::string& device = "dev") {
    const uint64_t before = Forwarded();
    SendTo(client, device, "a");
    std::vector<DeskEvent> asked;
    Until([&] {
      asked = engine_.TakeDesk(kSource, 10);
      return !asked.empty() || Forwarded() > before;
    });
    if (asked.empty()) return true;
    EXPECT_TRUE(engine_.AnswerRequest(asked[0].connection, asked[0].token, 0x84, {}, ""));
    EXPECT_EQ(client->Next().code, 0x84u);
    return false;
  }
  // The device gets a request and answers it.
  static void ExpectThrough(DeskClient* client, DeskClient* device, const std::string& token) {
    const CoapMessage asked = device->Next();
    EXPECT_NE(asked.code, 0u) << token;
    device->Respond(asked, kDeskContent, "for " + token);
    const CoapMessage answer = client->Next();
    EXPECT_EQ(answer.code, kDeskContent);
    EXPECT_EQ(answer.token, token);
    EXPECT_EQ(answer.payload, "for " + token);
  }
};

}  // namespace seganet::test

#endif  // SEGANET_TEST_SUPPORT_ENGINE_FORWARD_SUPPORT_H_
