// The CoAP devices of a source over UDP, on one worker: a socket and the server behind it.
#ifndef SEGANET_CORE_DEVICES_COAP_ENDPOINT_H_
#define SEGANET_CORE_DEVICES_COAP_ENDPOINT_H_

#include <uv.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/counters.h"
#include "core/devices/agent_session.h"
#include "core/devices/coap_socket.h"
#include "core/devices/command_table.h"
#include "core/devices/receipt_table.h"
#include "core/dtls/dtls_server.h"
#include "core/protocol/coap/datagram/datagram_server.h"

namespace seganet {

class CoapEndpoint;

// Datagrams that cross from one worker to another.
struct CrossedDatagrams {
  enum class Kind : uint8_t {
    kArrived,  // to the worker that owns their device
    kLeaves,   // to the worker that has the peer's DTLS session, which encrypts it
    kEnded,    // the peer's DTLS session has ended; no datagram
  };
  struct Entry {
    coap::Peer peer;
    uint32_t size = 0;
    uint16_t device_size = 0;  // of the id that the peer's DTLS session has proven
    Kind kind = Kind::kArrived;
  };
  void Add(Kind kind, const coap::Peer& peer, std::string_view device, std::string_view datagram) {
    entries.push_back(
        {peer, static_cast<uint32_t>(datagram.size()), static_cast<uint16_t>(device.size()), kind});
    bytes.append(device).append(datagram);
  }

  std::vector<Entry> entries;
  std::string bytes;  // of all entries, concatenated: the device, then the datagram
};

// The interface of a worker to its endpoints.
class CoapHost {
 public:
  // A turn of `datagrams` begins; the current time is the time of their arrival.
  virtual void OnDatagrams(size_t datagrams, size_t bytes) = 0;
  virtual RecordAnswer OnDatagramRecord(CoapEndpoint* endpoint, const coap::Incoming& incoming) = 0;
  virtual bool MayObserve(CoapEndpoint* endpoint, std::string_view device) = 0;
  virtual void OnObserved(CoapEndpoint* endpoint, std::string_view device, bool on) = 0;
  // True if the device's latest record came through this endpoint.
  virtual bool IsAt(CoapEndpoint* endpoint, std::string_view device) = 0;
  // True if a connection or session has proven this device id. Its commands must not go to a peer
  // that has not proven it.
  virtual bool IsProven(std::string_view device) = 0;
  virtual void OnDatagramCommandAnswer(uint64_t id, uint8_t result) = 0;
  // Returns the worker that owns the device.
  virtual uint32_t OwnerOf(std::string_view device) = 0;
  // Passes datagrams to the worker that owns their devices.
  virtual void Cross(uint32_t worker, uint32_t stage, CrossedDatagrams datagrams) = 0;

