// The plain publisher: the cost of an MQTT session over TLS for a minimal C++ program. It has one
// TLS 1.3 session with QoS 1 and sends messages of --payload bytes from memory, with up to --window
// unacknowledged, at --rate per second or at the broker's maximum. Prints one JSON object.
//
// --coalesce 0: one write (a TLS record) per message. 1: one write for all messages that may be
// sent, once half of the window is free, or with --rate once per --tick-us. --device N stamps the
// payloads as loadgen's device N, so that the sink can detect loss and order. Exit code 1: the
// session broke, or messages were not acknowledged within --drain seconds. It prints the JSON even
// then.

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <cmath>

#include "../common/clock.h"
#include "../common/mqtt.h"
#include "../common/options.h"
#include "../common/record.h"
#include "../common/tls.h"

namespace bench {
namespace {

struct CpuTimes {
  double user, sys;
};

CpuTimes Cpu() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return {seconds(usage.ru_utime), seconds(usage.ru_stime)};
}

class Publisher {
 public:
  explicit Publisher(const Options& o)
      : window_(static_cast<uint64_t>(o.Integer("window", 1, 60000))),
        rate_(o.Number("rate", 0, 1e7)),
        end_us_(static_cast<int64_t>(o.Number("seconds", 0.01, 3600) * 1e6)),
        drain_us_(static_cast<int64_t>(o.Number("drain", 0, 600) * 1e6)),
        tick_us_(o.Integer("tick-us", 0, 1000000)),
        coalesce_(o.Integer("coalesce", 0, 1) == 1),
        device_(o.Integer("device", -1, 49999)),
        payload_bytes_(static_cast<size_t>(o.Integer("payload", 0, 1 << 20))),
        topic_(o.Text("topic")) {
    payload_.assign(payload_bytes_, 'x');
    if (topic_.empty()) topic_ = "d/" + DeviceId(std::max<int64_t>(device_, 0)) + "/t";
  }

  bool Connect(const Options& o) {
    SSL_CTX* context = tls::Context(o.Text("ca"));
    if (context == nullptr) {
      std::fprintf(stderr, "cpub: --ca: cannot read '%s'\n", o.Text("ca").c_str());
      return false;
    }
    std::string connect;
    mqtt::AppendConnect(connect, o.Text("client-id"), true, 0);
    char answer[16];
    int got = 0;
    if (session_.Connect(context, o.Text("host"),
                         static_cast<uint16_t>(o.Integer("port", 1, 65535))) &&
        session_.Write(connect)) {
      while (got == 0) got = session_.Read(answer, sizeof answer);
    }
    if (got == 4 && answer[0] == 0x20 && answer[3] == 0) return true;
    std::fprintf(stderr, "cpub: the broker did not accept the session\n");
    return false;
  }

  // Runs the load. Returns false if the session broke.
  bool Run() {
    const CpuTimes before = Cpu();
    start_us_ = NowUs();
    bool whole = Send();
    // The cost of messages includes their acknowledgements, also those of the last window.
    const int64_t last_us = NowUs() + drain_us_;
    while (whole && acked_ < sent_ && NowUs() < last_us) whole = Receive(10);
    const CpuTimes after = Cpu();
    seconds_ = static_cast<double>(NowUs() - start_us_) / 1e6;
    cpu_ = {after.user - before.user, after.sys - before.sys};
    return whole;
  }

  bool complete() const { return acked_ == sent_; }

  void Print() const {
    const double messages = static_cast<double>(std::max<uint64_t>(acked_, 1));
    std::printf(
        "{\"sent\":%llu,\"acked\":%llu,\"unacked\":%llu,\"seconds\":%.6f,\"perSecond\":%.1f,"
        "\"cpuUs\":%.3f,\"userUs\":%.3f,\"sysUs\":%.3f,\"writes\":%llu,\"bytes\":%llu}\n",
        static_cast<unsigned long long>(sent_), static_cast<unsigned long long>(acked_),
        static_cast<unsigned long long>(sent_ - acked_), seconds_,
        static_cast<double>(acked_) / seconds_, (cpu_.user + cpu_.sys) * 1e6 / messages,
        cpu_.user * 1e6 / messages, cpu_.sys * 1e6 / messages,
        static_cast<unsigned long long>(writes_), static_cast<unsigned long long>(bytes_));
  }

