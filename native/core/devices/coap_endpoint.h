// The CoAP devices of a source over UDP, on one worker: a socket and the server behind it.
#ifndef SEGANET_CORE_DEVICES_COAP_ENDPOINT_H_
#define SEGANET_CORE_DEVICES_COAP_ENDPOINT_H_

#include <uv.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/counters.h"
#include "core/devices/agent_session.h"
#include "core/devices/coap_socket.h"
#include "core/devices/command_table.h"
#include "core/devices/receipt_table.h"
#include "core/protocol/coap/datagram/datagram_server.h"

namespace seganet {

class CoapEndpoint;

// Datagrams that one worker's socket received for another worker.
struct CrossedDatagrams {
  struct Entry {
    coap::Peer peer;
    uint32_t size;
  };
  std::vector<Entry> entries;
  std::string bytes;  // of all entries, concatenated
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
  // True if a connection has proven this device id, so its commands must not go over datagrams.
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
};

// The records of a device stay in order because they run on the worker that owns the device. The
// kernel may deliver a datagram to another worker's socket; it then crosses to the owner. The
// answer leaves through the owner's own socket, which has the same address and port.
//
// Thread safety: owned by one worker. Deletes itself when its handles are closed.
class CoapEndpoint final : public ReceiptHolder,
                           public CommandCarrier,
                           private coap::DatagramHandler {
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

  // Processes datagrams of this worker's devices that another worker received.
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
  // Returns the peer of the datagram being processed, or null.
  const coap::Peer* at_hand() const { return at_hand_; }

 private:
  ~CoapEndpoint() override = default;

  // coap::DatagramHandler
  coap::Answer OnRecord(const coap::Incoming& incoming) override;
  void OnCommandAnswer(uint64_t id, uint8_t result) override;
  bool MayObserve(std::string_view device) override;
  void OnObserved(std::string_view device, bool on) override;
  void Send(const coap::Peer& peer, std::string_view datagram) override;

  void Poll();
  void OnReadable();
  uint32_t WorkerFor(const coap::Route& route) const;
  void OnRead(const coap::Peer& peer, bool multicast);
  void ArmTimer();
  void OnTime();
  void Count();
  void HandleClosed();

  CoapHost* const host_;
  CounterBlock* const counters_;
  const CoapEndpointOptions options_;
  CoapSocket socket_;
  coap::DatagramServer server_;
  coap::DatagramCounters counted_;          // part of the server's counters that is in counters_
  std::vector<CrossedDatagrams> crossing_;  // by worker, of the current turn
  const coap::Peer* at_hand_ = nullptr;
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
