// Measures what devices and their messages cost a worker: a whole engine with one worker, devices
// over loopback, and a consumer that acknowledges every batch. Prints, per message, the CPU time of
// the worker's thread, its wake-ups and the process's allocations; and the memory per connection.
//
//   worker_bench DEVICES MESSAGES_PER_SECOND SECONDS [MESSAGES_PER_WRITE]
//
// With a rate of 0, the devices stay silent; with -1, each sends as soon as it gets an answer. By
// default every 20th message of a device is an alarm (class 1). With URGENT=N in the environment,
// the first N devices send alarms only, and the others none. It prints how long alarms took from
// the device's send to the cloud. With BEHIND=N, each connection is a bridge that speaks for N
// devices in turn; 0 = the source has a bridge, but none of these connections is one.
//
// VALUES_MIB=N keeps the last values of the topics.
#include <arpa/inet.h>
#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bench/cloud.h"
#include "bench/measure.h"
#include "core/base/clock.h"
#include "core/runtime/engine.h"
#include "test/support/mqtt_bytes.h"

namespace {

using namespace seganet;

constexpr uint32_t kSource = 1, kPriority = 2, kBatch = 3, kUplink = 4;
constexpr size_t kAlarmEvery = 20;
constexpr size_t kPayloadBytes = 200;
constexpr unsigned kWindow = 64;  // unacknowledged messages per device

// Added to times in payloads, so that all have the same number of digits.
constexpr int64_t kTimeBase = 1'000'000'000'000;

// Returns when an alarm was sent (Publish), us; 0 if the batch has none.
int64_t AlarmSentUs(std::string_view batch) {
  constexpr std::string_view kBefore = "\"k\":1,\"t\":";
  const size_t at = batch.find(kBefore);
  return at == std::string_view::npos ? 0
                                      : std::atoll(batch.data() + at + kBefore.size()) - kTimeBase;
}

// The latencies of the alarms that the cloud has taken. Thread safety: any member from any thread.
class Latencies {
 public:
  void Add(const Batch& batch) {
    if (batch.record_class != kCritical) return;
    const int64_t sent_us = AlarmSentUs(batch.bytes);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (sent_us != 0) latencies_.push_back(MonotonicUs() - sent_us);
  }
  // Returns those since the last call, ascending, us.
  std::vector<int64_t> Take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<int64_t> all = std::exchange(latencies_, {});
    std::sort(all.begin(), all.end());
    return all;
  }

 private:
  std::mutex mutex_;
  std::vector<int64_t> latencies_;  // guarded by mutex_
};

struct Client {
  int fd = -1;
  std::string id;
  size_t alarm_every = kAlarmEvery;  // 0 = never
  size_t behind = 0;                 // devices behind it
  uint32_t sent = 0;
  uint32_t acknowledged = 0;
};

