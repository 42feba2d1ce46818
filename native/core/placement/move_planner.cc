#include "core/placement/move_planner.h"

#include <algorithm>

#include "core/base/require.h"

namespace seganet {
namespace {

struct Candidate {
  uint32_t slot;
  double load;  // on its current worker
};

}  // namespace

MovePlanner::MovePlanner(const MoveLimits& limits) : limits_(limits) {
  rests_until_us_.fill(INT64_MIN);
}

bool MovePlanner::IsLasting(std::span<const WorkerLoad> workers, size_t most, size_t least) {
  const double high = workers[most].busy;
  const double low = workers[least].busy;
  const bool is_uneven = high - low > limits_.least_gap && high > limits_.least_ratio * low;
  if (!is_uneven) {
    hot_ = SIZE_MAX;
    periods_ = 0;
    return false;
  }
  if (hot_ != most) periods_ = 0;
  hot_ = most;
  periods_ = std::min(periods_ + 1, limits_.lasting_periods);
  return periods_ >= limits_.lasting_periods;
}

std::vector<SlotMove> MovePlanner::Plan(int64_t now_us, std::span<const WorkerLoad> workers,
                                        std::span<const SlotLoad> slots) {
  SEGANET_REQUIRE(slots.size() == Placement::kSlots);
  if (workers.size() < 2) return {};
  const auto by_load = [](const WorkerLoad& a, const WorkerLoad& b) { return a.busy < b.busy; };
  const auto [low, high] = std::minmax_element(workers.begin(), workers.end(), by_load);
  const auto most = static_cast<size_t>(high - workers.begin());
  const auto least = static_cast<size_t>(low - workers.begin());
  if (!IsLasting(workers, most, least)) return {};

  uint64_t records = 0;
  for (const SlotLoad& slot : slots) records += slot.worker == most ? slot.records : 0;
  std::vector<Candidate> candidates;
  for (uint32_t i = 0; i < slots.size(); ++i) {
    if (slots[i].worker != most || slots[i].records == 0 || rests_until_us_[i] > now_us) continue;
    const double part = static_cast<double>(slots[i].records) / static_cast<double>(records);
    candidates.push_back({i, part * high->busy});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.load > b.load; });

  // A load of `load` on the busiest worker is load × growth on the least busy one.
  const double growth = static_cast<double>(high->capacity) / low->capacity;
  double from = high->busy;
  double to = low->busy;
  std::vector<SlotMove> moves;
  // Largest first, each slot that fits into the difference that would make both loads even: few
  // moves achieve much.
  for (const Candidate& each : candidates) {
    if (moves.size() >= limits_.most_moves) break;
    const double even = (from - to) / (1 + growth);
    if (each.load > even) continue;
    moves.push_back({each.slot, static_cast<uint32_t>(most), static_cast<uint32_t>(least)});
    from -= each.load;
    to += each.load * growth;
  }
  // None fits, but moving the smallest may still make the two loads more even.
  if (moves.empty() && !candidates.empty() && limits_.most_moves > 0 &&
      to + candidates.back().load * growth < from - limits_.least_gap / 2) {
    moves.push_back(
        {candidates.back().slot, static_cast<uint32_t>(most), static_cast<uint32_t>(least)});
  }
  for (const SlotMove& move : moves) rests_until_us_[move.slot] = now_us + limits_.rest_us;
  return moves;
}

}  // namespace seganet
