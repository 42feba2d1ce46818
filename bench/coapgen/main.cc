// CoAP over TCP, as in the IoTivity Cloud paper's test: devices, each with a connection of its own,
// post at random times (a Poisson process each), whatever the server answers: open loop.
//
// Standard output: {"event":"start","us":…} when sending begins, the result as one JSON object at
// the end. Exit code 1 when the devices could not connect.

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <deque>
#include <memory>
#include <queue>
#include <random>
#include <vector>

#include "../common/clock.h"
#include "../common/coap.h"
#include "../common/histogram.h"
#include "../common/options.h"
#include "../common/record.h"

namespace bench {
namespace {

volatile sig_atomic_t stopped = 0;

struct Settings {
  sockaddr_in server{};
  uint32_t devices = 0;
  double rate = 0;  // requests a second, of all devices together
  double seconds = 0;
  double drain_seconds = 0;
  size_t request_bytes = 0;
  size_t window = 0;  // unanswered requests of a device, at most; what is due beyond waits
};

struct Totals {
  uint64_t sent = 0;
  uint64_t answered = 0;
  uint64_t refused = 0;  // an answer that is no 2.04
  uint64_t unknown = 0;  // an answer to nothing
  uint64_t lost_connections = 0;
  uint64_t request_bytes = 0;
  uint64_t response_bytes = 0;
  Histogram answer_us;    // intended to answered
  Histogram round_us;     // written to answered
  Histogram send_lag_us;  // intended to written
};

class Device {
 public:
  Device(uint32_t number, const Settings& settings, Totals& totals)
      : number_(number), settings_(settings), totals_(totals) {}
  ~Device() {
    if (fd_ >= 0) close(fd_);
  }

  bool Connect(int epoll) {
    epoll_ = epoll;
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd_ < 0 || connect(fd_, reinterpret_cast<const sockaddr*>(&settings_.server),
                           sizeof settings_.server) != 0) {
      return false;
    }
    const int one = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    // RFC 8323, 5.3: the first message is a CSM. An empty one has all defaults.
    coap::Append(out_, coap::kCsm, {}, {});
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u32 = number_;
    return epoll_ctl(epoll_, EPOLL_CTL_ADD, fd_, &event) == 0 && Flush();
  }

  void AddDue(int64_t intended_us) { due_.push_back(intended_us); }

  bool Pump() {
    bool added = false;
    while (!due_.empty() && flights_.size() < settings_.window) {
      Post(due_.front());
      due_.pop_front();
      added = true;
    }
    return !added || Flush();
  }

  bool OnEvents(uint32_t events) {
    if ((events & EPOLLOUT) != 0 && !Flush()) return false;
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) return true;
    char buffer[65536];
    const ssize_t n = recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (n <= 0) return false;
    in_.append(buffer, static_cast<size_t>(n));
    return Answers() && Pump();
  }

  bool settled() const { return due_.empty() && flights_.empty(); }
  uint64_t unsent() const { return due_.size(); }
  uint32_t issued() const { return seq_; }
  // Sequence numbers without an answer.
  std::string Unanswered() const {
    std::string text;
    for (const Flight& flight : flights_) {
      const std::string seq = std::to_string(flight.seq);
      text += (text.empty() ? "[" : ",[") + seq + "," + seq + "]";
    }
    return text;
  }

 private:
  struct Flight {
    uint32_t seq;
    int64_t intended_us;
    int64_t sent_us;
  };

  void Post(int64_t intended_us) {
    Record record;
    record.device = number_;
    record.seq = seq_;
    record.intended_us = intended_us;
    body_.clear();
    uint8_t last = 0;
    coap::AppendOption(body_, &last, coap::kUriPath, "d");
    coap::AppendOption(body_, &last, coap::kUriPath, DeviceId(number_));
    coap::AppendOption(body_, &last, coap::kUriPath, "t");
    body_.push_back('\xFF');
    constexpr size_t kHead = 2 + 1 + 4;  // lengths, code, token
    const size_t used = kHead + body_.size();
    const size_t wanted = settings_.request_bytes > used ? settings_.request_bytes - used : 0;
    const size_t before_payload = body_.size();
    body_.resize(before_payload + std::max(wanted, kMaxFields));
    char* const payload = body_.data() + before_payload;
    body_.resize(static_cast<size_t>(WritePayload(payload, record, wanted) - body_.data()));
    char token[4];
    for (int i = 0; i < 4; ++i) token[i] = static_cast<char>(seq_ >> (8 * i));
    const size_t before = out_.size();
    coap::Append(out_, coap::kPost, {token, 4}, body_);
    totals_.request_bytes += out_.size() - before;
    const int64_t now_us = NowUs();
    flights_.push_back({seq_++, intended_us, now_us});
    totals_.send_lag_us.Add(now_us - intended_us);
    ++totals_.sent;
  }

