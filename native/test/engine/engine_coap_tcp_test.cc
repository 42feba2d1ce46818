// The engine with devices that speak CoAP over TCP, on loopback.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "test/support/coap_stream_bytes.h"
#include "test/support/engine_coap_support.h"

namespace seganet {
namespace {

using test::CoapFrame;
using test::CoapMessage;
using test::CoapSignal;
using test::DeviceClient;
using test::kChanged;
using test::kContent;
using test::kForbidden;
using test::Until;

// The device's end of a connection.
class TcpClient : public DeviceClient {
 public:
  using DeviceClient::DeviceClient;

  // Returns the next message except Pings and CSMs; code 0 when the connection or patience ends.
  CoapMessage Next() {
    for (;;) {
      CoapMessage m = Any();
      if (m.code != test::kCoapCsm && m.code != test::kCoapPing) return m;
    }
  }
  CoapMessage Any() {
    for (;;) {
      if (auto m = test::TakeCoapFrame(&bytes_)) return *m;
      const std::string more = Receive(1);
      if (more.empty()) return {};
      bytes_ += more;
    }
  }
  CoapMessage Request(unsigned code, std::vector<std::string> path, std::string payload = "") {
    CoapMessage m = CoapSignal(code, std::string(1, static_cast<char>(++token_)));
    for (std::string& segment : path) m.options.emplace_back(11, std::move(segment));
    m.payload = std::move(payload);
    return m;
  }
  unsigned Post(std::vector<std::string> path, std::string payload) {
    Send(CoapFrame(Request(test::kCoapPost, std::move(path), std::move(payload))));
    return Next().code;
  }
  bool SendCsm() { return Send(CoapFrame(CoapSignal(test::kCoapCsm))); }

