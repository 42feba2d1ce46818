// CPU time of the server's end of DTLS: handshakes by kind, records, and the memory of an idle
// session. The client's time is not counted.
//
//   native/out/dev/dtls_bench [handshakes of each kind]
#include <malloc.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/dtls/dtls_server.h"
#include "test/support/dtls_client.h"

namespace {

using namespace seganet;            // NOLINT: a program of one file
using namespace seganet::tls_test;  // NOLINT

class Bench final : public DtlsHandler {
 public:
  explicit Bench(std::shared_ptr<const DtlsContext> context)
      : server(this, {.host_burst = 1'000'000}, 0, HelloCookies::Secret{1, 2, 3, 4},
               std::move(context)) {}

  void SendSealed(const coap::Peer&, std::string_view datagram) override {
    sent.emplace_back(datagram);
  }
  void OnOpened(const coap::Peer& session, const coap::Peer&, std::string_view,
                std::span<const uint8_t> message) override {
    ++messages;
    if (answers) server.Send(session, {reinterpret_cast<const char*>(message.data()), 10});
  }
  void OnEnded(const coap::Peer&, std::string_view) override {}
  std::string HostOf(const coap::Peer& address) override { return std::string(address.text()); }

  void Give(const std::string& from, std::string_view datagram) {
    const auto begin = std::chrono::steady_clock::now();
    server.OnDatagram({from.data(), from.size()},
                      {reinterpret_cast<const uint8_t*>(datagram.data()), datagram.size()},
                      1'000'000'000);
    busy += std::chrono::steady_clock::now() - begin;
  }
  void Carry(DtlsClient* client, const std::string& from) {
    while (!client->sent.empty()) {
      const std::string datagram = client->sent.front();
      client->sent.pop_front();
      Give(from, datagram);
      for (const std::string& answer : std::exchange(sent, {})) client->Receive(answer);
    }
  }
  std::unique_ptr<DtlsClient> Connect(const DtlsWish& wish, const std::string& from) {
    auto client = std::make_unique<DtlsClient>(wish);
    client->Start();
    Carry(client.get(), from);
    if (!client->open()) std::exit(1);
    return client;
  }
  double seconds() const { return std::chrono::duration<double>(busy).count(); }

  DtlsServer server;
  std::vector<std::string> sent;
  std::chrono::steady_clock::duration busy{};
  size_t messages = 0;
  bool answers = false;
};

std::shared_ptr<const DtlsContext> Context(const DtlsOptions& options) {
  std::shared_ptr<const DtlsContext> context;
  TlsFailure why;
  if (!DtlsContext::Make(options, &context, &why)) std::exit(1);
  return context;
}

void Handshakes(const char* name, const DtlsOptions& options, DtlsWish wish, bool resume, int n) {
  Bench bench(Context(options));
  if (resume) wish.session = bench.Connect(wish, "first")->session();
  bench.busy = {};
  for (int i = 0; i < n; ++i) {
    const auto client = bench.Connect(wish, "c" + std::to_string(i));
    if (client->resumed() != resume) std::exit(1);
    client->Close();  // else OpenSSL would not resume the session again
  }
  SSL_SESSION_free(wish.session);
  std::printf("%-44s %8.0f us  %8.0f /s\n", name, bench.seconds() / n * 1e6, n / bench.seconds());
}

void Records(const char* name, const DtlsOptions& options, const DtlsWish& wish) {
  constexpr int kRecords = 100'000;
  Bench bench(Context(options));
  bench.answers = true;
  const auto client = bench.Connect(wish, "c");
  bench.busy = {};
  const std::string message(109, 'm');
  for (int i = 0; i < kRecords; ++i) {
    client->Write(message);
    bench.Give("c", client->sent.front());
    client->sent.clear();
    bench.sent.clear();
  }
  if (bench.messages != kRecords) std::exit(1);
  std::printf("%-44s %8.2f us  %8.0f /s\n", name, bench.seconds() / kRecords * 1e6,
              kRecords / bench.seconds());
}

void Memory(const char* name, const DtlsOptions& options, const DtlsWish& wish) {
  constexpr int kSessions = 1000;
  Bench bench(Context(options));
  bench.Connect(wish, "first");
  const size_t before = mallinfo2().uordblks;
  for (int i = 0; i < kSessions; ++i) {
    const auto client = bench.Connect(wish, "c" + std::to_string(i));
    client->Write("hello");
    bench.Carry(client.get(), "c" + std::to_string(i));
  }
  std::printf("%-44s %8.1f KiB\n", name,
              static_cast<double>(mallinfo2().uordblks - before) / kSessions / 1024);
}

}  // namespace

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 500;
  const Identity authority = Identity::Authority();
  const Identity gateway = authority.Issue({.name = "gateway"});
  const Identity pump = authority.Issue({.name = "pump"});
  DtlsOptions keys;
  keys.cert = gateway.cert();
  keys.key = gateway.key();
  keys.ca = authority.cert();
  DtlsOptions certificates = keys;
  certificates.device_certificate = DeviceCertificate::kRequired;
  keys.key_login = true;
  // One identity per session would be limited to four of them; sessions end then, which is cheap.
  keys.keys = {{"pump", "0123456789abcdef"}};
  const DtlsWish plain{.identity = "pump", .key = "0123456789abcdef", .ciphers = "PSK-AES128-CCM8"};
  const DtlsWish forward{
      .identity = "pump", .key = "0123456789abcdef", .ciphers = "ECDHE-PSK-CHACHA20-POLY1305"};
  const DtlsWish own{.own = &pump, .ciphers = "ECDHE-ECDSA-AES128-GCM-SHA256"};
  std::printf("handshakes\n");
  Handshakes("pre-shared key", keys, plain, false, n);
  Handshakes("pre-shared key with ECDHE", keys, forward, false, n);
  Handshakes("ECDSA certificates", certificates, own, false, n);
  Handshakes("resumed", keys, plain, true, n);
  std::printf("a record of 109 B and its answer of 10 B\n");
  Records("AES-128-CCM-8", keys, plain);
  Records("ChaCha20-Poly1305", keys, forward);
  Records("AES-128-GCM", certificates, own);
  std::printf("an idle session\n");
  DtlsOptions anonymous = certificates;
  anonymous.device_certificate = DeviceCertificate::kNo;
  Memory("without a login", anonymous, {.ciphers = "ECDHE-ECDSA-AES128-GCM-SHA256"});
}
