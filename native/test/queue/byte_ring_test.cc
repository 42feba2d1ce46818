#include "core/queue/byte_ring.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <thread>

#include "test/support/support.h"

namespace seganet {
namespace {

bool Put(ByteRing* ring, std::string_view bytes) {
  char* to = ring->Reserve(bytes.size());
  if (to == nullptr) return false;
  EXPECT_EQ(reinterpret_cast<uintptr_t>(to) % 8, 0u);
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  ring->Commit();
  return true;
}

TEST(ByteRing, IsEmptyAtFirst) {
  ByteRing ring(0);
  EXPECT_EQ(ring.capacity(), 4096u);
  EXPECT_EQ(ring.used(), 0u);
  EXPECT_EQ(ring.Front().data(), nullptr);
  EXPECT_EQ(ByteRing(4097).capacity(), 8192u);
}

TEST(ByteRing, ReservedBytesAreInvisibleUntilCommit) {
  ByteRing ring(4096);
  std::memcpy(ring.Reserve(3), "abc", 3);
  EXPECT_EQ(ring.Front().data(), nullptr);
  EXPECT_EQ(ring.used(), 0u);
  std::memcpy(ring.Reserve(2), "de", 2);  // instead of the first
  ring.Commit();
  EXPECT_EQ(ring.Front(), "de");
  EXPECT_EQ(ring.Front(), "de");
  ring.Pop();
  EXPECT_EQ(ring.Front().data(), nullptr);
}

TEST(ByteRing, EmptyEntriesAreEntries) {
  ByteRing ring(4096);
  ASSERT_TRUE(Put(&ring, ""));
  EXPECT_NE(ring.Front().data(), nullptr);
  EXPECT_EQ(ring.Front().size(), 0u);
  ring.Pop();
  EXPECT_EQ(ring.used(), 0u);
}

// The promise of max_entry: an empty ring takes it at any position of the indices.
TEST(ByteRing, TakesTheLargestEntryAtEveryPosition) {
  for (size_t position = 0; position < 4096; position += 8) {
    ByteRing ring(4096);
    for (size_t moved = 0; moved < position; moved += 8) {
      ASSERT_TRUE(Put(&ring, ""));
      ASSERT_NE(ring.Front().data(), nullptr);
      ring.Pop();
    }
    const std::string entry(ring.max_entry(), 'x');
    ASSERT_TRUE(Put(&ring, entry)) << position;
    ASSERT_EQ(ring.Front(), entry) << position;
    ring.Pop();
    EXPECT_EQ(ring.Reserve(ring.max_entry() + 1), nullptr);
  }
}

TEST(ByteRing, IsFullWithoutHarmAndRecovers) {
  ByteRing ring(4096);
  int put = 0;
  while (Put(&ring, "12345678")) ++put;
  EXPECT_EQ(put, 4096 / 16);
  EXPECT_EQ(ring.used(), ring.capacity());
  EXPECT_FALSE(Put(&ring, ""));
  ring.Front();
  ring.Pop();
  EXPECT_TRUE(Put(&ring, "abcdefgh"));
  for (int i = 1; i < put; ++i) {
    ASSERT_EQ(ring.Front(), "12345678");
    ring.Pop();
  }
  EXPECT_EQ(ring.Front(), "abcdefgh");
}

// Against the model of a queue, with sizes that wrap in every way and a writer that keeps it full.
TEST(ByteRing, BehavesLikeAQueue) {
  test::Random random;
  for (int round = 0; round < 20; ++round) {
    ByteRing ring(4096);
    std::deque<std::string> model;
    size_t largest = random.In<size_t>(1, ring.max_entry());
    for (int step = 0; step < 5'000; ++step) {
      if (random.OneIn(200)) largest = random.In<size_t>(1, ring.max_entry());
      if (random.In(0, 99) < 55) {
        const std::string entry = random.Text(random.In<size_t>(0, largest), "abcdefgh");
        if (Put(&ring, entry)) {
          model.push_back(entry);
        } else {
          ASSERT_FALSE(model.empty()) << "an empty ring refused " << entry.size();
        }
      } else if (model.empty()) {
        ASSERT_EQ(ring.Front().data(), nullptr);
        ASSERT_EQ(ring.used(), 0u);
      } else {
        ASSERT_EQ(ring.Front(), model.front());
        ring.Pop();
        model.pop_front();
      }
      ASSERT_LE(ring.used(), ring.capacity());
    }
  }
}

// The length of an entry and its filling follow from its number, so that the reader detects a lost,
// doubled or torn one.
size_t LengthOf(uint32_t number) { return 4 + (number * 2654435761u >> 22); }

TEST(ByteRing, CarriesEntriesBetweenTwoThreads) {
  constexpr uint32_t kEntries = 200'000;
  ByteRing ring(8192);
  std::atomic<bool> give_up{false};
  std::thread writer([&ring, &give_up] {
    for (uint32_t i = 0; i < kEntries; ++i) {
      const size_t length = LengthOf(i);
      char* to;
      while ((to = ring.Reserve(length)) == nullptr) {
        if (give_up) return;
        std::this_thread::yield();
      }
      std::memset(to, static_cast<int>(i & 255), length);
      std::memcpy(to, &i, 4);
      ring.Commit();
    }
  });
  bool intact = true;
  for (uint32_t i = 0; i < kEntries && intact; ++i) {
    std::string_view entry;
    while ((entry = ring.Front()).data() == nullptr) std::this_thread::yield();
    uint32_t number;
    std::memcpy(&number, entry.data(), 4);
    intact = number == i && entry.size() == LengthOf(i);
    for (char c : entry.substr(4)) intact = intact && c == static_cast<char>(i & 255);
    EXPECT_TRUE(intact) << "entry " << i << " is number " << number;
    ring.Pop();
  }
  give_up = true;
  writer.join();
  EXPECT_EQ(ring.used(), 0u);
}

}  // namespace
}  // namespace seganet
