// Lanes and the log under random traffic.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "test/support/lanes_save_support.h"

namespace seganet {
namespace {

using test::kMs;

class LanesSaveRandomTest : public test::LanesWithLog {};

// Random traffic, commits that fail, sessions that break. No receipt comes before the record is on
// disk or acknowledged, each comes once, and the sums agree.
TEST_F(LanesSaveRandomTest, ReceiptsComeOnceAndNotTooEarly) {
  test::Random random;
  Use(Context());
  std::set<uint64_t> safe;  // handles whose record is committed or acknowledged
  std::map<uint64_t, std::vector<uint64_t>> tickets;
  std::vector<uint64_t> taken;  // ids; an id is its slot here
  int64_t row = 0;
  size_t looked_at = 0;  // of the receipts
  for (int i = 0; i < 20'000; ++i) {
    switch (random.In(0, 7)) {
      case 0:
      case 1:
        Push(random.In<uint8_t>(1, 4), std::string(random.In<size_t>(0, 2000), 'x'),
             random.In<uint32_t>(1, 2));
        break;
      case 2:
        if (const uint64_t id = Take()) taken.push_back(id);
        break;
      case 3:
        if (!taken.empty()) {
          const size_t at = random.In<size_t>(0, taken.size() - 1);
          safe.insert(taken[at]);
          ASSERT_TRUE(Release(taken[at]));
          taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(at));
        }
        break;
      case 4:
        if (const uint64_t ticket = Seal(MonotonicUs() + random.In<int64_t>(0, 2000) * kMs)) {
          ChunkHead head;
          std::vector<ChunkEntry> entries;
          ASSERT_EQ(ReadChunk(chunk_.bytes, &head, &entries), ChunkError::kNone);
          for (const ChunkEntry& entry : entries) tickets[ticket].push_back(entry.sequence);
        }
        break;
      case 5:
        if (!tickets.empty()) {
          const auto [ticket, handles] = *tickets.begin();
          tickets.erase(tickets.begin());
          if (random.OneIn(4)) {
            lanes_->Failed(ticket);
            ledger_.Failed(ticket);
          } else {
            safe.insert(handles.begin(), handles.end());
            Commit(ticket, ++row);
          }
        }
        break;
      case 6:
        Connect(random.OneIn(2));
        break;
      default:
        if (random.OneIn(20)) {
          Reattach();
          taken.clear();
        }
    }
    for (; looked_at < desk_.handles.size(); ++looked_at) {
      ASSERT_TRUE(safe.contains(desk_.handles[looked_at])) << desk_.handles[looked_at];
    }
    if (i % 100 == 0) {
      const std::set<uint64_t> once(desk_.handles.begin(), desk_.handles.end());
      ASSERT_EQ(once.size(), desk_.handles.size());
    }
  }
  lanes_->SaveAll();
  for (const auto& [ticket, handles] : tickets) Commit(ticket, ++row);
  while (const uint64_t ticket = Seal(MonotonicUs())) Commit(ticket, ++row);
  EXPECT_EQ(desk_.handles.size(), slot_);
  int64_t held = 0, backlog = 0;
  for (uint8_t c = 1; c <= kClasses; ++c) {
    held += budget_.records(c);
    backlog += ledger_.sums().backlog[c];
  }
  const uint64_t delivered =
      lanes_->counters().counters[static_cast<size_t>(Counter::kRecordsDelivered)].Get();
  EXPECT_EQ(slot_, delivered + static_cast<uint64_t>(held + backlog));
  lanes_->Clear(Drop::kClosed);
  EXPECT_EQ(budget_.held(), 0);
}

}  // namespace
}  // namespace seganet
