#ifndef SEGANET_CORE_PROTOCOL_MQTT_SUBSCRIPTIONS_H_
#define SEGANET_CORE_PROTOCOL_MQTT_SUBSCRIPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace seganet::mqtt {

// What one device subscribed to; it lives in the session that is kept. Filters are valid.
class Subscriptions {
 public:
  struct Match {
    uint8_t qos = 0;                // the highest that was granted among those that match
    std::vector<uint32_t> numbers;  // subscription identifiers of all that match (5: 3.3.4)
  };

  // A filter that is there already is replaced [MQTT-3.8.4-3]. False, and no effect, when there
  // would be more than `max_count` or their filters longer than `max_bytes` in all.
  // `number` is the subscription identifier, 0 = none.
  bool Add(std::string_view filter, uint8_t qos, uint32_t number, size_t max_count,
           size_t max_bytes);
  // False: there was none.
  bool Remove(std::string_view filter);

  // None when no filter matches.
  std::optional<Match> Find(std::string_view topic) const;
  bool Listens(std::string_view topic) const;

  bool empty() const { return all_.empty(); }
  size_t size() const { return all_.size(); }
  size_t memory_bytes() const;

 private:
  struct Subscription {
    std::string filter;
    uint32_t number = 0;
    uint8_t qos = 0;
  };
  std::vector<Subscription> all_;
  size_t filter_bytes_ = 0;
};

}  // namespace seganet::mqtt

#endif  // SEGANET_CORE_PROTOCOL_MQTT_SUBSCRIPTIONS_H_
