// The kernel's CPU time for the steps that every gateway makes: the lower bound of a message.
// Prints one JSON object: ns of CPU time for each step, the least of five runs.
//
//   sendRecv    send() and recv() of --bytes on a loopback TCP connection
//   epollReady  epoll_wait() that finds a socket ready
//   wakeUp      a thread that sleeps in epoll_wait() wakes up, and the thread that woke it sleeps
//               (half of the cost of both)
//   clock       clock_gettime(CLOCK_REALTIME)
//   systemCall  getppid(): into the kernel and back

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "../common/clock.h"
#include "../common/options.h"

namespace bench {
namespace {

// Creates the two ends of a loopback TCP connection.
void Pair(int (&ends)[2]) {
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener, 1) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      connect(ends[0], reinterpret_cast<sockaddr*>(&address), size) != 0) {
    std::perror("sysbench: socket");
    std::exit(1);
  }
  ends[1] = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  close(listener);
  int one = 1;
  for (int end : ends) setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

int Poll(int fd) {
  int poll = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
  return poll;
}

void Check(bool good) {
  if (good) return;
  std::perror("sysbench");
  std::exit(1);
}

// Returns the ns of this process's CPU time per step, the least of five runs, because cache misses
// caused by other programs only add time.
template <typename Step>
double Cost(int times, Step step) {
  double least = 1e9;
  for (int run = 0; run < 5; ++run) {
    const double before = CpuSeconds();
    for (int i = 0; i < times; ++i) step();
    least = std::min(least, (CpuSeconds() - before) * 1e9 / times);
  }
  return least;
}

double SendRecv(size_t bytes, int times) {
  int ends[2];
  Pair(ends);
  std::string data(bytes, 'x');
  const auto size = static_cast<ssize_t>(bytes);
  return Cost(times, [&] {
    Check(send(ends[0], data.data(), data.size(), 0) == size);
    Check(recv(ends[1], data.data(), data.size(), MSG_WAITALL) == size);
  });
}

double EpollReady(int times) {
  int ends[2];
  Pair(ends);
  Check(send(ends[0], "x", 1, 0) == 1);
  int poll = Poll(ends[1]);
  return Cost(times, [&] {
    epoll_event event;
    Check(epoll_wait(poll, &event, 1, 1000) == 1);
  });
}

// Two threads pass an event back and forth: each pass wakes one thread, and the other sleeps.
double WakeUp(int times) {
  int mine = eventfd(0, EFD_CLOEXEC);
  int other = eventfd(0, EFD_CLOEXEC);
  auto pass = [](int poll, int from, int to) {
    epoll_event event;
    uint64_t value = 1;
    while (epoll_wait(poll, &event, 1, 1000) == 0) {
    }
    Check(read(from, &value, sizeof value) == sizeof value);
    Check(write(to, &value, sizeof value) == sizeof value);
  };
  std::thread partner([&, times] {
    int poll = Poll(other);
    for (int i = 0; i < times * 5; ++i) pass(poll, other, mine);
  });
  int poll = Poll(mine);
  uint64_t value = 1;
  const double cost = Cost(times, [&] {
    Check(write(other, &value, sizeof value) == sizeof value);
    epoll_event event;
    while (epoll_wait(poll, &event, 1, 1000) == 0) {
    }
    Check(read(mine, &value, sizeof value) == sizeof value);
  });
  partner.join();
  return cost / 2;
}

int Main(int argc, char** argv) {
  Options options({{"bytes", "200"}, {"times", "20000"}}, argc, argv);
  const auto bytes = static_cast<size_t>(options.Integer("bytes", 1, 16384));
  const int times = static_cast<int>(options.Integer("times", 100, 10000000));
  timespec now;
  const double send_recv = SendRecv(bytes, times);
  const double epoll_ready = EpollReady(times);
  const double wake_up = WakeUp(times / 4);
  const double clock = Cost(times * 10, [&] { clock_gettime(CLOCK_REALTIME, &now); });
  const double system_call = Cost(times, [] { syscall(SYS_getppid); });
  std::printf(
      "{\"bytes\":%zu,\"sendRecv\":%.1f,\"epollReady\":%.1f,\"wakeUp\":%.1f,\"clock\":%.1f,"
      "\"systemCall\":%.1f}\n",
      bytes, send_recv, epoll_ready, wake_up, clock, system_call);
  return 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return bench::Main(argc, argv); }
