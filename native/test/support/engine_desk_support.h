// An engine with a request desk, and the peers of its connections.
#ifndef SEGANET_TEST_SUPPORT_ENGINE_DESK_SUPPORT_H_
#define SEGANET_TEST_SUPPORT_ENGINE_DESK_SUPPORT_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "test/support/coap_stream_bytes.h"
#include "test/support/engine_coap_support.h"

namespace seganet::test {

inline constexpr unsigned kDeskChanged = 0x44, kDeskContent = 0x45;  // 2.04, 2.05

// A peer's end of a connection. Sends no CSM.
class DeskClient : public DeviceClient {
 public:
  using DeviceClient::DeviceClient;

  // Returns the next message except CSMs; code 0 when the connection or patience ends.
  CoapMessage Next() {
    for (;;) {
      if (auto m = TakeCoapFrame(&bytes_)) {
        if (m->code != kCoapCsm) return *m;
        continue;
      }
      const std::string more = Receive(1);
      if (more.empty()) return {};
      bytes_ += more;
    }
  }
  void Request(unsigned code, std::vector<std::string> path, std::string token,
               std::string payload = "", bool observe = false) {
    CoapMessage m = CoapSignal(code, std::move(token));
    if (observe) m.options.emplace_back(6u, "");
    for (std::string& segment : path) m.options.emplace_back(11, std::move(segment));
    m.payload = std::move(payload);
    Send(CoapFrame(m));
  }
  void Respond(const CoapMessage& to, unsigned code, std::string payload, bool observe = false) {
    CoapMessage m = CoapSignal(code, to.token);
    if (observe) m.options.emplace_back(6, std::string(1, static_cast<char>(++observe_)));
    m.payload = std::move(payload);
    Send(CoapFrame(m));
  }

 private:
  std::string bytes_;
  unsigned char observe_ = 0;
};

class EngineDeskTest : public EngineCoapTest {
 protected:
  uint16_t ListenDesk(DeskOptions options = {}) {
    options.stream.identifies = true;
    options.stream.csm_optional = true;
    options.stream.prefixes = {"d"};
    uint16_t bound = 0;
    const Status status = engine_.Listen(
        kSource, {.desk = std::make_shared<const DeskOptions>(std::move(options))}, &bound);
    EXPECT_TRUE(status.ok()) << status.message();
    return bound;
  }

  // Returns the next event of the desk.
  DeskEvent Event() {
    Until([&] {
      const auto more = engine_.TakeDesk(kSource, 100);
      events_.insert(events_.end(), more.begin(), more.end());
      return !events_.empty();
    });
    if (events_.empty()) return {};
    DeskEvent event = events_.front();
    events_.erase(events_.begin());
    return event;
  }

  // Makes a request, and returns it as the desk sees it.
  DeskEvent Asked(DeskClient* client, std::string token = "t") {
    client->Request(kCoapPost, {"d", "x"}, std::move(token), "body");
    DeskEvent event = Event();
    EXPECT_EQ(event.kind, DeskEventKind::kAsked);
    return event;
  }

  // Signs a connection in.
  uint64_t SignIn(DeskClient* client, const std::string& device, int64_t until_us = kNever,
                  const std::string& owner = "owner") {
    const DeskEvent asked = Asked(client);
    EXPECT_EQ(asked.device, "");
    EXPECT_TRUE(engine_.IdentifyConnection(asked.connection, {device, owner, until_us}));
    EXPECT_TRUE(engine_.AnswerRequest(asked.connection, asked.token, kDeskChanged, {}, "in"));
    EXPECT_EQ(client->Next().code, kDeskChanged);
    return asked.connection;
  }

  uint64_t Ask(const std::string& device, bool observe = false, int64_t timeout_us = 10'000'000) {
    DeviceAsk ask;
    ask.device = device;
    ask.request.code = 1;
    ask.request.path = {"light"};
    ask.request.observe = observe;
    return engine_.AskDevice(kSource, std::move(ask), timeout_us);
  }

  void ExpectAnswer(uint64_t handle, unsigned code, const std::string& payload, bool last = true) {
    const DeskEvent event = Event();
    EXPECT_EQ(event.kind, DeskEventKind::kAnswer);
    EXPECT_EQ(event.handle, handle);
    EXPECT_EQ(event.code, code) << event.payload;
    EXPECT_EQ(event.last, last);
    if (!payload.empty()) EXPECT_EQ(event.payload, payload);
  }

  void ExpectGone(uint64_t connection, const std::string& device, const std::string& reason) {
    const DeskEvent event = Event();
    EXPECT_EQ(event.kind, DeskEventKind::kGone);
    EXPECT_EQ(event.connection, connection);
    EXPECT_EQ(event.device, device);
    EXPECT_EQ(event.reason, reason);
  }

  std::vector<DeskEvent> events_;
};

}  // namespace seganet::test

#endif  // SEGANET_TEST_SUPPORT_ENGINE_DESK_SUPPORT_H_