Client Connect(uint16_t port, size_t number) {
  Client device;
  device.id = "dev-" + std::to_string(number);
  device.fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  setsockopt(device.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  mqtt_test::ConnectFields fields;
  fields.keep_alive = 600;
  fields.payload = mqtt_test::Str(device.id);
  const std::string hello = mqtt_test::ConnectPacket(fields);
  char answer[4];
  if (connect(device.fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      send(device.fd, hello.data(), hello.size(), 0) < 0 ||
      recv(device.fd, answer, sizeof answer, MSG_WAITALL) != 4) {
    std::perror("connect");
    std::exit(1);
  }
  return device;
}

void TakeAnswers(Client* device) {
  char answers[4096];
  const ssize_t n = recv(device->fd, answers, sizeof answers, MSG_DONTWAIT);
  if (n > 0) device->acknowledged += static_cast<uint32_t>(n / 4);
}

// Sends `n` messages in one write.
void Publish(Client* device, size_t n, std::string* buffer) {
  buffer->clear();
  for (size_t i = 0; i < n; ++i) {
    const uint32_t number = ++device->sent;
    const bool alarm = device->alarm_every != 0 && number % device->alarm_every == 0;
    std::string id = device->id;
    if (device->behind > 0) id.append("/").append(std::to_string(number % device->behind));
    const size_t topic_bytes = 2 + id.size() + (alarm ? 6 : 2);
    const size_t body = 2 + topic_bytes + 2 + kPayloadBytes;
    buffer->push_back(0x32);
    buffer->push_back(static_cast<char>((body & 0x7F) | 0x80));
    buffer->push_back(static_cast<char>(body >> 7));
    buffer->push_back(0);
    buffer->push_back(static_cast<char>(topic_bytes));
    buffer->append("d/").append(id).append(alarm ? "/alarm" : "/t");
    const uint32_t packet_id = number % 65535 + 1;
    buffer->push_back(static_cast<char>(packet_id >> 8));
    buffer->push_back(static_cast<char>(packet_id & 0xFF));
    char head[64];
    const int size =
        std::snprintf(head, sizeof head, "{\"n\":%u,\"k\":%d,\"t\":%lld,\"x\":\"", number,
                      alarm ? 1 : 0, static_cast<long long>(kTimeBase + MonotonicUs()));
    buffer->append(head, static_cast<size_t>(size));
    buffer->append(kPayloadBytes - static_cast<size_t>(size) - 2, 'x').append("\"}");
  }
  if (send(device->fd, buffer->data(), buffer->size(), MSG_NOSIGNAL) < 0) std::perror("send");
}

double CpuUs(int tid) {
  // The CPU clock of another thread (man 2 clock_getres; pthread_getcpuclockid computes the same).
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(tid) << 3) | 6);
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

struct CpuSplit {
  double user_s = 0, system_s = 0, switches = 0;
};

CpuSplit SplitOf(int tid) {
  const std::string task = "/proc/self/task/" + std::to_string(tid);
  CpuSplit split;
  std::ifstream stat(task + "/stat");
  std::string field;
  for (int i = 1; i <= 15 && stat >> field; ++i) {
    const double tick = static_cast<double>(sysconf(_SC_CLK_TCK));
    if (i == 14) split.user_s = std::stod(field) / tick;
    if (i == 15) split.system_s = std::stod(field) / tick;
  }
  std::ifstream status(task + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("voluntary")) split.switches = std::stod(line.substr(line.find(':') + 1));
  }
  return split;
}

double RssKb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS")) return std::stod(line.substr(6));
  }
  return 0;
}

std::vector<StageSpec> PlanSpecs() {
  std::vector<StageSpec> plan(4);
  plan[0].id = kSource;
  plan[0].next = {kPriority};
  plan[1].id = kPriority;
  plan[1].kind = StageKind::kPriority;
  plan[1].rules = {{"d/+/alarm", "", 1}, {"d/+/high", "", 2}, {"d/+/bulk", "", 4}};
  if (const char* behind = std::getenv("BEHIND")) {
    plan[0].source.bridges = {{std::atoi(behind) > 0 ? "*" : "none", "d/+/{device}/#", ""}};
  }
  plan[1].default_class = 3;
  plan[1].next = {kBatch};
  plan[2].id = kBatch;
  plan[2].kind = StageKind::kBatch;
  plan[2].batcher.flush = BatchFlush::kAdaptive;
  plan[2].batcher.max_bytes = kMaxAdaptiveBytes;
  plan[2].next = {kUplink};
  plan[3].id = kUplink;
  plan[3].kind = StageKind::kUplink;
  return plan;
}

