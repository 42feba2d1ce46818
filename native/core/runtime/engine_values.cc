// Engine: the last values of its devices.
#include <algorithm>
#include <compare>
#include <iterator>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/devices/value_rows.h"
#include "core/runtime/engine.h"

namespace seganet {
namespace {

std::tuple<std::string_view, std::string_view> KeyOf(const ValueRow& row) {
  return {row.device, row.topic};
}

// Puts the rows of all pages into one, in the order of keys. Of rows with the same key, which are
// behind bridges of several workers, the latest one stays.
std::vector<ValueRow> Join(std::vector<ValuePage>* pages) {
  std::vector<ValueRow> all;
  for (ValuePage& page : *pages) {
    std::move(page.rows.begin(), page.rows.end(), std::back_inserter(all));
  }
  std::sort(all.begin(), all.end(), [](const ValueRow& a, const ValueRow& b) {
    const auto order = KeyOf(a) <=> KeyOf(b);
    return std::is_neq(order) ? std::is_lt(order) : a.changed_us > b.changed_us;
  });
  all.erase(std::unique(all.begin(), all.end(),
                        [](const ValueRow& a, const ValueRow& b) { return KeyOf(a) == KeyOf(b); }),
            all.end());
  return all;
}

}  // namespace

ValuePage Engine::Values(const ValueQuery& query) {
  const SlotExchange::Hold hold(&exchange_);
  std::vector<ValuePage> pages(workers_.size());
  for (size_t i = 0; i < workers_.size(); ++i) {
    workers_[i]->WithValues(
        [&](LastValues* values, const Now& now) { pages[i] = values->Page(query, now.mono_us); });
  }
  ValuePage joined;
  joined.at_us = pages.empty() ? 0 : pages.front().at_us;
  // All workers have looked at the values up to this one.
  for (const ValuePage& page : pages) {
    if (page.is_complete) continue;
    if (joined.is_complete || page.reached < joined.reached) joined.reached = page.reached;
    joined.is_complete = false;
  }
  joined.rows = Join(&pages);
  if (!joined.is_complete) {
    std::erase_if(joined.rows, [&](const ValueRow& row) {
      return row.key() > std::tie(joined.reached.device, joined.reached.topic);
    });
  }
  if (joined.rows.size() > query.limit) {
    joined.rows.resize(query.limit);
    joined.reached = {joined.rows.back().device, joined.rows.back().topic};
    joined.is_complete = false;
  }
  return joined;
}

ValuePage Engine::ChangedValues(const ValueQuery& query, int64_t since_us) {
  const SlotExchange::Hold hold(&exchange_);
  std::vector<ValuePage> pages(workers_.size());
  ValuePage joined;
  joined.at_us = kNever;
  for (size_t i = 0; i < workers_.size(); ++i) {
    workers_[i]->WithValues([&](LastValues* values, const Now& now) {
      pages[i] = values->Changed(query, since_us, now.mono_us);
    });
    joined.at_us = std::min(joined.at_us, pages[i].at_us);
    joined.is_complete = joined.is_complete && pages[i].is_complete;
  }
  joined.rows = Join(&pages);
  std::sort(joined.rows.begin(), joined.rows.end(),
            [](const ValueRow& a, const ValueRow& b) { return a.changed_us > b.changed_us; });
  if (joined.rows.size() > query.limit) {
    joined.rows.resize(query.limit);
    joined.is_complete = false;
  }
  return joined;
}

TopicLevels Engine::ValueLevels(size_t worker, std::string_view prefix, const ValueKey& after) {
  TopicLevels levels;
  workers_[worker]->WithValues(
      [&](LastValues* values, const Now&) { levels = values->Levels(prefix, after); });
  return levels;
}

bool Engine::SaveValues(size_t worker, ValueKey* after, std::string* rows) {
  bool is_complete = true;
  workers_[worker]->WithValues(
      [&](LastValues* values, const Now& now) { is_complete = values->Save(after, now, rows); });
  return is_complete;
}

bool Engine::RestoreValues(std::string_view rows, size_t* restored) {
  *restored = 0;
  const Now now = Now::Read();
  const SlotExchange::Hold hold(&exchange_);
  std::vector<std::vector<ValueRow>> by_worker(workers_.size());
  ValueRow row;
  bool is_valid = true;
  while (is_valid && !rows.empty()) {
    row = {};
    is_valid = ReadValueRow(&rows, now, &row);
    if (is_valid) by_worker[WorkerOf(row.device)].push_back(std::move(row));
  }
  for (size_t i = 0; i < by_worker.size(); ++i) {
    if (!by_worker[i].empty()) *restored += workers_[i]->RestoreValues(by_worker[i]);
  }
  return is_valid;
}

}  // namespace seganet
