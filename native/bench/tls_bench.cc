// Measures what a message costs in the uplink's TLS client, out and in, and its allocations;
// OpenSSL's memory is counted by OpenSSL's hook.
//
//   tls_bench [rounds]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/uplink/tls_client.h"
#include "test/support/tls_server.h"

namespace {

using seganet::TlsClient;
using seganet::tls_test::Identity;
using seganet::tls_test::Server;
using seganet::tls_test::Span;
using Clock = std::chrono::steady_clock;

size_t allocations = 0;

void* Allocate(size_t bytes, const char* /*file*/, int /*line*/) {
  ++allocations;
  return malloc(bytes);
}
void* Reallocate(void* old, size_t bytes, const char* /*file*/, int /*line*/) {
  ++allocations;
  return realloc(old, bytes);
}
void Free(void* old, const char* /*file*/, int /*line*/) { free(old); }

double Ns(Clock::duration time) { return std::chrono::duration<double, std::nano>(time).count(); }

struct Cost {
  double ns = 0;
  double allocations = 0;
};

void Print(const char* what, size_t bytes, Cost cost, int rounds) {
  std::printf("%-16s %6zu bytes: %8.0f ns, %.2f allocations\n", what, bytes, cost.ns / rounds,
              cost.allocations / rounds);
}

void Messages(TlsClient* client, Server* server, size_t bytes, int rounds) {
  const std::string message(bytes, 'x');
  std::vector<uint8_t> into(bytes);
  Cost out;
  Cost in;
  for (int i = -100; i < rounds; ++i) {
    if (i == 0) out = in = {};
    size_t before = allocations;
    auto start = Clock::now();
    client->Write(message);
    std::string_view pending = client->pending();
    out.ns += Ns(Clock::now() - start);
    out.allocations += static_cast<double>(allocations - before);
    server->Receive(pending);
    server->received.clear();
    before = allocations;
    start = Clock::now();
    client->Sent(pending.size());
    out.ns += Ns(Clock::now() - start);
    out.allocations += static_cast<double>(allocations - before);
    server->Write(message);
    const std::string answer = server->Take();
    before = allocations;
    start = Clock::now();
    client->Receive(Span(answer));
    const size_t read = client->Read(into);
    in.ns += Ns(Clock::now() - start);
    in.allocations += static_cast<double>(allocations - before);
    if (read != bytes) std::exit(1);
  }
  Print("out", bytes, out, rounds);
  Print("in", bytes, in, rounds);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 20000;
  CRYPTO_set_mem_functions(Allocate, Reallocate, Free);
  const Identity authority = Identity::Authority();
  const Identity broker = authority.Issue();
  seganet::TlsOptions options;
  options.ca = authority.cert();
  std::shared_ptr<seganet::TlsContext> context;
  seganet::TlsFailure why;
  if (!seganet::TlsContext::Make(options, &context, &why)) return 1;
  const auto start = Clock::now();
  Server server(broker);
  TlsClient client(context);
  client.Start();
  seganet::tls_test::Carry(&client, &server);
  std::printf("handshake, both ends: %.0f us\n", Ns(Clock::now() - start) / 1000);
  if (client.state() != TlsClient::State::kOpen) return 1;
  for (const size_t bytes : {4, 200, 1400, 16384}) Messages(&client, &server, bytes, rounds);
  return 0;
}
