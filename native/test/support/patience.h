// How long a test waits for a state.
#ifndef SEGANET_TEST_SUPPORT_PATIENCE_H_
#define SEGANET_TEST_SUPPORT_PATIENCE_H_

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <thread>

namespace seganet::test {

// Enough for sanitizers on a quiet machine. SEGANET_TEST_PATIENCE=4 makes it four times as long
// (bench/harness/patience.js).
inline const std::chrono::seconds kPatience = [] {
  const char* given = std::getenv("SEGANET_TEST_PATIENCE");
  return std::chrono::seconds(20) * (given ? std::clamp(std::atoi(given), 1, 100) : 1);
}();
inline const int kPatienceMs = static_cast<int>(std::chrono::milliseconds(kPatience).count());

// Polls until `done` returns true; false when patience ends.
inline bool Until(const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace seganet::test

#endif  // SEGANET_TEST_SUPPORT_PATIENCE_H_