 protected:
  ~CoapHost() = default;
};

// When a device may retry a record that nothing takes: by then, the flow may have been corrected.
inline constexpr uint32_t kNotTakenRetryS = 60;

struct CoapEndpointOptions {
  uint32_t stage = 0;
  uint32_t worker = 0;
  uint32_t workers = 1;
  coap::Settings settings;
  coap::Limits limits;
  uint64_t seed = 0;  // secret and random
  // With DTLS: its rules, or null. `cookie_secret` is the same on all workers of the port.
  std::shared_ptr<const DtlsContext> dtls;
  DtlsLimits dtls_limits;
  HelloCookies::Secret cookie_secret{};
};

// The records of a device stay in order because they run on the worker that owns the device. The
// kernel may deliver a datagram to another worker's socket; it then crosses to the owner. The
// answer leaves through the owner's own socket, which has the same address and port.
//
// A DTLS session stays on the worker whose socket receives its datagrams: there it is decrypted and
// encrypted, and both the requests and their answers cross in plain text.
//
// Thread safety: owned by one worker. Deletes itself when its handles are closed.
class CoapEndpoint final : public ReceiptHolder,
                           public CommandCarrier,
                           private coap::DatagramHandler,
                           private DtlsHandler {
 public:
  // Takes ownership of the descriptor.
  CoapEndpoint(CoapHost* host, uv_loop_t* loop, int fd, CounterBlock* counters,
               const CoapEndpointOptions& options);
  CoapEndpoint(const CoapEndpoint&) = delete;
  CoapEndpoint& operator=(const CoapEndpoint&) = delete;

  // Returns the result of the initialization: 0, or libuv's error, after which nothing is received.
  int error() const { return error_; }

  void StopReading() { uv_poll_stop(&poll_); }
  // Watches the socket again if an error ended that. To be called several times a second.
  void KeepReading() {
    if (!uv_is_active(reinterpret_cast<uv_handle_t*>(&poll_))) Poll();
  }

  // Uses this context for new DTLS handshakes. No effect without DTLS.
  void RenewDtls(std::shared_ptr<const DtlsContext> context) {
    if (dtls_ != nullptr) dtls_->SetContext(std::move(context));
  }

  // Processes datagrams that another worker passed on.
  void OnCrossed(const CrossedDatagrams& datagrams);

  // ReceiptHolder
  void Acknowledge(uint64_t handle) override;
  void Withhold(uint64_t handle) override;
  // Sends pending datagrams.
  void Flush() override;

  // CommandCarrier
  CommandStart SendCommand(uint64_t id, const Command& command) override;

  bool Listens(std::string_view device) const { return server_.Listens(device); }

  // Stops receiving and sending, and closes the socket.
  void Close();

  uint32_t stage() const { return options_.stage; }
  size_t memory_bytes() const { return server_.memory_bytes(); }
  // Returns the peer of the datagram being processed, or null; with DTLS, its session.
  const coap::Peer* at_hand() const { return at_hand_; }
  // True if the DTLS session of the datagram being processed has proven its device id.
  bool proves() const { return !proven_.empty(); }

 private:
  ~CoapEndpoint() override = default;

  // coap::DatagramHandler
  coap::Answer OnRecord(const coap::Incoming& incoming) override;
  void OnCommandAnswer(uint64_t id, uint8_t result) override;
  bool MayBe(std::string_view device) override;
  bool MayObserve(std::string_view device) override;
  void OnObserved(std::string_view device, bool on) override;
  void Send(const coap::Peer& peer, std::string_view datagram) override;

  // DtlsHandler
  void SendSealed(const coap::Peer& address, std::string_view datagram) override;
  void OnOpened(const coap::Peer& session, const coap::Peer& address, std::string_view device,
                std::span<const uint8_t> message) override;
  void OnEnded(const coap::Peer& session, std::string_view device) override;
  std::string HostOf(const coap::Peer& address) override;

  void Poll();
  void OnReadable();
  uint32_t WorkerFor(const coap::Route& route) const;
  // Handles a datagram here, or passes it to the worker that owns its device.
  void Deliver(const coap::Peer& peer, std::string_view device, std::span<const uint8_t> datagram,
               bool multicast);
  void OnRead(const coap::Peer& peer, std::string_view device, bool multicast);
  std::string_view PartFor(std::string_view proven) const;
  void CrossAll();
  void ArmTimer();
  void OnTime();
  void Count();
  void CountDtls();
  void HandleClosed();

  CoapHost* const host_;
  CounterBlock* const counters_;
  const CoapEndpointOptions options_;
  CoapSocket socket_;
  coap::DatagramServer server_;
  std::unique_ptr<DtlsServer> dtls_;        // null without DTLS
  coap::DatagramCounters counted_;          // part of the server's counters that is in counters_
  DtlsCounters dtls_counted_;               // the same of dtls_
  std::vector<CrossedDatagrams> crossing_;  // by worker, of the current turn
  const coap::Peer* at_hand_ = nullptr;
  std::string_view proven_;  // the device of at_hand_'s session; empty = none
  uv_poll_t poll_;
  uv_timer_t timer_;
  int64_t armed_us_ = kNever;
  int64_t now_us_ = 0;  // of the current datagrams or acknowledgements
  bool acknowledging_ = false;
  int open_handles_ = 2;
  int error_ = 0;
  bool closing_ = false;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_COAP_ENDPOINT_H_
