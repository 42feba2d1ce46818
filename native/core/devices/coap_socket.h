// A UDP socket whose datagrams know both of their ends.
#ifndef SEGANET_CORE_DEVICES_COAP_SOCKET_H_
#define SEGANET_CORE_DEVICES_COAP_SOCKET_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/protocol/coap/peer.h"

namespace seganet {

// Opens `count` non-blocking sockets on the same host (name or address) and port (0 = any free
// one); the port that they got goes to `*bound_port`, the descriptors to `*fds`. The kernel gives
// each far end to one of them (SO_REUSEPORT). EADDRINUSE when somebody else has the port, who may
// share it or not. REQUIRES: count > 0.
Status OpenDatagramSockets(const std::string& host, uint16_t port, size_t count,
                           std::vector<int>* fds, uint16_t* bound_port);

// The far end's address and port, for people: 192.0.2.7:5683, [2001:db8::7]:5683.
std::string FarEnd(const coap::Peer& peer);

struct ReceivedDatagram {
  coap::Peer peer;
  std::span<const uint8_t> bytes;  // until the next Receive
  bool multicast = false;          // sent to a group, or to all
};

// Receives and sends in batches: a system call costs several times what a message does.
//
// Thread safety: owned by one worker.
class CoapSocket {
 public:
  static constexpr size_t kBatch = 32;
  // Longer datagrams arrive cut off at this size, which is over any limit of CoAP's (RFC 7252 4.6).
  static constexpr size_t kMaxDatagramBytes = 2048;

  // Takes over the descriptor.
  explicit CoapSocket(int fd);
  ~CoapSocket();
  CoapSocket(const CoapSocket&) = delete;
  CoapSocket& operator=(const CoapSocket&) = delete;

  // The port is free at once; nothing is received or sent from now on.
  void Close();

  // What has arrived, at most kBatch; empty = nothing more.
  std::span<const ReceivedDatagram> Receive();

  // Leaves with the next Flush, from the address that the peer had sent to.
  void Send(const coap::Peer& peer, std::string_view datagram);

  // Returns how many the system did not take; they are lost, as datagrams may be.
  size_t Flush();

 private:
  struct Slots;
  struct Queued {
    coap::Peer peer;
    size_t size;
  };

  int fd_;  // -1 = closed
  const std::unique_ptr<Slots> slots_;
  std::array<ReceivedDatagram, kBatch> received_;
  std::vector<Queued> queue_;
  std::string bytes_;  // of the queue, one after the other
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_COAP_SOCKET_H_