  bool Answers() {
    size_t used = 0;
    coap::Message message;
    for (;;) {
      const coap::Parsed parsed = coap::Parse(std::string_view(in_).substr(used), &message);
      if (parsed == coap::Parsed::kBad) return false;
      if (parsed == coap::Parsed::kMore) break;
      used += message.size;
      if (message.code >> 5 == 7) continue;  // signalling
      totals_.response_bytes += message.size;
      Answered(message);
    }
    in_.erase(0, used);
    return true;
  }

  void Answered(const coap::Message& message) {
    uint32_t seq = 0;
    for (size_t i = 0; i < message.token.size() && i < 4; ++i) {
      seq |= static_cast<uint32_t>(static_cast<uint8_t>(message.token[i])) << (8 * i);
    }
    for (auto it = flights_.begin(); it != flights_.end(); ++it) {
      if (it->seq != seq) continue;
      const int64_t now_us = NowUs();
      totals_.answer_us.Add(now_us - it->intended_us);
      totals_.round_us.Add(now_us - it->sent_us);
      if (message.code == coap::kChanged) {
        ++totals_.answered;
      } else {
        ++totals_.refused;
      }
      flights_.erase(it);
      return;
    }
    ++totals_.unknown;
  }

  bool Flush() {
    const ssize_t n =
        out_.empty() ? 0 : send(fd_, out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (n > 0) out_.erase(0, static_cast<size_t>(n));
    if (out_.empty() == waits_) {
      waits_ = !out_.empty();
      epoll_event event{};
      event.events = EPOLLIN | (waits_ ? static_cast<uint32_t>(EPOLLOUT) : 0u);
      event.data.u32 = number_;
      epoll_ctl(epoll_, EPOLL_CTL_MOD, fd_, &event);
    }
    return true;
  }

  const uint32_t number_;
  const Settings& settings_;
  Totals& totals_;
  int fd_ = -1;
  int epoll_ = -1;
  bool waits_ = false;
  uint32_t seq_ = 0;
  std::string in_, out_, body_;
  std::deque<int64_t> due_;
  std::deque<Flight> flights_;
};

class Load {
 public:
  explicit Load(const Settings& settings, uint64_t seed)
      : settings_(settings), random_(seed), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    for (uint32_t i = 0; i < settings_.devices; ++i) {
      devices_.push_back(std::make_unique<Device>(i, settings_, totals_));
    }
  }

  bool ConnectAll() {
    for (auto& device : devices_) {
      if (!device->Connect(epoll_)) return false;
    }
    return true;
  }

  void Run() {
    const int64_t start_us = NowUs() + 200'000;
    end_us_ = start_us + std::llround(settings_.seconds * 1e6);
    std::printf("{\"event\":\"start\",\"us\":%lld}\n", static_cast<long long>(start_us));
    std::fflush(stdout);
    for (uint32_t i = 0; i < settings_.devices; ++i) Schedule(i, start_us);
    while (!stopped && (!times_.empty() || !Settled())) {
      const int64_t now_us = NowUs();
      if (now_us > end_us_ + std::llround(settings_.drain_seconds * 1e6)) break;
      while (!times_.empty() && times_.top().first <= now_us) {
        const auto [at_us, number] = times_.top();
        times_.pop();
        devices_[number]->AddDue(at_us);
        if (!devices_[number]->Pump()) ++totals_.lost_connections;
        Schedule(number, at_us);
      }
      Wait(times_.empty() ? 5000 : std::clamp<int64_t>(times_.top().first - NowUs(), 0, 5000));
      if (end_answered_ == 0 && NowUs() >= end_us_) end_answered_ = totals_.answered;
    }
    if (end_answered_ == 0) end_answered_ = totals_.answered;
  }

