// The baseline of the SegaNet paper: a gateway with an agent per device. A small acceptor reads a
// device's CONNECT and hands the connection to the device's agent (agent.h), which is a thread, or
// with --processes 1 a process. Ends on SIGTERM.

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <map>
#include <memory>
#include <vector>

#include "../common/listen.h"
#include "../common/options.h"
#include "agent.h"
#include "hand_over.h"

namespace bench {
namespace {

volatile sig_atomic_t stopped = 0;

constexpr size_t kThreadStackBytes = 256 << 10;
constexpr size_t kPending = 1024;  // connections without a complete CONNECT

class Gateway {
 public:
  Gateway(const AgentOptions& agent, SSL_CTX* context, bool processes, int listener)
      : agent_(agent), context_(context), processes_(processes), listener_(listener) {}

  void Run() {
    while (!stopped) {
      std::vector<pollfd> wait = {
          {listener_, static_cast<short>(pending_.size() < kPending ? POLLIN : 0), 0}};
      for (const auto& [fd, bytes] : pending_) wait.push_back({fd, POLLIN, 0});
      if (poll(wait.data(), wait.size(), 1000) <= 0) continue;
      for (size_t i = 1; i < wait.size(); ++i) {
        if (wait[i].revents != 0) Read(wait[i].fd);
      }
      if (wait[0].revents != 0) Accept();
    }
    for (pid_t pid : children_) kill(pid, SIGTERM);
    for (pid_t pid : children_) waitpid(pid, nullptr, 0);
  }

  size_t agents() const { return agents_.size(); }

 private:
  void Accept() {
    int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) {
      std::perror("agents: accept");
      poll(nullptr, 0, 100);  // out of descriptors: an immediate retry would fail
      return;
    }
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    pending_[fd];
  }

  void Read(int fd) {
    char buffer[4096];
    ssize_t got = recv(fd, buffer, sizeof buffer, 0);
    std::string& bytes = pending_[fd];
    if (got > 0) bytes.append(buffer, static_cast<size_t>(got));
    mqtt::Packet packet;
    mqtt::Parsed parsed = got > 0 ? mqtt::Parse(bytes, &packet) : mqtt::Parsed::kBad;
    if (parsed == mqtt::Parsed::kMore && bytes.size() < kHandedBytes) return;
    std::string device = parsed == mqtt::Parsed::kPacket ? ClientId(packet) : "";
    if (!device.empty() && bytes.size() <= kHandedBytes) HandOver(AgentOf(device), fd, bytes);
    close(fd);
    pending_.erase(fd);
  }

  // Returns '' if the packet is not a CONNECT of MQTT 3.1.1, or has no client id.
  static std::string ClientId(const mqtt::Packet& packet) {
    if (packet.type != mqtt::kConnect || packet.body.size() < 12) return "";
    if (packet.body.substr(0, 7) != std::string_view("\0\4MQTT\4", 7)) return "";
    return std::string(packet.body.substr(12, packet.U16(10)));
  }

  // Returns the acceptor's end of the agent's hand-over socket; starts the agent if necessary.
  int AgentOf(const std::string& device) {
    auto known = agents_.find(device);
    if (known != agents_.end()) return known->second;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
      std::perror("agents: socketpair");
      std::exit(1);
    }
    AgentOptions options = agent_;
    options.device = device;
    if (processes_) {
      StartProcess(options, pair);
    } else {
      StartThread(options, pair[1]);
    }
    agents_[device] = pair[0];
    return pair[0];
  }

  void StartProcess(const AgentOptions& options, const int (&pair)[2]) {
    const pid_t parent = getpid();
    pid_t pid = fork();
    if (pid < 0) {
      std::perror("agents: fork");
      std::exit(1);
    }
    if (pid > 0) {
      children_.push_back(pid);
      close(pair[1]);
      return;
    }
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(0);
    close(pair[0]);
    close(listener_);
    for (const auto& [fd, bytes] : pending_) close(fd);
    for (const auto& [name, fd] : agents_) close(fd);
    Agent(options, context_, pair[1]).Run();
    _exit(0);
  }

  void StartThread(const AgentOptions& options, int hand_over) {
    auto agent = std::make_unique<Agent>(options, context_, hand_over);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kThreadStackBytes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    auto run = [](void* argument) -> void* {
      static_cast<Agent*>(argument)->Run();
      return nullptr;
    };
    pthread_t thread;
    if (int error = pthread_create(&thread, &attributes, run, agent.get()); error != 0) {
      errno = error;
      std::perror("agents: pthread_create");
      std::exit(1);
    }
    pthread_attr_destroy(&attributes);
    agent.release();  // lives until the process ends
  }

  const AgentOptions agent_;
  SSL_CTX* const context_;
  const bool processes_;
  const int listener_;
  std::map<int, std::string> pending_;
  std::map<std::string, int> agents_;
  std::vector<pid_t> children_;
};

int Main(int argc, char** argv) {
  Options options({{"host", "127.0.0.1"},
                   {"port", "1883"},
                   {"broker-host", "127.0.0.1"},
                   {"broker-port", "8883"},
                   {"ca", ""},
                   {"window", "1024"},
                   {"processes", "0"}},
                  argc, argv);
  struct sigaction action {};
  action.sa_handler = [](int) { stopped = 1; };
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);

  AgentOptions agent;
  agent.host = options.Text("broker-host");
  agent.port = static_cast<uint16_t>(options.Integer("broker-port", 1, 65535));
  agent.window = static_cast<size_t>(options.Integer("window", 1, 60000));
  SSL_CTX* context = tls::Context(options.Text("ca"));
  if (context == nullptr) {
    std::fprintf(stderr, "agents: --ca: cannot read '%s'\n", options.Text("ca").c_str());
    return 1;
  }
  int listener =
      Listen(options.Text("host"), static_cast<uint16_t>(options.Integer("port", 1, 65535)), 0);
  Gateway gateway(agent, context, options.Integer("processes", 0, 1) == 1, listener);
  gateway.Run();
  std::printf("{\"agents\":%zu}\n", gateway.agents());
  std::fflush(stdout);
  _exit(0);  // the agents' threads still run, so no destructor may run
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return bench::Main(argc, argv); }