class NoBell : public Doorbell {
  void Call() override {}
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr,
                 "usage: worker_bench DEVICES MESSAGES_PER_SECOND SECONDS [MESSAGES_PER_WRITE]\n");
    return 2;
  }
  const auto count = static_cast<size_t>(std::atoll(argv[1]));
  const double rate = std::atof(argv[2]);
  const double seconds = std::min(60.0, std::atof(argv[3]));
  const auto a_write = static_cast<size_t>(argc > 4 ? std::atoi(argv[4]) : 1);
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);

  NoBell bell;
  Engine engine(&bell);
  EngineOptions options;
  options.workers = 1;
  options.acknowledge = Acknowledge::kSafe;
  if (const char* wake = std::getenv("WAKE_US")) {
    options.wake_interval_us = static_cast<uint32_t>(std::atoi(wake));
  }
  if (const char* values = std::getenv("VALUES_MIB")) {
    options.values.memory_mib = static_cast<uint32_t>(std::atoi(values));
  }
  ListenSpec listening;
  listening.host = "127.0.0.1";
  uint16_t port = 0;
  if (!engine.Start(options).ok() || !engine.ApplyPlan(PlanSpecs()).ok() ||
      !engine.Listen(kSource, listening, &port).ok()) {
    std::fprintf(stderr, "the engine did not start\n");
    return 1;
  }
  const int tid = engine.Workers()[0].tid;
  {
    Latencies latencies;
    bench::Cloud cloud(engine.LanesOf(0), [&](const Batch& batch) { latencies.Add(batch); });
    std::vector<Client> devices;
    devices.reserve(count);
    std::string buffer;
    devices.push_back(Connect(port, 0));
    Publish(&devices[0], 1, &buffer);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    TakeAnswers(&devices[0]);
    const double rss = RssKb();
    const auto heap = static_cast<double>(mallinfo2().uordblks);
    while (devices.size() < count) devices.push_back(Connect(port, devices.size()));
    if (const char* behind = std::getenv("BEHIND")) {
      for (Client& device : devices) device.behind = static_cast<size_t>(std::atoi(behind));
    }
    if (const char* urgent = std::getenv("URGENT")) {
      const auto alarms = static_cast<size_t>(std::atoi(urgent));
      for (size_t i = 0; i < count; ++i) devices[i].alarm_every = i < alarms ? 1 : 0;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    if (count > 1) {
      const auto more = static_cast<double>(count - 1);
      std::printf("per silent connection: %.0f B of heap, %.2f kB of RSS\n",
                  (static_cast<double>(mallinfo2().uordblks) - heap) / more,
                  (RssKb() - rss) / more);
    }
    uint64_t sent = 0;
    size_t next = 0;
    latencies.Take();
    const uint64_t records = cloud.records, batches = cloud.batches, allocated = allocations;
    const double cpu = CpuUs(tid);
    const CpuSplit split = SplitOf(tid);
    const int64_t start = MonotonicUs();
    for (int64_t now = start; now - start < static_cast<int64_t>(seconds * 1e6);
         now = MonotonicUs()) {
      const double due =
          rate < 0 ? 1e18
                   : static_cast<double>(now - start) * rate / 1e6 - static_cast<double>(sent);
      if (due < static_cast<double>(a_write)) {
        std::this_thread::sleep_for(std::chrono::microseconds(rate == 0 ? 50'000 : 300));
        continue;
      }
      Client& device = devices[next++ % devices.size()];
      TakeAnswers(&device);
      if (device.sent - device.acknowledged + a_write > kWindow) {
        if (rate < 0 && next % devices.size() == 0) std::this_thread::yield();
        if (rate < 0) continue;
        sent += a_write;  // skipped
        continue;
      }
      Publish(&device, a_write, &buffer);
      sent += a_write;
    }
    const double passed_s = static_cast<double>(MonotonicUs() - start) / 1e6;
    const CpuSplit after = SplitOf(tid);
    const double used = CpuUs(tid) - cpu;
    const auto came = static_cast<double>(cloud.records - records);
    std::printf("%.0f records/s, worker %.3f cores (user %.3f, system %.3f), %.0f wake-ups/s\n",
                came / passed_s, used / 1e6 / passed_s, (after.user_s - split.user_s) / passed_s,
                (after.system_s - split.system_s) / passed_s,
                (after.switches - split.switches) / passed_s);
    if (came > 0) {
      std::printf("per record: %.3f us of the worker, %.3f allocations; %.1f records per batch\n",
                  used / came, static_cast<double>(allocations - allocated) / came,
                  came / static_cast<double>(cloud.batches - batches));
    }
    if (const std::vector<int64_t> took = latencies.Take(); !took.empty()) {
      std::printf("%zu alarms: p50 %lld us, p99 %lld us\n", took.size(),
                  static_cast<long long>(took[took.size() / 2]),
                  static_cast<long long>(took[took.size() * 99 / 100]));
    }
    std::printf("RSS %.0f kB\n", RssKb());
    for (const Client& device : devices) close(device.fd);
  }
  engine.Close();
  return 0;
}
