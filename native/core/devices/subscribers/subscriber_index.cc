#include "core/devices/subscribers/subscriber_index.h"

#include <unordered_map>
#include <utility>

#include "core/base/require.h"
#include "core/record/rules.h"

namespace seganet {

SubscriberIndex::SubscriberIndex(std::vector<std::shared_ptr<const Interest>> all)
    : all_(std::move(all)) {
  std::unordered_map<const Subscriber*, uint32_t> numbers;
  for (const std::shared_ptr<const Interest>& interest : all_) {
    SEGANET_REQUIRE(ValidTopicFilter(interest->filter));
    const auto [at, is_new] =
        numbers.try_emplace(interest->subscriber.get(), static_cast<uint32_t>(subscribers_.size()));
    if (is_new) subscribers_.push_back(interest->subscriber);
    const Hit hit{interest.get(), at->second};
    Node* node = &root_;
    std::string_view rest = interest->filter;
    for (bool more = true; more;) {
      const size_t slash = rest.find('/');
      const std::string_view level = rest.substr(0, slash);
      more = slash != std::string_view::npos;
      rest.remove_prefix(more ? slash + 1 : rest.size());
      if (level == "#") {
        node->below.push_back(hit);
        node = nullptr;
        break;
      }
      std::unique_ptr<Node>& next = level == "+" ? node->any : node->next[level];
      if (next == nullptr) next = std::make_unique<Node>();
      node = next.get();
    }
    if (node != nullptr) node->here.push_back(hit);
  }
}

void SubscriberIndex::Match(std::string_view topic, std::vector<Hit>* hits) const {
  Match(root_, topic, true, hits);
}

// `rest` begins with a level of the topic.
void SubscriberIndex::Match(const Node& node, std::string_view rest, bool is_first,
                            std::vector<Hit>* hits) {
  // [MQTT-4.7.2-1]
  const bool hidden = is_first && rest.starts_with('$');
  if (!hidden) hits->insert(hits->end(), node.below.begin(), node.below.end());
  const size_t slash = rest.find('/');
  const std::string_view level = rest.substr(0, slash);
  const auto enter = [&](const Node& next) {
    if (slash != std::string_view::npos) return Match(next, rest.substr(slash + 1), false, hits);
    hits->insert(hits->end(), next.here.begin(), next.here.end());
    // 4.7.1.2 # matches its parent level, too.
    hits->insert(hits->end(), next.below.begin(), next.below.end());
  };
  if (!node.next.empty()) {
    if (const auto at = node.next.find(level); at != node.next.end()) enter(*at->second);
  }
  if (node.any != nullptr && !hidden) enter(*node.any);
}

}  // namespace seganet
