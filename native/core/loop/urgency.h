// How likely the next record of an agent is of class 1, judged by its earlier records.
#ifndef SEGANET_CORE_LOOP_URGENCY_H_
#define SEGANET_CORE_LOOP_URGENCY_H_

#include <algorithm>
#include <cstdint>

namespace seganet {

// A score: a record of class 1 adds 2, any other subtracts 1. An agent becomes urgent at kUrgent
// and is no longer urgent at 0. An agent of which every twentieth record is an alarm never becomes
// urgent; one of which every second is does, and so does one that sends nothing but alarms.
struct Urgency {
  static constexpr uint8_t kUrgent = 4;
  static constexpr uint8_t kMost = 8;

  // Counts a record. A first record of class 1 suffices: the device may send nothing else.
  void Count(bool is_critical) {
    if (is_critical) {
      score = is_known ? std::min<uint8_t>(score + 2, kMost) : kUrgent;
    } else if (score > 0) {
      --score;
    }
    is_known = true;
  }

  // The device is registered with class 1.
  void Presume() {
    score = kMost;
    is_known = true;
  }

  // True from kUrgent on, until the score is 0.
  bool is_urgent() const { return is_listed ? score > 0 : score >= kUrgent; }

  uint8_t score = 0;
  bool is_known = false;  // a record was counted, or the class is registered
  // Of UrgentAgents:
  bool is_listed = false;
  bool is_watched = false;  // by its Nap
  int64_t latest_us = 0;    // time of the latest record of class 1
};

}  // namespace seganet

#endif  // SEGANET_CORE_LOOP_URGENCY_H_
