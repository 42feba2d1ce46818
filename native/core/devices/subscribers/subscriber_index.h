// Finds the subscribers of a topic.
#ifndef SEGANET_CORE_DEVICES_SUBSCRIBERS_SUBSCRIBER_INDEX_H_
#define SEGANET_CORE_DEVICES_SUBSCRIBERS_SUBSCRIBER_INDEX_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/devices/subscribers/subscriber.h"
#include "core/protocol/mqtt/subscriptions.h"

namespace seganet {

// One subscription of a subscriber.
struct Interest {
  Interest(std::shared_ptr<Subscriber> of, const mqtt::Subscriptions::Subscription& subscription)
      : subscriber(std::move(of)),
        filter(subscription.filter),
        number(subscription.number),
        options(subscription.options) {}

  const std::shared_ptr<Subscriber> subscriber;
  const std::string filter;
  const uint32_t number;  // subscription identifier, 0 = none
  const mqtt::SubscriptionOptions options;
  // False: the subscription has ended, although an index still has it.
  mutable std::atomic<bool> active{true};
};

// A tree of the levels of all filters. The subscribers have consecutive numbers.
//
// Thread safety: immutable after construction.
class SubscriberIndex {
 public:
  struct Hit {
    const Interest* interest;
    uint32_t subscriber;  // its number
  };

  // REQUIRES: all filters are valid.
  explicit SubscriberIndex(std::vector<std::shared_ptr<const Interest>> all);
  SubscriberIndex(const SubscriberIndex&) = delete;
  SubscriberIndex& operator=(const SubscriberIndex&) = delete;

  // Adds the interests that match (TopicMatches) to `hits`. Visits each part of the tree once.
  void Match(std::string_view topic, std::vector<Hit>* hits) const;

  // By number.
  const std::vector<std::shared_ptr<Subscriber>>& subscribers() const { return subscribers_; }

 private:
  struct Node {
    std::map<std::string_view, std::unique_ptr<Node>> next;
    std::unique_ptr<Node> any;  // +
    std::vector<Hit> here;
    std::vector<Hit> below;  // #
  };
  static void Match(const Node& node, std::string_view rest, bool is_first, std::vector<Hit>* hits);

  const std::vector<std::shared_ptr<const Interest>> all_;  // the keys point into their filters
  std::vector<std::shared_ptr<Subscriber>> subscribers_;
  Node root_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_SUBSCRIBERS_SUBSCRIBER_INDEX_H_
