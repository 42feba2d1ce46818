// Helpers shared by several tests of the core.
#ifndef SEGANET_TEST_SUPPORT_SUPPORT_H_
#define SEGANET_TEST_SUPPORT_SUPPORT_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/doorbell.h"
#include "core/queue/batcher.h"
#include "core/queue/lanes.h"
#include "core/record/record.h"

namespace seganet::test {

// The example of W3C Trace Context, 3.2.3.
inline constexpr std::string_view kParent =
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

// In µs.
inline constexpr int64_t kMs = 1000;
inline constexpr int64_t kSecond = 1'000'000;

inline std::string Hex(std::string_view bytes) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string hex;
  for (const char c : bytes) {
    hex += kHex[static_cast<uint8_t>(c) >> 4];
    hex += kHex[c & 15];
  }
  return hex;
}

// Random numbers of one test. A failure below it shows the seed; SEGANET_SEED=n repeats the run.
class Random {
 public:
  Random() : Random(PickSeed()) {}

  // Uniform in [low, high].
  template <typename T>
  T In(T low, T high) {
    return std::uniform_int_distribution<T>(low, high)(engine_);
  }
  bool OneIn(int n) { return In(1, n) == 1; }
  std::string Bytes(size_t size) {
    std::string bytes(size, '\0');
    for (char& c : bytes) c = static_cast<char>(In(0, 255));
    return bytes;
  }
  // `size` characters of `alphabet`.
  std::string Text(size_t size, std::string_view alphabet) {
    std::string text(size, '\0');
    for (char& c : text) c = alphabet[In<size_t>(0, alphabet.size() - 1)];
    return text;
  }

 private:
  explicit Random(uint32_t seed)
      : trace_(__FILE__, __LINE__, "SEGANET_SEED=" + std::to_string(seed)), engine_(seed) {}
  static uint32_t PickSeed() {
    const char* given = std::getenv("SEGANET_SEED");
    return given ? static_cast<uint32_t>(std::strtoul(given, nullptr, 10)) : std::random_device()();
  }

  const testing::ScopedTrace trace_;
  std::mt19937 engine_;
};

class CountingBell : public Doorbell {
 public:
  int rings() const { return rings_.load(); }

 private:
  void Call() override { rings_.fetch_add(1); }
  std::atomic<int> rings_{0};
};

// The sessions of a test: At(lanes) is an outlet of all classes, attached at its first use.
class Sessions {
 public:
  Outlet* At(Lanes* lanes) {
    Outlet*& outlet = outlets_[lanes];
    if (outlet == nullptr) outlet = lanes->Attach(&bell_);
    return outlet;
  }
  void Leave(Lanes* lanes) {
    lanes->Detach(At(lanes));
    outlets_.erase(lanes);
  }

 private:
  CountingBell bell_;
  std::map<Lanes*, Outlet*> outlets_;
};

class BatchList : public Batcher::Sink {
 public:
  void OnBatch(BatchPtr batch) override { batches.push_back(std::move(batch)); }
  std::vector<BatchPtr> batches;
};

inline Record MakeRecord(std::string_view device, std::string_view topic, std::string_view payload,
                         uint8_t record_class = kNormal, int64_t arrived_us = 0) {
  Record record;
  record.device = device;
  record.topic = topic;
  record.payload = payload;
  record.record_class = record_class;
  record.arrived_us = arrived_us;
  return record;
}

// Lanes without a log.
inline LanesContext PlainLanes(
    Budget* budget, LatencyByClass* latency, std::atomic<uint64_t>* sequence,
    std::function<void(const Batch&, bool)> on_done = [](const Batch&, bool) {}) {
  LanesContext context;
  context.budget = budget;
  context.latency = latency;
  context.sequence = sequence;
  context.on_done = std::move(on_done);
  context.on_room = [] {};
  return context;
}

}  // namespace seganet::test

#endif  // SEGANET_TEST_SUPPORT_SUPPORT_H_
