// Receives and counts the gateway's deliveries: see tally.h. Subscribes to the cloud broker's plain
// loopback listener, so that the figures include no TLS towards the harness.
//
// Standard output, one JSON object per line: {"event":"ready"} after each SUBACK,
// {"event":"progress"} every half second, the result without its streams at the end. Ends on
// SIGTERM, SIGINT or after --max-seconds.

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "../common/clock.h"
#include "../common/mqtt.h"
#include "../common/options.h"
#include "tally.h"

namespace bench {
namespace {

volatile sig_atomic_t stopped = 0;

class Sink {
 public:
  Sink(const Options& options, const TallyOptions& tally) : options_(options), tally_(tally) {}

  ~Sink() {
    if (fd_ >= 0) close(fd_);
  }

  // Connects if there is no connection; otherwise waits up to 100 ms for bytes and counts them.
  // Returns the time.
  int64_t Step() {
    if (fd_ < 0 && !Connect()) {
      poll(nullptr, 0, 50);
      return NowUs();
    }
    if (in_.size() - held_ < kRead) in_.resize(held_ + kRead);
    const ssize_t got = recv(fd_, in_.data() + held_, in_.size() - held_, 0);
    const int64_t now_us = NowUs();
    if (got > 0) {
      held_ += static_cast<size_t>(got);
      if (!Consume(now_us)) Disconnect();
    } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
      Disconnect();
    }
    return now_us;
  }

  const Tally& tally() const { return tally_; }
  uint64_t connection_losses() const { return connection_losses_; }

 private:
  bool Connect() {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int one = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    const timeval wait{0, 100000};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(options_.Integer("port", 1, 65535)));
    inet_pton(AF_INET, options_.Text("host").c_str(), &address.sin_addr);
    std::string out;
    // Keep-alive 0: the sink only receives, and loopback has no half-open connections.
    mqtt::AppendConnect(out, options_.Text("client-id"), options_.Integer("clean", 0, 1) == 1, 0);
    mqtt::AppendSubscribe(out, 1, Filters(), static_cast<uint8_t>(options_.Integer("qos", 0, 1)));
    if (connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 && Send(out)) {
      return true;
    }
    close(fd_);
    fd_ = -1;
    return false;
  }

  void Disconnect() {
    close(fd_);
    fd_ = -1;
    held_ = 0;
    ++connection_losses_;
  }

  bool Send(const std::string& out) {
    return send(fd_, out.data(), out.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(out.size());
  }

  // Counts every complete packet in in_. Returns false if the connection is unusable.
  bool Consume(int64_t now_us) {
    const std::string_view prefix = EnvelopePrefix();
    out_.clear();
    std::string_view rest(in_.data(), held_);
    mqtt::Packet packet;
    while (true) {
      mqtt::Parsed parsed = mqtt::Parse(rest, &packet);
      if (parsed == mqtt::Parsed::kBad) return false;
      if (parsed == mqtt::Parsed::kMore) break;
      rest.remove_prefix(packet.size);
      if (packet.type == mqtt::kConnack) {
        if (packet.body.size() != 2 || packet.body[1] != 0) return false;
      } else if (packet.type == mqtt::kSuback) {
        std::puts("{\"event\":\"ready\"}");
        std::fflush(stdout);
      } else if (packet.type == mqtt::kPublish) {
        mqtt::Publish publish;
        if (!mqtt::ParsePublish(packet, &publish)) return false;
        if (publish.qos == 1) mqtt::AppendPuback(out_, publish.packet_id);
        tally_.AddPublish(publish.topic, publish.payload, publish.topic.starts_with(prefix),
                          publish.dup, now_us);
      }
    }
    // The rest is the start of a packet, if any.
    held_ = rest.size();
    std::memmove(in_.data(), rest.data(), held_);
    return out_.empty() || Send(out_);
  }

  std::string_view EnvelopePrefix() const {
    std::string_view filter = options_.Text("envelopes");
    return filter.substr(0, filter.find_first_of("#+"));
  }

  // Returns the filter of envelopes and the comma-separated filters of records.
  std::vector<std::string_view> Filters() const {
    std::vector<std::string_view> filters = {options_.Text("envelopes")};
    std::string_view rest = options_.Text("records");
    while (!rest.empty()) {
      const size_t end = std::min(rest.find(','), rest.size());
      filters.push_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return filters;
  }

  static constexpr size_t kRead = 1 << 18;  // free space for each read

  const Options& options_;
  Tally tally_;
  int fd_ = -1;
  std::vector<char> in_;
  size_t held_ = 0;  // bytes in it
  std::string out_;
  uint64_t connection_losses_ = 0;
};

int Main(int argc, char** argv) {
  Options options({{"host", "127.0.0.1"},
                   {"port", "1884"},
                   {"client-id", "bench-sink"},
                   {"clean", "1"},
                   {"qos", "1"},
                   {"envelopes", "gw/#"},
                   {"records", "d/#,telegraf/#"},
                   {"skip-ms", "0"},
                   {"step-seconds", "0"},
                   {"histograms", "0"},
                   {"history-suffix", ""},
                   {"samples", ""},
                   {"sample-every", "100"},
                   {"max-seconds", "600"},
                   {"out", ""}},
                  argc, argv);
  struct sigaction action {};
  action.sa_handler = [](int) { stopped = 1; };
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);

  TallyOptions tally;
  tally.skip_us = options.Integer("skip-ms", 0, 3600000) * 1000;
  tally.step_us = static_cast<int64_t>(options.Number("step-seconds", 0, 3600) * 1e6);
  tally.histograms = options.Integer("histograms", 0, 1) == 1;
  tally.history_suffix = options.Text("history-suffix");
  tally.sample_every = static_cast<uint32_t>(options.Integer("sample-every", 1, 1e9));
  if (!options.Text("samples").empty()) {
    tally.samples = std::fopen(options.Text("samples").c_str(), "w");
    if (tally.samples == nullptr) {
      std::perror("sink: --samples");
      return 1;
    }
  }
  Sink sink(options, tally);
  const int64_t end_us = NowUs() + options.Integer("max-seconds", 1, 36000) * 1000000;
  int64_t progress_us = NowUs();
  for (int64_t now_us = NowUs(); !stopped && now_us < end_us;) {
    now_us = sink.Step();
    if (now_us < progress_us) continue;
    progress_us = now_us + 500000;
    std::printf("{\"event\":\"progress\",\"records\":%llu,\"unique\":%llu,\"historical\":%llu}\n",
                static_cast<unsigned long long>(sink.tally().records()),
                static_cast<unsigned long long>(sink.tally().unique()),
                static_cast<unsigned long long>(sink.tally().historical()));
    std::fflush(stdout);
  }

  std::string tail = ",\"connectionLosses\":" + std::to_string(sink.connection_losses()) +
                     ",\"cpuSeconds\":" + std::to_string(CpuSeconds()) + "}";
  auto close_with_tail = [&](std::string json) {
    json.pop_back();
    return json + tail;
  };
  if (tally.samples != nullptr && std::fclose(tally.samples) != 0) {
    std::perror("sink: --samples");
    return 1;
  }
  if (!options.Text("out").empty()) {
    std::FILE* file = std::fopen(options.Text("out").c_str(), "w");
    std::string json = close_with_tail(sink.tally().Json(true));
    if (file == nullptr || std::fwrite(json.data(), 1, json.size(), file) != json.size() ||
        std::fclose(file) != 0) {
      std::perror("sink: --out");
      return 1;
    }
  }
  std::puts(close_with_tail(sink.tally().Json(false)).c_str());
  return 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return bench::Main(argc, argv); }
