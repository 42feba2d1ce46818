// Runs a TLS client with any bytes from the broker at each stage of a connection. Checks that a
// failure has a code and that nothing is sent after it, and that an unmodified handshake succeeds.
//
// The first byte of an input selects the mode, the second the size of the network's pieces. The
// rest is the broker's bytes, or changes to those of a real broker: a position (two bytes) and the
// bits to flip there. Certificates and keys are new in each process, so the bytes differ from run
// to run.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "core/uplink/tls_client.h"
#include "test/support/tls_server.h"

namespace {

using seganet::TlsClient;
using seganet::TlsContext;
using seganet::tls_test::Identity;
using seganet::tls_test::Manners;
using seganet::tls_test::ReadAll;
using seganet::tls_test::Server;
using seganet::tls_test::Span;
using seganet::tls_test::Take;
using State = TlsClient::State;

void Check(bool good) {
  if (!good) std::abort();
}

struct Setup {
  Identity authority = Identity::Authority();
  Identity broker = authority.Issue();
  std::shared_ptr<TlsContext> context;

  Setup() {
    seganet::TlsOptions options;
    seganet::TlsFailure why;
    options.ca = authority.cert();
    options.alpn = {"mqtt"};
    options.server_name = "broker.example";
    const Identity own = authority.Issue({.name = "gateway"});
    options.cert = own.cert();
    options.key = own.key();
    Check(TlsContext::Make(options, &context, &why));
  }
};

const Setup& TheSetup() {
  static const Setup* const setup = new Setup;
  return *setup;
}

void CheckState(const TlsClient& client) {
  Check((client.state() == State::kFailed) == !client.failure().code.empty());
  Check(client.state() == State::kOpen || client.state() == State::kHandshake ||
        client.pending().size() < 4096);
}

// Gives `bytes` to the client in pieces of up to `piece` bytes.
void Receive(TlsClient* client, std::string_view bytes, size_t piece) {
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    client->Receive(Span(bytes.substr(0, piece)));
    ReadAll(client);
    CheckState(*client);
  }
}

// Changes bytes of a stream that passes through Touch().
class Vandal {
 public:
  explicit Vandal(std::string_view marks) : marks_(marks) {}

  void Touch(std::string* bytes) {
    for (size_t i = 0; i + 2 < marks_.size(); i += 3) {
      const size_t at = static_cast<uint8_t>(marks_[i]) << 8 | static_cast<uint8_t>(marks_[i + 1]);
      if (at < gone_ || at - gone_ >= bytes->size()) continue;
      char& byte = (*bytes)[at - gone_];
      byte = static_cast<char>(byte ^ marks_[i + 2]);
      touched_ = touched_ || marks_[i + 2] != 0;
    }
    gone_ += bytes->size();
  }

  bool touched() const { return touched_; }

 private:
  const std::string_view marks_;
  size_t gone_ = 0;
  bool touched_ = false;
};

void Carry(TlsClient* client, Server* server, Vandal* vandal, size_t piece) {
  for (;;) {
    const std::string up = Take(client);
    server->Receive(up);
    std::string down = server->Take();
    if (up.empty() && down.empty()) return;
    vandal->Touch(&down);
    Receive(client, down, piece);
  }
}

enum Mode : uint8_t {
  kRaw,             // the input to a client that sent its ClientHello
  kRawBeforeStart,  // the same, also before the ClientHello
  kTouched13,       // changes to a connection with TLS 1.3
  kTouchedRetry,    // the same, with a HelloRetryRequest
  kTouched12,
  kTouchedAsked,  // TLS 1.2, and the broker requests a certificate
  kOpen13,        // the input to a connected client, TLS 1.3
  kOpen12,
  kModes
};

Manners MannersOf(uint8_t mode) {
  Manners manners;
  manners.alpn = "mqtt";
  if (mode == kTouched12 || mode == kTouchedAsked || mode == kOpen12) {
    manners.max_version = TLS1_2_VERSION;
  }
  if (mode == kTouchedRetry) manners.groups = "P-384";
  if (mode == kTouchedAsked) manners.client_ca = TheSetup().authority.cert();
  return manners;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const uint8_t mode = data[0] % kModes;
  const size_t piece = data[1] == 0 ? 1 << 20 : data[1];
  const std::string_view input(reinterpret_cast<const char*>(data) + 2, size - 2);
  TlsClient client(TheSetup().context);
  if (mode == kRawBeforeStart) Receive(&client, input, piece);
  client.Start();
  if (mode == kRaw || mode == kRawBeforeStart) {
    Receive(&client, input, piece);
    Check(client.state() != State::kOpen);
  } else {
    Server server(TheSetup().broker, MannersOf(mode));
    const bool open = mode == kOpen13 || mode == kOpen12;
    Vandal vandal(open ? std::string_view() : input);
    Carry(&client, &server, &vandal, piece);
    if (!vandal.touched()) Check(client.state() == State::kOpen && server.open());
    if (open) Receive(&client, input, piece);
    client.Write("a message");
    if (client.state() == State::kOpen) {
      server.Receive(Take(&client));
      Check(vandal.touched() || server.received == "a message");
    }
  }
  client.Close();
  CheckState(client);
  client.PeerCertificate();
  return 0;
}
