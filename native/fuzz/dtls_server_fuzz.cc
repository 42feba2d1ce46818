// Runs a DTLS server with any datagrams before and during handshakes. Checks that nothing is kept
// and less is sent than received before a cookie proves the address, that limits hold, that no
// message arrives without a completed handshake, and that an unmodified handshake succeeds.
//
// The first byte of an input selects the mode. In kRaw the rest is a list of datagrams: an address,
// a size (two bytes), bytes. In the other modes it is a list of changes to the datagrams of a real
// client: the number of the datagram, a position (two bytes), and the bits to flip there.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/dtls/dtls_server.h"
#include "test/support/dtls_client.h"

namespace {

using seganet::DeviceCertificate;
using seganet::DtlsContext;
using seganet::DtlsLimits;
using seganet::DtlsOptions;
using seganet::DtlsServer;
using seganet::HelloCookies;
using seganet::TlsFailure;
using seganet::coap::Peer;
using seganet::tls_test::DtlsClient;
using seganet::tls_test::DtlsWish;
using seganet::tls_test::Identity;

constexpr char kKey[] = "0123456789abcdef";

void Check(bool good) {
  if (!good) std::abort();
}

struct Setup {
  Identity authority = Identity::Authority();
  Identity gateway = authority.Issue();
  Identity pump = authority.Issue({.name = "pump"});
  std::shared_ptr<const DtlsContext> keys;
  std::shared_ptr<const DtlsContext> certificates;

  Setup() {
    DtlsOptions options;
    TlsFailure why;
    options.cert = gateway.cert();
    options.key = gateway.key();
    options.ca = authority.cert();
    options.device_certificate = DeviceCertificate::kRequired;
    Check(DtlsContext::Make(options, &certificates, &why));
    options.device_certificate = DeviceCertificate::kNo;
    options.key_login = true;
    options.keys = {{"pump", kKey}};
    Check(DtlsContext::Make(options, &keys, &why));
  }
};

const Setup& TheSetup() {
  static const Setup* const setup = new Setup;
  return *setup;
}

class Bench final : public seganet::DtlsHandler {
 public:
  explicit Bench(std::shared_ptr<const DtlsContext> context)
      : server(this, {.max_handshakes = 3, .max_sessions = 2}, 0, HelloCookies::Secret{1, 2, 3, 4},
               std::move(context)) {}

  void SendSealed(const Peer& to, std::string_view datagram) override {
    Check(datagram.size() <= 1400);
    sent_bytes += datagram.size();
    sent.emplace_back(to.text(), datagram);
  }
  void OnOpened(const Peer& session, const Peer& /*address*/, std::string_view device,
                std::span<const uint8_t> /*message*/) override {
    Check(DtlsServer::IsSession(session) && device == "pump");
    ++messages;
  }
  void OnEnded(const Peer&, std::string_view) override {}
  std::string HostOf(const Peer& address) override { return std::string(address.text()); }

  void Give(std::string_view from, std::string_view datagram) {
    const size_t before = sent_bytes;
    const size_t known = server.handshakes() + server.sessions();
    server.OnDatagram({from.data(), from.size()},
                      {reinterpret_cast<const uint8_t*>(datagram.data()), datagram.size()}, now_us);
    if (known == 0 && server.handshakes() + server.sessions() == 0) {
      // Or a handshake that failed at once, whose alert is short.
      Check(sent_bytes - before <= std::max<size_t>(datagram.size(), 64));
    }
    Check(server.handshakes() <= 3 && server.sessions() <= 2);
  }

  DtlsServer server;
  std::vector<std::pair<std::string, std::string>> sent;
  size_t sent_bytes = 0;
  int messages = 0;
  int64_t now_us = 1'000'000'000;
};

void RunRaw(std::string_view input) {
  Bench bench(TheSetup().keys);
  constexpr std::string_view kPeers[] = {"one", "two", "three", "four"};
  while (input.size() >= 3) {
    const auto from = static_cast<uint8_t>(input[0]);
    const size_t size =
        static_cast<size_t>(static_cast<uint8_t>(input[1])) << 8 | static_cast<uint8_t>(input[2]);
    input.remove_prefix(3);
    bench.Give(kPeers[from % 4], input.substr(0, size));
    input.remove_prefix(std::min(size, input.size()));
    if (from >= 128) bench.server.OnTime(bench.now_us += from * 10'000);
  }
  Check(bench.messages == 0 && bench.server.sessions() == 0);
}

// Flips bits of the n-th datagram. Returns true if it changed something.
bool Touch(std::string_view marks, size_t number, std::string* datagram) {
  bool touched = false;
  for (size_t i = 0; i + 3 < marks.size(); i += 4) {
    if (static_cast<uint8_t>(marks[i]) != number || datagram->empty()) continue;
    const size_t at = static_cast<size_t>(static_cast<uint8_t>(marks[i + 1])) << 8 |
                      static_cast<uint8_t>(marks[i + 2]);
    char& byte = (*datagram)[at % datagram->size()];
    byte = static_cast<char>(byte ^ marks[i + 3]);
    touched = touched || marks[i + 3] != 0;
  }
  return touched;
}

void RunTouched(std::string_view marks, bool with_key) {
  const Setup& setup = TheSetup();
  Bench bench(with_key ? setup.keys : setup.certificates);
  DtlsWish wish;
  if (with_key) {
    wish.identity = "pump";
    wish.key = kKey;
  } else {
    wish.own = &setup.pump;
  }
  DtlsClient client(wish);
  client.Start();
  bool touched = false;
  bool written = false;
  for (size_t number = 0; number < 64; ++number) {
    if (client.sent.empty() && client.open() && !std::exchange(written, true)) {
      client.Write("a message");
    }
    if (client.sent.empty()) break;
    std::string datagram = client.sent.front();
    client.sent.pop_front();
    touched = Touch(marks, number, &datagram) || touched;
    bench.Give("client", datagram);
    for (const auto& [to, answer] : std::exchange(bench.sent, {})) client.Receive(answer);
  }
  if (!touched) Check(client.open() && bench.messages == 1);
  bench.server.OnTime(bench.now_us + 100'000'000);
  Check(bench.server.handshakes() == 0);
  bench.server.Close();
  Check(bench.server.sessions() == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      RunRaw(input);
      break;
    case 1:
      RunTouched(input, true);
      break;
    default:
      RunTouched(input, false);
  }
  return 0;
}
