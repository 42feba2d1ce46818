#include "core/devices/coap_socket.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "core/base/require.h"
#include "core/devices/coap_address.h"
#include "core/reception/listener.h"

namespace seganet {
namespace {

// A burst of all devices waits in this buffer until the worker's turn; the system may allow less
// (net.core.rmem_max).
constexpr int kReceiveBytes = 1 << 20;

#ifdef __linux__
using Message = mmsghdr;
msghdr& Head(Message& message) { return message.msg_hdr; }
#else
struct Message {
  msghdr msg_hdr;
  unsigned msg_len;
};
msghdr& Head(Message& message) { return message.msg_hdr; }

// Sends and receives one by one where the system has no call for several messages.
int recvmmsg(int fd, Message* messages, unsigned n, int flags, void*) {
  unsigned done = 0;
  for (; done < n; ++done) {
    const ssize_t got = recvmsg(fd, &messages[done].msg_hdr, flags);
    if (got < 0) break;
    messages[done].msg_len = static_cast<unsigned>(got);
  }
  return done > 0 ? static_cast<int>(done) : -1;
}
int sendmmsg(int fd, Message* messages, unsigned n, int flags) {
  unsigned done = 0;
  while (done < n && sendmsg(fd, &messages[done].msg_hdr, flags) >= 0) ++done;
  return done > 0 ? static_cast<int>(done) : -1;
}
#endif

// Returns a socket bound to *address, and sets the port of *address to the bound one.
int Bind(int family, sockaddr* address, socklen_t length, bool share) {
  const int fd = OpenSocket(family, SOCK_DGRAM);
  if (fd < 0) return -1;
  const int on = 1;
  if (share) setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kReceiveBytes, sizeof kReceiveBytes);
  AskForNearEnd(fd, family);
  socklen_t got = length;
  if (bind(fd, address, length) == 0 && getsockname(fd, address, &got) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

// Binds the first socket without SO_REUSEPORT and allows sharing only afterwards. If all sockets
// shared from the beginning, a second gateway could bind the port too and would get half of the
// devices.
bool BindAll(const addrinfo& found, size_t count, std::vector<int>* fds, uint16_t* port) {
  sockaddr_storage address{};
  std::memcpy(&address, found.ai_addr, found.ai_addrlen);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  while (fds->size() < count) {
    const int fd = Bind(found.ai_family, generic, found.ai_addrlen, !fds->empty());
    if (fd < 0) break;
    fds->push_back(fd);
    const int on = 1;
    if (fds->size() < count) setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  }
  if (fds->size() == count) {
    *port = ntohs(found.ai_family == AF_INET6
                      ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                      : reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
    return true;
  }
  const int error = errno;
  for (int fd : *fds) close(fd);
  fds->clear();
  errno = error;
  return false;
}

}  // namespace

Status OpenDatagramSockets(const std::string& host, uint16_t port, size_t count,
                           std::vector<int>* fds, uint16_t* bound_port) {
  SEGANET_REQUIRE(count > 0);
  const std::string where = host + ":" + std::to_string(port);
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV | AI_NUMERICHOST;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    return Status::System("cannot listen on " + where + ": " + gai_strerror(error), EADDRNOTAVAIL);
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> free_found(found, &freeaddrinfo);
  fds->clear();
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    if (BindAll(*address, count, fds, bound_port)) return {};
  }
  const int cause = errno;
  return Status::System("cannot listen on " + where + ": " + std::strerror(cause), cause);
}

// The buffers of the system calls.
struct CoapSocket::Buffers {
  std::array<Message, kBatch> messages;
  std::array<iovec, kBatch> vectors;
  std::array<sockaddr_storage, kBatch> addresses;
  std::array<NearEndControl, kBatch> controls;
  std::array<std::array<uint8_t, kMaxDatagramBytes>, kBatch> bytes;
};

CoapSocket::CoapSocket(int fd) : fd_(fd), buffers_(std::make_unique<Buffers>()) {}

CoapSocket::~CoapSocket() { Close(); }

void CoapSocket::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

std::span<const ReceivedDatagram> CoapSocket::Receive() {
  for (size_t i = 0; i < kBatch; ++i) {
    buffers_->vectors[i] = {buffers_->bytes[i].data(), kMaxDatagramBytes};
    msghdr& head = Head(buffers_->messages[i]);
    head = {};
    head.msg_name = &buffers_->addresses[i];
    head.msg_namelen = sizeof buffers_->addresses[i];
    head.msg_iov = &buffers_->vectors[i];
    head.msg_iovlen = 1;
    head.msg_control = buffers_->controls[i].bytes;
    head.msg_controllen = sizeof buffers_->controls[i].bytes;
  }
  const int n = recvmmsg(fd_, buffers_->messages.data(), kBatch, 0, nullptr);
  const size_t count = n < 0 ? 0 : static_cast<size_t>(n);
  for (size_t i = 0; i < count; ++i) {
    ReceivedDatagram& datagram = received_[i];
    datagram.peer = PeerOf(Head(buffers_->messages[i]), &datagram.multicast);
    datagram.bytes = {buffers_->bytes[i].data(), buffers_->messages[i].msg_len};
  }
  return {received_.data(), count};
}

void CoapSocket::Send(const coap::Peer& peer, std::string_view datagram) {
  queue_.push_back({peer, datagram.size()});
  bytes_.append(datagram);
}

size_t CoapSocket::Flush() {
  size_t lost = 0;
  size_t begin = 0;
  char* at = bytes_.data();
  while (begin < queue_.size()) {
    const size_t count = std::min(kBatch, queue_.size() - begin);
    char* from = at;
    for (size_t i = 0; i < count; ++i) {
      const Queued& queued = queue_[begin + i];
      buffers_->vectors[i] = {from, queued.size};
      from += queued.size;
      msghdr& head = Head(buffers_->messages[i]);
      head = {};
      Address(queued.peer, &buffers_->addresses[i], &buffers_->controls[i], &head);
      head.msg_iov = &buffers_->vectors[i];
      head.msg_iovlen = 1;
    }
    const int n = sendmmsg(fd_, buffers_->messages.data(), static_cast<unsigned>(count), 0);
    if (n < 0 && errno == EINTR) continue;
    // The first message failed: no buffer space, no route, or forbidden. The next one may succeed.
    const size_t past = n > 0 ? static_cast<size_t>(n) : 1;
    if (n <= 0) ++lost;
    for (size_t i = 0; i < past; ++i) at += queue_[begin + i].size;
    begin += past;
  }
  queue_.clear();
  bytes_.clear();
  return lost;
}

}  // namespace seganet
