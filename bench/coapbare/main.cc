// Measures the capacity of the load generator: a CoAP server over TCP that only answers every
// request with 2.04 and --response-bytes. One thread, epoll, ends on SIGTERM.

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <unordered_map>

#include "../common/clock.h"
#include "../common/coap.h"
#include "../common/options.h"

namespace {

volatile sig_atomic_t stopped = 0;

struct Client {
  std::string in;
};

// Answers a client. Returns false if the connection must be closed.
bool Serve(int fd, Client* client, const std::string& body, uint64_t* requests) {
  char buffer[65536];
  const ssize_t n = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (n <= 0) return false;
  client->in.append(buffer, static_cast<size_t>(n));
  std::string out;
  size_t used = 0;
  bench::coap::Message message;
  for (;;) {
    const auto parsed = bench::coap::Parse(std::string_view(client->in).substr(used), &message);
    if (parsed == bench::coap::Parsed::kBad) return false;
    if (parsed == bench::coap::Parsed::kMore) break;
    used += message.size;
    if (message.code >> 5 == 7) continue;
    bench::coap::Append(out, bench::coap::kChanged, message.token, body);
    ++*requests;
  }
  client->in.erase(0, used);
  // Blocking is acceptable here: the load generator always reads.
  return out.empty() ||
         send(fd, out.data(), out.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(out.size());
}

}  // namespace

int main(int argc, char** argv) {
  bench::Options options({{"host", "127.0.0.1"}, {"port", "5683"}, {"response-bytes", "87"}}, argc,
                         argv);
  bench::RaiseFileLimit(16384);
  struct sigaction action {};
  action.sa_handler = [](int) { stopped = 1; };
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  // A message has length, length extension, code, a token of four bytes, and the payload marker.
  const auto wanted = static_cast<size_t>(options.Integer("response-bytes", 7, 270));
  const std::string body = wanted > 8 ? "\xFF" + std::string(wanted - 8, 'x') : "";

  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int one = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(options.Integer("port", 1, 65535)));
  inet_pton(AF_INET, options.Text("host").c_str(), &address.sin_addr);
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener, 4096) != 0) {
    std::perror("coapbare: listen");
    return 1;
  }
  const int poll = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = listener;
  epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
  std::unordered_map<int, Client> clients;
  uint64_t requests = 0;
  epoll_event events[256];
  while (!stopped) {
    const int n = epoll_wait(poll, events, 256, 1000);
    for (int i = 0; i < n; ++i) {
      const int fd = events[i].data.fd;
      if (fd == listener) {
        const int client = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        if (client < 0) continue;
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        std::string greeting;
        bench::coap::Append(greeting, bench::coap::kCsm, {}, {});
        (void)!send(client, greeting.data(), greeting.size(), MSG_NOSIGNAL);
        clients[client] = {};
        event.data.fd = client;
        epoll_ctl(poll, EPOLL_CTL_ADD, client, &event);
      } else if (!Serve(fd, &clients[fd], body, &requests)) {
        clients.erase(fd);
        close(fd);
      }
    }
  }
  std::printf("{\"requests\":%llu,\"cpuSeconds\":%f}\n", static_cast<unsigned long long>(requests),
              bench::CpuSeconds());
  return 0;
}
