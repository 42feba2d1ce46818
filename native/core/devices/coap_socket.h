// A UDP socket that knows the local and the remote address of each datagram.
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

// Opens `count` non-blocking sockets on the same host (a numeric address) and port (0 = any free
// port). Returns the port in `*bound_port` and the descriptors in `*fds`. The kernel assigns each
// remote address to one of them (SO_REUSEPORT). Fails with EADDRINUSE if another process has the
// port, whether that process shares it or not. REQUIRES: count > 0.
Status OpenDatagramSockets(const std::string& host, uint16_t port, size_t count,
                           std::vector<int>* fds, uint16_t* bound_port);

// Returns the remote address and port for display: 192.0.2.7:5683, [2001:db8::7]:5683.
std::string FarEnd(const coap::Peer& peer);

struct ReceivedDatagram {
  coap::Peer peer;
  std::span<const uint8_t> bytes;  // valid until the next Receive
  bool multicast = false;          // sent to a group or broadcast address
};

// Receives and sends in batches: a system call costs several times as much as a message.
//
// Thread safety: owned by one worker.
class CoapSocket {
 public:
  static constexpr size_t kBatch = 32;
  // Longer datagrams are truncated to this size, which exceeds any limit of CoAP (RFC 7252 4.6).
  static constexpr size_t kMaxDatagramBytes = 2048;

  // Takes ownership of the descriptor.
  explicit CoapSocket(int fd);
  ~CoapSocket();
  CoapSocket(const CoapSocket&) = delete;
  CoapSocket& operator=(const CoapSocket&) = delete;

  // Closes the socket, which frees the port at once. Nothing is received or sent afterwards.
  void Close();

  // Returns the datagrams that have arrived, at most kBatch; empty = none.
  std::span<const ReceivedDatagram> Receive();

  // Queues a datagram for the next Flush. It leaves from the local address that the peer had sent
  // to.
  void Send(const coap::Peer& peer, std::string_view datagram);

  // Sends the queue. Returns how many datagrams the system did not accept; they are lost.
  size_t Flush();

 private:
  struct Buffers;
  struct Queued {
    coap::Peer peer;
    size_t size;
  };

  int fd_;  // -1 = closed
  const std::unique_ptr<Buffers> buffers_;
  std::array<ReceivedDatagram, kBatch> received_;
  std::vector<Queued> queue_;
  std::string bytes_;  // of the queue, concatenated
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_COAP_SOCKET_H_