 private:
  std::string bytes_;
  unsigned char token_ = 0;
};

class EngineCoapTcp : public test::EngineCoapTest {
 protected:
  uint16_t ListenTcp() { return ListenCoap(Transport::kTcp); }
};

TEST_F(EngineCoapTcp, TheGatewayGreetsFirst) {
  Start({}, Plan());
  TcpClient device(ListenTcp());
  const CoapMessage csm = device.Any();
  EXPECT_EQ(csm.code, test::kCoapCsm);
  EXPECT_EQ(csm.Number(2), 262'144) << "Max-Message-Size";
}

TEST_F(EngineCoapTcp, PostsAreRecordsAndAreAnswered) {
  Start({}, Plan());
  TcpClient device(ListenTcp());
  ASSERT_TRUE(device.SendCsm());
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(device.Post({"r", "d", "t"}, std::to_string(i)), kChanged);
  }
  const auto seen = Records(50);
  ASSERT_EQ(seen.size(), 50u);
  for (uint32_t i = 0; i < 50; ++i) {
    EXPECT_EQ(seen[i].payload, std::to_string(i));
    EXPECT_EQ(seen[i].seq, i);
    EXPECT_EQ(seen[i].topic, "r/d/t");
    EXPECT_EQ(seen[i].flags, kFlagQos1);
  }
  EXPECT_EQ(engine_.devices(), 1);
}

TEST_F(EngineCoapTcp, AMessageInPiecesIsOne) {
  Start({}, Plan());
  TcpClient device(ListenTcp());
  const std::string stream =
      CoapFrame(CoapSignal(test::kCoapCsm)) +
      CoapFrame(device.Request(test::kCoapPost, {"r", "d"}, std::string(300, 'x')));
  for (char byte : stream) ASSERT_TRUE(device.Send({&byte, 1}));
  EXPECT_EQ(device.Next().code, kChanged);
  EXPECT_EQ(Records(1).size(), 1u);
}

// The acceptor answers requests from before the device is known, once.
TEST_F(EngineCoapTcp, PingsAndDiscoveryAreAnsweredBeforeADeviceIsKnown) {
  Start({}, Plan());
  TcpClient device(ListenTcp());
  ASSERT_TRUE(device.SendCsm());
  ASSERT_TRUE(device.Send(CoapFrame(CoapSignal(test::kCoapPing, "p"))));
  CoapMessage pong = device.Next();
  EXPECT_EQ(pong.code, test::kCoapPong);
  EXPECT_EQ(pong.token, "p");
  ASSERT_TRUE(device.Send(CoapFrame(device.Request(test::kCoapGet, {".well-known", "core"}))));
  const CoapMessage links = device.Next();
  EXPECT_EQ(links.code, kContent);
  EXPECT_NE(links.payload.find("</r>"), std::string::npos) << links.payload;
  EXPECT_EQ(device.Post({"r", "d"}, "1"), kChanged) << "and nothing in between again";
  ASSERT_TRUE(device.Send(CoapFrame(CoapSignal(test::kCoapPing, "q"))));
  pong = device.Next();
  EXPECT_EQ(pong.token, "q");
  EXPECT_EQ(Records(1).size(), 1u);
}

TEST_F(EngineCoapTcp, TheAnswerComesWhenTheRecordIsSafe) {
  EngineOptions options;
  options.acknowledge = Acknowledge::kSafe;
  Start(options, Plan({}, false));
  TcpClient device(ListenTcp());
  ASSERT_TRUE(device.SendCsm());
  ASSERT_TRUE(device.Send(CoapFrame(device.Request(test::kCoapPost, {"r", "d"}, "1"))));
  ASSERT_TRUE(Until([this] { return HeldRecords() == 1; }));
  ASSERT_TRUE(device.Send(CoapFrame(CoapSignal(test::kCoapPing, "p"))));
  EXPECT_EQ(device.Next().code, test::kCoapPong) << "before the record is safe";
  engine_.Flush(0);
  ASSERT_TRUE(Until([this] { return DrainUplink() == 1; }));
  EXPECT_EQ(device.Next().code, kChanged);
}

TEST_F(EngineCoapTcp, AConnectionBelongsToOneDevice) {
  Start({}, Plan());
  TcpClient device(ListenTcp());
  ASSERT_TRUE(device.SendCsm());
  EXPECT_EQ(device.Post({"r", "mine"}, "1"), kChanged);
  EXPECT_EQ(device.Post({"r", "yours"}, "1"), kForbidden);
  EXPECT_EQ(device.Post({"r", "mine"}, "2"), kChanged);
  EXPECT_EQ(Records(2).size(), 2u);
}

TEST_F(EngineCoapTcp, AKnownDeviceTakesOverTheConnection) {
  Start({}, Plan());
  const uint16_t port = ListenTcp();
  TcpClient old(port), young(port);
  ASSERT_TRUE(old.SendCsm());
  ASSERT_EQ(old.Post({"r", "same"}, "1"), kChanged);
  ASSERT_TRUE(young.SendCsm());
  ASSERT_EQ(young.Post({"r", "same"}, "2"), kChanged);
  EXPECT_TRUE(old.ClosedByPeer());
  EXPECT_EQ(Count(Counter::kTakeOvers), 1u);
  EXPECT_EQ(engine_.devices(), 1);
}

TEST_F(EngineCoapTcp, AStopSendsRelease) {
  Start({}, Plan());
  TcpClient device(ListenTcp());
  ASSERT_TRUE(device.SendCsm());
  ASSERT_EQ(device.Post({"r", "d"}, "1"), kChanged);
  engine_.Unlisten(kSource);
  EXPECT_EQ(device.Next().code, test::kCoapRelease);
  EXPECT_TRUE(device.ClosedByPeer());
}

TEST_F(EngineCoapTcp, ALongBodyIsOneRecord) {
  Start({}, Plan());
  TcpClient device(ListenTcp());
  ASSERT_TRUE(device.SendCsm());
  ASSERT_EQ(device.Post({"r", "d"}, std::string(100'000, 'x')), kChanged);
  const auto seen = Records(1);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].payload.size(), 100'000u);
}

TEST_F(EngineCoapTcp, AConnectionWithoutADeviceInTimeIsClosed) {
  Start({}, Plan());
  uint16_t port = 0;
  const ListenSpec spec{.host = "127.0.0.1", .connect_timeout_us = 300'000};
  ASSERT_TRUE(engine_.Listen(kSource, spec, &port).ok());
  TcpClient silent(port), pinging(port);
  ASSERT_TRUE(pinging.SendCsm());
  EXPECT_TRUE(silent.ClosedByPeer());
  EXPECT_TRUE(pinging.ClosedByPeer());
  EXPECT_EQ(Count(Counter::kConnectTimeouts), 2u);
}

// The connection ends in each case; an Abort is sent first where possible.
TEST_F(EngineCoapTcp, BadInputEndsOnlyItsConnection) {
  Start({}, Plan());
  const uint16_t port = ListenTcp();
  TcpClient maker(port);
  const std::string csm = CoapFrame(CoapSignal(test::kCoapCsm));
  const std::string post = CoapFrame(maker.Request(test::kCoapPost, {"r", "d"}, "1"));
  const auto with = [](CoapMessage m, unsigned option, std::string value) {
    m.options.emplace_back(option, std::move(value));
    return CoapFrame(m);
  };
  std::string long_token = post;
  long_token[0] = static_cast<char>((long_token[0] & 0xF0) | 9);
  const std::vector<std::tuple<const char*, std::string, bool>> inputs = {
      {"MQTT", mqtt_test::ConnectPacket(), true},
      {"HTTP", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", true},
      {"no CSM first", post, true},
      {"a token of 9 bytes", csm + long_token, true},
      {"a token of 15 bytes", "\x0F\xE1", true},
      {"4 GiB", csm + std::string("\xF0\xFF\xFF\xFF\xFF\x02", 6), true},
      {"over the limit", csm + std::string("\xF0\x00\x10\x00\x00\x02", 6), true},
      {"an option that is cut off", csm + std::string("\x10\x02\xBD", 3), true},
      {"a reserved option length", csm + std::string("\x20\x02\xBF\x00", 4), true},
      {"a marker and no payload", csm + std::string("\x10\x02\xFF", 3), true},
      {"a critical option in CSM", with(CoapSignal(test::kCoapCsm), 65001, "x"), true},
      {"a critical option in Ping", csm + with(CoapSignal(test::kCoapPing), 65001, "x"), true},
      {"Release", csm + CoapFrame(CoapSignal(test::kCoapRelease)), false},
      {"Abort", csm + CoapFrame(CoapSignal(test::kCoapAbort)), false},
      {"8 KiB that name no device",
       [&] {
         std::string pings = csm;
         while (pings.size() < 9000) pings += CoapFrame(CoapSignal(test::kCoapPing, "12345678"));
         return pings;
       }(),
       false}};
  for (const auto& [name, bytes, aborts] : inputs) {
    TcpClient bad(port);
    bad.Send(bytes);
    unsigned last = 0;
    for (CoapMessage m = bad.Next(); m.code != 0; m = bad.Next()) last = m.code;
    EXPECT_TRUE(bad.ClosedByPeer()) << name;
    if (aborts) {
      EXPECT_EQ(last, test::kCoapAbort) << name;
    }
  }
  ASSERT_TRUE(maker.SendCsm());
  EXPECT_EQ(maker.Post({"r", "d"}, "1"), kChanged);
  EXPECT_GE(Count(Counter::kProtocolErrors), 12u);
}

TEST_F(EngineCoapTcp, BadRequestsAreAnsweredAndTheConnectionStays) {
  Start({}, Plan());
  TcpClient device(ListenTcp());
  ASSERT_TRUE(device.SendCsm());
  ASSERT_EQ(device.Post({"r", "d"}, "1"), kChanged);
  const auto ask = [&](CoapMessage m) {
    device.Send(CoapFrame(m));
    return device.Next().code;
  };
  EXPECT_EQ(ask(device.Request(test::kCoapPost, {"nowhere"}, "1")), 0x84u);
  EXPECT_EQ(ask(device.Request(test::kCoapPost, {"r"}, "1")), 0x80u);
  EXPECT_EQ(ask(device.Request(test::kCoapGet, {"r", "d"})), 0x85u);
  EXPECT_EQ(ask(device.Request(9, {"r", "d"})), 0x85u);
  EXPECT_EQ(ask(device.Request(test::kCoapPost, {"cmd", "d"})), 0x85u);
  EXPECT_EQ(ask(device.Request(test::kCoapGet, {"cmd", "d"})), 0x84u) << "there is no command";
  EXPECT_EQ(ask(device.Request(test::kCoapPost, {"r", "d", "#"}, "1")), 0x80u);
  EXPECT_EQ(ask(device.Request(test::kCoapPost, {"r", "d", "\xC3\x28"}, "1")), 0x80u);
  CoapMessage unknown = device.Request(test::kCoapPost, {"r", "d"}, "1");
  unknown.options.emplace_back(65001, "x");
  EXPECT_EQ(ask(unknown), 0x82u);
  EXPECT_EQ(device.Post({"r", "d"}, "2"), kChanged);
  EXPECT_EQ(Count(Counter::kProtocolErrors), 0u);
}

TEST_F(EngineCoapTcp, StreamsOfAProvenDeviceNeedNotNameIt) {
  Start({}, Plan());
  uint16_t port = 0;
  ASSERT_TRUE(engine_.Listen(kSource, {.transport = Transport::kStreams}, &port).ok());
  int fd = -1;
  ASSERT_TRUE(engine_.OpenStream(kSource, {.address = "tls", .device = "proven"}, &fd).ok());
  TcpClient device(DeviceClient::FromFd{fd});
  ASSERT_TRUE(device.SendCsm());
  EXPECT_EQ(device.Post({"r", "proven", "t"}, "1"), kChanged);
  EXPECT_EQ(device.Post({"r", "other", "t"}, "1"), kForbidden);
  const auto seen = Records(1);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].device, "proven");
}

}  // namespace
}  // namespace seganet