 private:
  bool Send() {
    while (true) {
      const int64_t elapsed_us = NowUs() - start_us_;
      if (elapsed_us >= end_us_) return true;
      uint64_t free = window_ - (sent_ - acked_);
      if (rate_ > 0) free = std::min(free, Due(elapsed_us) - sent_);
      // Writes half of the window at a time: the other half is in flight, so neither side waits.
      const uint64_t least = coalesce_ && rate_ == 0 ? (window_ + 1) / 2 : 1;
      if (free < least) {
        if (!Receive(WaitMs(elapsed_us))) return false;
        continue;
      }
      if (coalesce_) {
        out_.clear();
        for (; free > 0; --free) Append(out_);
        if (!Write()) return false;
      } else {
        for (; free > 0; --free) {
          out_.clear();
          Append(out_);
          if (!Write()) return false;
        }
      }
      if (!Receive(0)) return false;
    }
  }

  // Returns the number of messages that should have been sent by now.
  uint64_t Due(int64_t elapsed_us) const {
    if (tick_us_ > 0) elapsed_us -= elapsed_us % tick_us_;
    return std::max(sent_, static_cast<uint64_t>(static_cast<double>(elapsed_us) * rate_ / 1e6));
  }

  // Returns the milliseconds until the next message is due at the rate; without a rate, the longest
  // wait for an acknowledgement.
  double WaitMs(int64_t elapsed_us) const {
    if (rate_ == 0 || sent_ - acked_ >= window_) return 100;
    double next_us = static_cast<double>(sent_ + 1) * 1e6 / rate_;
    if (tick_us_ > 0) {
      next_us = std::ceil(next_us / static_cast<double>(tick_us_)) * static_cast<double>(tick_us_);
    }
    return std::clamp((next_us - static_cast<double>(elapsed_us)) / 1000, 0.001, 100.0);
  }

  void Append(std::string& out) {
    if (device_ >= 0) {
      Record record;
      record.device = static_cast<uint32_t>(device_);
      record.seq = static_cast<uint32_t>(sent_);
      record.intended_us = NowUs();
      payload_.resize(std::max(payload_bytes_, kMaxFields));
      payload_.resize(static_cast<size_t>(WritePayload(payload_.data(), record, payload_bytes_) -
                                          payload_.data()));
    }
    // 1 to 60,001: more than the window, so an id is free when it is used again.
    mqtt::AppendPublish(out, topic_, payload_, static_cast<uint16_t>(sent_ % 60001 + 1), false);
    ++sent_;
  }

  bool Write() {
    ++writes_;
    bytes_ += out_.size();
    return session_.Write(out_);
  }

  // Waits up to `wait_ms` for acknowledgements and counts them.
  bool Receive(double wait_ms) {
    if (!session_.pending()) {
      pollfd wait{session_.fd(), POLLIN, 0};
      const auto ns = static_cast<long>(wait_ms * 1e6);
      timespec timeout{ns / 1000000000, ns % 1000000000};
      if (ppoll(&wait, 1, &timeout, nullptr) <= 0) return true;
    }
    char buffer[16384];
    int got = session_.Read(buffer, sizeof buffer);
    if (got < 0) return false;
    in_.append(buffer, static_cast<size_t>(got));
    std::string_view rest = in_;
    mqtt::Packet packet;
    mqtt::Parsed parsed;
    while ((parsed = mqtt::Parse(rest, &packet)) == mqtt::Parsed::kPacket) {
      rest.remove_prefix(packet.size);
      if (packet.type == mqtt::kPuback) ++acked_;
    }
    in_.erase(0, in_.size() - rest.size());
    return parsed != mqtt::Parsed::kBad;
  }

  const uint64_t window_;
  const double rate_;  // 0 = limited only by the window
  const int64_t end_us_;
  const int64_t drain_us_;
  const int64_t tick_us_;
  const bool coalesce_;
  const int64_t device_;  // -1 = payloads are not stamped
  const size_t payload_bytes_;
  std::string topic_;
  tls::Session session_;
  std::string payload_;
  std::string in_;
  std::string out_;
  int64_t start_us_ = 0;
  uint64_t sent_ = 0;
  uint64_t acked_ = 0;
  uint64_t writes_ = 0;
  uint64_t bytes_ = 0;
  double seconds_ = 0;
  CpuTimes cpu_{0, 0};
};

int Main(int argc, char** argv) {
  Options options({{"host", "127.0.0.1"},
                   {"port", "8883"},
                   {"ca", ""},
                   {"client-id", "bench-cpub"},
                   {"topic", ""},
                   {"payload", "200"},
                   {"window", "64"},
                   {"seconds", "5"},
                   {"rate", "0"},
                   {"tick-us", "0"},
                   {"coalesce", "0"},
                   {"device", "-1"},
                   {"drain", "5"}},
                  argc, argv);
  signal(SIGPIPE, SIG_IGN);
  Publisher publisher(options);
  if (!publisher.Connect(options)) return 1;
  const bool whole = publisher.Run();
  publisher.Print();
  if (!whole) std::fprintf(stderr, "cpub: the session broke\n");
  return whole && publisher.complete() ? 0 : 1;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return bench::Main(argc, argv); }
