#include "pair.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace bench {
namespace {

constexpr size_t kWaiting = 1 << 18;  // most bytes held for a side that does not accept them
constexpr size_t kPart = 1 << 16;     // bytes read at once

}  // namespace

void Traffic::Add(const Traffic& other) {
  bytes += other.bytes;
  records += other.records;
  data += other.data;
  segments += other.segments;
  ip_bytes += other.ip_bytes;
  broken = broken || other.broken;
}

std::string Traffic::Json() const {
  return "{\"bytes\":" + std::to_string(bytes) + ",\"records\":" + std::to_string(records) +
         ",\"data\":" + std::to_string(data) + ",\"segments\":" + std::to_string(segments) +
         ",\"ipBytes\":" + std::to_string(ip_bytes) + ",\"broken\":" + (broken ? "true" : "false") +
         "}";
}

Pair::Pair(int epoll, int client, int broker)
    : epoll_(epoll), client_(client, true, this), broker_(broker, false, this) {
  for (Side* side : {&client_, &broker_}) {
    int one = 1;
    setsockopt(side->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    epoll_event event{};
    event.data.ptr = side;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, side->fd, &event);
  }
  // Reads nothing from the client until the broker's socket is writable, that is connected.
  broker_.wanted = EPOLLOUT;
  epoll_event event{};
  event.events = EPOLLOUT;
  event.data.ptr = &broker_;
  epoll_ctl(epoll_, EPOLL_CTL_MOD, broker_.fd, &event);
}

Pair::~Pair() { Close(); }

bool Pair::OnEvents(bool of_client, uint32_t events) {
  if (!open()) return true;
  Side& side = of_client ? client_ : broker_;
  Side& other = of_client ? broker_ : client_;
  bool alive = true;
  if ((events & EPOLLOUT) != 0) alive = Write(side);
  if (alive && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) alive = Read(side, other);
  // Forwards the end of a stream after all bytes before it.
  alive = alive && !(side.ended && other.waiting.empty()) && !(other.ended && side.waiting.empty());
  if (!alive) {
    Close();
    return false;
  }
  Want(side, other);
  Want(other, side);
  return true;
}

bool Pair::Read(Side& from, Side& to) {
  static char buffer[kPart];
  const ssize_t got = recv(from.fd, buffer, sizeof buffer, 0);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0) {
    from.ended = true;
    return true;
  }
  const std::string_view bytes(buffer, static_cast<size_t>(got));
  from.said.Add(bytes);
  to.waiting.append(bytes);
  return Write(to);
}

bool Pair::Write(Side& to) {
  size_t done = 0;
  while (done < to.waiting.size()) {
    const ssize_t n = send(to.fd, to.waiting.data() + done, to.waiting.size() - done, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EAGAIN) return false;
    if (n < 0) break;
    done += static_cast<size_t>(n);
  }
  to.waiting.erase(0, done);
  return true;
}

void Pair::Want(Side& side, const Side& other) {
  uint32_t wanted = 0;
  if (!side.ended && other.waiting.size() < kWaiting) wanted |= EPOLLIN;
  if (!side.waiting.empty()) wanted |= EPOLLOUT;
  if (wanted == side.wanted) return;
  side.wanted = wanted;
  epoll_event event{};
  event.events = wanted;
  event.data.ptr = &side;
  epoll_ctl(epoll_, EPOLL_CTL_MOD, side.fd, &event);
}

void Pair::Close() {
  if (!open()) return;
  ReadSegments();
  close(client_.fd);
  close(broker_.fd);
  client_.fd = broker_.fd = -1;
}

// tcp(7) and linux/tcp.h: counts segments even if the kernel passes on several in one buffer.
void Pair::ReadSegments() {
  if (!open()) return;
  tcp_info info{};
  socklen_t length = sizeof info;
  if (getsockopt(client_.fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return;
  segments_in_ = info.tcpi_segs_in;
  segments_out_ = info.tcpi_segs_out;
  // IPv4 20, TCP 20, TCP time stamps 12.
  header_bytes_ = (info.tcpi_options & TCPI_OPT_TIMESTAMPS) != 0 ? 52 : 40;
}

Traffic Pair::Of(const RecordCounter& counter, uint64_t segments) const {
  return {counter.bytes(),
          counter.records(),
          counter.data(),
          segments,
          counter.bytes() + segments * header_bytes_,
          counter.broken()};
}

}  // namespace bench
