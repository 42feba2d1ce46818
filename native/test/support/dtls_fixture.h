// A DTLS server, its network and its clock.
#ifndef SEGANET_TEST_SUPPORT_DTLS_FIXTURE_H_
#define SEGANET_TEST_SUPPORT_DTLS_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/dtls/dtls_server.h"
#include "test/support/dtls_client.h"

namespace seganet::tls_test {

inline std::span<const uint8_t> BytesOf(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

class DtlsTest : public testing::Test, public DtlsHandler {
 protected:
  DtlsTest() {
    own_.cert = gateway_.cert();
    own_.key = gateway_.key();
    own_.ca = authority_.cert();
    keys_ = own_;
    keys_.key_login = true;
    keys_.keys = {{"pump-1", "0123456789abcdef"}, {"pump-2", "fedcba9876543210"}};
    certificates_ = own_;
    certificates_.device_certificate = DeviceCertificate::kRequired;
  }

  void Serve(const DtlsOptions& options, const DtlsLimits& limits = {}) {
    server_ = std::make_unique<DtlsServer>(this, limits, 3, HelloCookies::Secret{1, 2, 3, 4},
                                           Context(options));
  }
  static std::shared_ptr<const DtlsContext> Context(const DtlsOptions& options) {
    std::shared_ptr<const DtlsContext> context;
    TlsFailure why;
    EXPECT_TRUE(DtlsContext::Make(options, &context, &why)) << why.code << " " << why.message;
    return context;
  }

  static DtlsWish Pump(std::string identity = "pump-1", std::string key = "0123456789abcdef") {
    return {.identity = std::move(identity), .key = std::move(key)};
  }

  // Carries datagrams both ways until neither side has more.
  void Carry(DtlsClient* client, const std::string& from) {
    while (!client->sent.empty()) {
      const std::string datagram = client->sent.front();
      client->sent.pop_front();
      Give(datagram, from);
      for (const auto& [to, answer] : std::exchange(answers_, {})) {
        if (to == from) client->Receive(answer);
      }
    }
  }
  void Give(std::string_view datagram, const std::string& from) {
    server_->OnDatagram({from.data(), from.size()}, BytesOf(datagram), now_us_);
  }
  // Does a handshake from an address.
  std::unique_ptr<DtlsClient> Connect(const DtlsWish& wish, const std::string& from) {
    auto client = std::make_unique<DtlsClient>(wish);
    client->Start();
    Carry(client.get(), from);
    return client;
  }
  // Sends the server's pending datagrams for an address to a client.
  void Pass(DtlsClient* client, const std::string& from) {
    for (const auto& [to, answer] : std::exchange(answers_, {})) {
      if (to == from) client->Receive(answer);
    }
  }
  void Wait(double seconds) {
    now_us_ += static_cast<int64_t>(seconds * 1e6);
    server_->OnTime(now_us_);
  }
  std::string TakeLog() { return std::exchange(log_, {}); }

  void SendSealed(const coap::Peer& address, std::string_view datagram) override {
    answers_.emplace_back(address.text(), datagram);
  }
  void OnOpened(const coap::Peer& session, const coap::Peer& address, std::string_view device,
                std::span<const uint8_t> message) override {
    EXPECT_TRUE(DtlsServer::IsSession(session) && !DtlsServer::IsSession(address));
    EXPECT_TRUE(DtlsServer::AddressOf(session) == address);
    EXPECT_EQ(DtlsServer::IsProven(session), !device.empty());
    EXPECT_EQ(DtlsServer::WorkerOf(session), 3u);
    log_ += "[" + std::string(device) + " " +
            std::string(reinterpret_cast<const char*>(message.data()), message.size()) + "]";
    last_ = session;
  }
  void OnEnded(const coap::Peer& session, std::string_view device) override {
    EXPECT_TRUE(DtlsServer::IsSession(session));
    log_ += "[" + std::string(device) + " ended]";
  }
  std::string HostOf(const coap::Peer& address) override {
    return std::string(address.text().substr(0, address.text().find(':')));
  }

  const Identity authority_ = Identity::Authority();
  const Identity gateway_ = authority_.Issue({.name = "gateway"});
  DtlsOptions own_;           // no login
  DtlsOptions keys_;          // devices need a key
  DtlsOptions certificates_;  // devices need a certificate
  std::unique_ptr<DtlsServer> server_;
  int64_t now_us_ = 1'000'000'000;
  std::vector<std::pair<std::string, std::string>> answers_;
  std::string log_;
  coap::Peer last_;  // the session of the last message
};

}  // namespace seganet::tls_test

#endif  // SEGANET_TEST_SUPPORT_DTLS_FIXTURE_H_