  std::string Json() const {
    uint64_t unsent = 0;
    for (const auto& device : devices_) unsent += device->unsent();
    const Totals& t = totals_;
    const auto field = [](const char* name, uint64_t value) {
      return "\"" + std::string(name) + "\":" + std::to_string(value) + ",";
    };
    const auto mean = [](uint64_t sum, uint64_t n) { return n == 0 ? 0 : (sum + n / 2) / n; };
    std::string out = "{" + field("devices", devices_.size()) + field("sent", t.sent) +
                      field("answered", t.answered) + field("answeredInTime", end_answered_) +
                      field("refused", t.refused) + field("unsent", unsent) +
                      field("unknown", t.unknown) + field("connectionLosses", t.lost_connections) +
                      field("requestBytes", mean(t.request_bytes, t.sent)) +
                      field("responseBytes", mean(t.response_bytes, t.answered + t.refused)) +
                      "\"seconds\":" + std::to_string(settings_.seconds) +
                      ",\"answerUs\":" + t.answer_us.Json() + ",\"roundUs\":" + t.round_us.Json() +
                      ",\"sendLagUs\":" + t.send_lag_us.Json() +
                      ",\"cpuSeconds\":" + std::to_string(CpuSeconds()) + ",\"streams\":[";
    for (size_t i = 0; i < devices_.size(); ++i) {
      out += (i > 0 ? ",{\"device\":" : "{\"device\":") + std::to_string(i) +
             ",\"kind\":0,\"issued\":" + std::to_string(devices_[i]->issued()) + ",\"unacked\":[" +
             devices_[i]->Unanswered() + "]}";
    }
    return out + "]}";
  }

 private:
  // Knuth: the time to the next event is -ln(p) / λ.
  void Schedule(uint32_t number, int64_t after_us) {
    const double p = std::generate_canonical<double, 53>(random_);
    const double gap_us = -std::log(1 - p) * 1e6 * settings_.devices / settings_.rate;
    const int64_t at_us = after_us + std::llround(gap_us);
    if (at_us < end_us_) times_.emplace(at_us, number);
  }

  bool Settled() const {
    for (const auto& device : devices_) {
      if (!device->settled()) return false;
    }
    return true;
  }

  void Wait(int64_t timeout_us) {
    epoll_event events[256];
    const timespec timeout{timeout_us / 1000000, timeout_us % 1000000 * 1000};
    const int n = epoll_pwait2(epoll_, events, 256, &timeout, nullptr);
    for (int i = 0; i < n; ++i) {
      const uint32_t number = events[i].data.u32;
      if (!devices_[number]->OnEvents(events[i].events)) {
        ++totals_.lost_connections;
        stopped = 1;  // none may be lost: the run is over
      }
    }
  }

  using Time = std::pair<int64_t, uint32_t>;
  const Settings settings_;
  std::mt19937_64 random_;
  const int epoll_;
  Totals totals_;
  int64_t end_us_ = 0;
  uint64_t end_answered_ = 0;
  std::vector<std::unique_ptr<Device>> devices_;
  std::priority_queue<Time, std::vector<Time>, std::greater<>> times_;
};

int Main(int argc, char** argv) {
  Options options({{"host", "127.0.0.1"},
                   {"port", "5683"},
                   {"devices", "100"},
                   {"rate", "15000"},
                   {"seconds", "30"},
                   {"drain", "20"},
                   {"request-bytes", "109"},
                   {"window", "64"},
                   {"seed", "1"},
                   {"out", ""}},
                  argc, argv);
  Settings settings;
  settings.server.sin_family = AF_INET;
  settings.server.sin_port = htons(static_cast<uint16_t>(options.Integer("port", 1, 65535)));
  if (inet_pton(AF_INET, options.Text("host").c_str(), &settings.server.sin_addr) != 1) {
    std::fprintf(stderr, "--host must be an IPv4 address\n");
    return 2;
  }
  settings.devices = static_cast<uint32_t>(options.Integer("devices", 1, 20000));
  settings.rate = options.Number("rate", 1, 1e7);
  settings.seconds = options.Number("seconds", 0.1, 600);
  settings.drain_seconds = options.Number("drain", 0, 600);
  settings.request_bytes = static_cast<size_t>(options.Integer("request-bytes", 0, 60000));
  settings.window = static_cast<size_t>(options.Integer("window", 1, 60000));
  RaiseFileLimit(settings.devices + 64);
  struct sigaction action {};
  action.sa_handler = [](int) { stopped = 1; };
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);

  Load load(settings, static_cast<uint64_t>(options.Integer("seed", 0, 1e9)));
  if (!load.ConnectAll()) {
    std::perror("coapgen: not every device could connect");
    return 1;
  }
  load.Run();
  const std::string json = load.Json();
  if (options.Text("out").empty()) {
    std::puts(json.c_str());
    return 0;
  }
  std::FILE* file = std::fopen(options.Text("out").c_str(), "w");
  if (file == nullptr || std::fwrite(json.data(), 1, json.size(), file) != json.size() ||
      std::fclose(file) != 0) {
    std::perror("coapgen: --out");
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return bench::Main(argc, argv); }
