#include "core/placement/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

namespace seganet {
namespace {

using Capacities = std::vector<uint32_t>;

std::vector<uint32_t> SlotsOf(const Placement& placement, size_t workers) {
  std::vector<uint32_t> counts(workers);
  for (uint32_t slot = 0; slot < Placement::kSlots; ++slot) ++counts.at(placement.Owner(slot));
  return counts;
}

std::vector<uint32_t> Assigned(const Capacities& capacities) {
  Placement placement;
  placement.Assign(capacities);
  return SlotsOf(placement, capacities.size());
}

// Pearson's chi-square of k bins has k - 1 degrees of freedom. The ids and the hash are fixed, so
// the test is deterministic: the bound only distinguishes a hash that spreads like a random one
// from one with a pattern on such ids. It is the 99.99 % quantile (a random hash would pass all 30
// cases in 99.7 of 100 worlds) by Wilson and Hilferty's approximation with z = 3.719.
double Bound(double freedom) {
  const double spread = 2 / (9 * freedom);
  return freedom * std::pow(1 - spread + 3.719 * std::sqrt(spread), 3);
}

double ChiSquare(const std::vector<std::string>& ids, uint32_t workers) {
  Placement placement;
  placement.Assign(Capacities(workers, 1024));
  const std::vector<uint32_t> slots = SlotsOf(placement, workers);
  std::vector<double> counts(workers);
  for (const std::string& id : ids) counts[placement.WorkerOf(id)] += 1;
  double sum = 0;
  for (uint32_t worker = 0; worker < workers; ++worker) {
    const double expected = static_cast<double>(ids.size()) * slots[worker] / Placement::kSlots;
    sum += (counts[worker] - expected) * (counts[worker] - expected) / expected;
  }
  return sum;
}

TEST(Placement, SpreadsDevicesEvenlyOverWorkers) {
  std::vector<std::string> numbered, addresses;
  for (int i = 0; i < 10'000; ++i) {
    numbered.push_back("device-" + std::to_string(i));
    char address[18];
    std::snprintf(address, sizeof address, "02:00:5e:00:%02x:%02x", i >> 8, i & 255);
    addresses.push_back(address);
  }
  for (uint32_t workers = 2; workers <= 16; ++workers) {
    const double bound = Bound(workers - 1);
    EXPECT_LT(ChiSquare(numbered, workers), bound) << workers << " workers, numbered";
    EXPECT_LT(ChiSquare(addresses, workers), bound) << workers << " workers, MAC addresses";
  }
}

// These values are in the field: other values would move devices on an update. Where the number of
// workers divides that of the slots they are those of (hash × workers) >> 32.
TEST(Placement, IsStable) {
  Placement four, sixteen, two;
  four.Assign(Capacities(4, 1024));
  sixteen.Assign(Capacities(16, 1024));
  two.Assign(Capacities(2, 1024));
  EXPECT_EQ(four.WorkerOf(""), 3u);  // 0xdeadbeef is in the last quarter
  EXPECT_EQ(sixteen.WorkerOf("Four score and seven years ago"), 1u);
  EXPECT_EQ(two.WorkerOf("Four score and seven years ago"), 0u);
  for (uint32_t i = 0; i < 1000; ++i) {
    const std::string id = std::to_string(i);
    const uint64_t hash = JenkinsHash(id, kDeviceSeed);
    ASSERT_EQ(sixteen.WorkerOf(id), hash * 16 >> 32) << id;
  }
}

TEST(Placement, EqualCapacitiesGetEqualNumbersOfSlots) {
  for (uint32_t workers = 1; workers <= 64; ++workers) {
    const std::vector<uint32_t> slots = Assigned(Capacities(workers, 614));
    const auto [least, most] = std::minmax_element(slots.begin(), slots.end());
    EXPECT_LE(*most - *least, 1u) << workers;
  }
}

TEST(Placement, SlotsAreInProportionToCapacities) {
  EXPECT_EQ(Assigned({1024, 1024, 256, 256}), std::vector<uint32_t>({410, 410, 102, 102}));
  EXPECT_EQ(Assigned({1, 3}), std::vector<uint32_t>({256, 768}));
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    Capacities capacities(1 + random() % 64);
    double all = 0;
    for (uint32_t& each : capacities) all += each = 1 + random() % 1024;
    const std::vector<uint32_t> slots = Assigned(capacities);
    for (size_t i = 0; i < slots.size(); ++i) {
      EXPECT_NEAR(slots[i], capacities[i] / all * Placement::kSlots, 1) << "round " << round;
    }
  }
}

TEST(Placement, BeforeItIsAssignedThereIsOneWorker) {
  const Placement placement;
  EXPECT_EQ(placement.WorkerOf("d"), 0u);
}

TEST(Placement, ASlotCanBeGivenAway) {
  Placement placement;
  placement.Assign({1, 1});
  const uint32_t slot = Placement::SlotOf("d");
  const uint32_t other = 1 - placement.WorkerOf("d");
  placement.Set(slot, other);
  EXPECT_EQ(placement.WorkerOf("d"), other);
  EXPECT_EQ(SlotsOf(placement, 2)[other], 513u);
}

}  // namespace
}  // namespace seganet
