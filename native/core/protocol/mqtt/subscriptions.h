// The subscriptions of one device. Clauses are those of MQTT 3.1.1; "5:" marks MQTT 5.0.
#ifndef SEGANET_CORE_PROTOCOL_MQTT_SUBSCRIPTIONS_H_
#define SEGANET_CORE_PROTOCOL_MQTT_SUBSCRIPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace seganet::mqtt {

// 5: 3.8.3.1. They apply to records of devices (Grant::kRecords), not to commands.
struct SubscriptionOptions {
  bool no_local = false;
  bool retain_as_published = false;
  bool operator==(const SubscriptionOptions&) const = default;
};

// The filters that one device subscribed to, part of its KeptSession.
//
// Thread safety: none; owned by one session.
class Subscriptions {
 public:
  struct Match {
    uint8_t qos = 0;                // the highest granted QoS of the matching filters
    std::vector<uint32_t> numbers;  // their subscription identifiers (5: 3.3.4)
  };

  struct Subscription {
    std::string filter;
    uint32_t number = 0;
    uint8_t qos = 0;
    SubscriptionOptions options = {};  // not saved on disk
  };

  // Adds a valid filter, or replaces the subscription with the same filter [MQTT-3.8.4-3]. False,
  // and no effect, when there would be more than `max_count` filters or `max_bytes` bytes of
  // filters. `number` is the subscription identifier, 0 = none.
  bool Add(std::string_view filter, uint8_t qos, uint32_t number, size_t max_count,
           size_t max_bytes, SubscriptionOptions options = {});
  // False when there is no such filter.
  bool Remove(std::string_view filter);

  // Returns nullopt when no filter matches.
  std::optional<Match> Find(std::string_view topic) const;
  // True if a filter matches.
  bool Listens(std::string_view topic) const;

  bool empty() const { return all_.empty(); }
  size_t size() const { return all_.size(); }
  size_t memory_bytes() const;

  const std::vector<Subscription>& all() const { return all_; }
  // Counts the calls of Add() and Remove() that changed something.
  uint64_t changes() const { return changes_; }

 private:
  std::vector<Subscription> all_;
  size_t filter_bytes_ = 0;
  uint64_t changes_ = 0;
};

}  // namespace seganet::mqtt

#endif  // SEGANET_CORE_PROTOCOL_MQTT_SUBSCRIPTIONS_H_
