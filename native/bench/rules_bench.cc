// Measures what conditions on the payload cost a record: rules of a priority stage, and filters.
// Build with -O2. Prints its conditions, the best and the median of its rounds, and allocations.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "core/plan/filter.h"
#include "core/plan/windows.h"
#include "core/record/json.h"
#include "core/record/rules.h"

namespace {

using seganet::Classifier, seganet::Filter, seganet::FilterMode, seganet::Record, seganet::Rule;

constexpr size_t kRecordsPerRound = 200'000;
constexpr int kRounds = 15;
constexpr size_t kPayloads = 64;

// 200 bytes of JSON with eight members; the values change from record to record.
std::vector<std::string> Payloads() {
  std::vector<std::string> payloads;
  for (size_t i = 0; i < kPayloads; ++i) {
    std::string payload = "{\"id\":\"pump-" + std::to_string(i) +
                          "\",\"state\":\"running\",\"temp\":" + std::to_string(20 + i) +
                          ".5,\"battery\":" + std::to_string(100 - i) + ",\"rssi\":-" +
                          std::to_string(40 + i) +
                          ",\"sensors\":[{\"temp\":21.25,\"ok\":true}],\"unit\":\"C\",\"note\":\"";
    payload.resize(198, 'x');
    payloads.push_back(payload + "\"}");
  }
  return payloads;
}

// `count` rules with two comparisons each, none of which holds, so that all are evaluated.
std::vector<Rule> Rules(size_t count) {
  static constexpr const char* kConditions[] = {
      "battery < 15 and rssi < -90", "temp > 500 or temp < -40",
      "state == \"alarm\" or state == \"fault\"", "$.sensors[0].temp >= 30.5 and not exists(off)"};
  std::vector<Rule> rules;
  for (size_t i = 0; i < count; ++i) rules.push_back({"", "", 1, kConditions[i % 4]});
  return rules;
}

void Measure(const char* name, const std::function<bool(const Record&)>& run) {
  const std::vector<std::string> payloads = Payloads();
  std::vector<double> rounds;
  uint64_t sum = 0, made = 0;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t before = allocations;
    const double start = CpuNs();
    for (size_t i = 0; i < kRecordsPerRound; ++i) {
      Record record;
      record.device = "pump-1";
      record.topic = "plant/pump-1/values";
      record.payload = payloads[i % kPayloads];
      record.arrived_us = static_cast<int64_t>(i);
      sum += run(record);
    }
    rounds.push_back((CpuNs() - start) / kRecordsPerRound);
    if (round > 0) made += allocations - before;  // the first round makes what stays
  }
  std::sort(rounds.begin(), rounds.end());
  std::printf(
      "%-44s best %6.0f ns, median %6.0f ns a record, %.4f allocations a record, %zu pass\n", name,
      rounds.front(), rounds[rounds.size() / 2],
      static_cast<double>(made) / (kRecordsPerRound * (kRounds - 1)),
      static_cast<size_t>(sum / kRounds));
}

void MeasureRules(const char* name, const std::vector<Rule>& rules) {
  const Classifier classifier(rules, 0);
  Measure(name, [&classifier](const Record& record) {
    return classifier.ClassOf(record.device, record.topic, record.payload, 3) == 1;
  });
}

void MeasureFilter(const char* name, const seganet::FilterOptions& options) {
  Filter filter(options);
  Measure(name, [&filter](const Record& record) { return filter.Passes(record); });
}

void MeasureWindows(const char* name, const std::vector<std::string>& values) {
  seganet::Budget budget(64 << 20);
  seganet::WindowTotals totals;
  // Records arrive 1 µs apart, so a window has a million of them.
  seganet::Windows windows({.values = values, .length_s = 1}, &budget, &totals,
                           [](seganet::Window*, seganet::WindowEnd) {});
  Measure(name,
          [&windows](const Record& record) { return windows.Add(record, record.arrived_us); });
}

}  // namespace

int main() {
  std::printf(
      "CPU time; %zu records a round, %d rounds, one thread, JSON of 200 bytes with 8 members;\n"
      "a condition has two comparisons, and no condition holds\n\n",
      kRecordsPerRound, kRounds);
  Measure("nothing", [](const Record& record) { return record.payload.size() == 1; });
  Measure("validation of the JSON alone", [](const Record& record) {
    bool newline = false;
    return seganet::IsJson(record.payload, &newline);
  });
  MeasureRules("4 rules with a topic, no condition",
               {{"alarm/#", "", 1}, {"a/+/b", "", 1}, {"plant/+", "", 1}, {"+/x/#", "", 1}});
  for (size_t count : {1, 4, 16}) {
    MeasureRules((std::to_string(count) + " rules with a condition").c_str(), Rules(count));
  }
  MeasureFilter("filter: condition", {.mode = FilterMode::kPass, .when = "temp > 50"});
  MeasureFilter("filter: change, dead band of 1",
                {.mode = FilterMode::kChange, .path = "temp", .band = 1});
  MeasureFilter("filter: rate", {.mode = FilterMode::kRate});
  MeasureFilter("filter: range",
                {.mode = FilterMode::kRange, .path = "temp", .low = 30, .high = 50});
  MeasureWindows("filter: window, 1 value", {"temp"});
  MeasureWindows("filter: window, 4 values", {"temp", "battery", "rssi", "$.sensors[0].temp"});
  return 0;
}
