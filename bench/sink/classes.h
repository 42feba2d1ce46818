#ifndef SEGANET_BENCH_SINK_CLASSES_H_
#define SEGANET_BENCH_SINK_CLASSES_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "../common/histogram.h"
#include "../common/record.h"

namespace bench {

constexpr int kClasses = 8;

// Returns the class in the last level of a topic: a class's name or number, or the kind in a
// record's own topic. 0 if there is none.
inline int ClassOfTopic(std::string_view topic) {
  const size_t slash = topic.rfind('/');
  const std::string_view level = slash == std::string_view::npos ? topic : topic.substr(slash + 1);
  constexpr std::string_view kNames[] = {"critical", "high", "normal", "bulk"};
  for (int i = 0; i < 4; ++i) {
    if (level == kNames[i]) return i + 1;
  }
  if (level.size() == 1 && level[0] >= '1' && level[0] <= '0' + kClasses) return level[0] - '0';
  if (level == "alarm") return 1;
  return level == "t" ? 3 : 0;
}

// Arrivals by class. The JSON omits classes without arrivals.
class Classes {
 public:
  struct Counts {
    uint64_t records = 0;
    uint64_t unique = 0;
    uint64_t bytes = 0;  // payload of unique records
    uint64_t duplicates = 0;
    uint64_t out_of_order = 0;
    uint64_t historical = 0;
    Histogram latency[2];  // by lane
  };

  // REQUIRES: 1 <= record_class <= kClasses.
  Counts& of(int record_class) {
    std::unique_ptr<Counts>& counts = counts_[static_cast<size_t>(record_class)];
    if (!counts) counts = std::make_unique<Counts>();
    return *counts;
  }

  std::string Json(bool buckets) const {
    std::string out = "{";
    for (size_t i = 1; i < counts_.size(); ++i) {
      if (!counts_[i]) continue;
      const Counts& c = *counts_[i];
      if (out.size() > 1) out.push_back(',');
      out.append("\"" + std::to_string(i) + "\":{\"records\":" + std::to_string(c.records) +
                 ",\"unique\":" + std::to_string(c.unique) + ",\"bytes\":" +
                 std::to_string(c.bytes) + ",\"duplicates\":" + std::to_string(c.duplicates) +
                 ",\"outOfOrder\":" + std::to_string(c.out_of_order) + ",\"historical\":" +
                 std::to_string(c.historical) + ",\"latencyUs\":" + c.latency[0].Json(buckets) +
                 ",\"historicalLatencyUs\":" + c.latency[1].Json(buckets) + "}");
    }
    return out + "}";
  }

 private:
  std::array<std::unique_ptr<Counts>, kClasses + 1> counts_;
};

}  // namespace bench

#endif  // SEGANET_BENCH_SINK_CLASSES_H_
