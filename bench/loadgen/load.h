#ifndef SEGANET_BENCH_LOADGEN_LOAD_H_
#define SEGANET_BENCH_LOADGEN_LOAD_H_

#include <signal.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device.h"

namespace bench {

// Set by a signal handler: the load ends and prints its result so far.
extern volatile sig_atomic_t stopped;

// Runs the fleet: connects the devices, sends messages when they are due, and waits for the last
// acknowledgements. One thread, epoll.
class Load {
 public:
  explicit Load(const LoadOptions& options);

  // Returns false if not all devices connected within --connect-seconds.
  bool ConnectAll();
  void Send();
  void Finish();
  // Returns the result. `streams` adds the issued and the unacknowledged messages of each device.
  std::string Json(bool streams) const;

 private:
  void StartConnections();
  void Lost(uint32_t number);
  // Sends the messages that are due now.
  void SendDue(int64_t start_us);
  void PingSome(int64_t now_us);
  void Drain();
  void Report(int64_t now_us);
  // Waits for events, at most `timeout_us`; with --tick-us at least until the next tick.
  void Wait(int64_t timeout_us);
  // Handles pending events. Returns true if there may be more.
  bool Poll(int64_t timeout_us);

  const LoadOptions options_;
  const Rate rate_;
  LoadCounters counters_;
  Fleet fleet_;
  Schedule schedule_;
  const int epoll_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<uint32_t> due_;                 // devices with newly due messages
  std::multimap<int64_t, uint32_t> retries_;  // time → device
  std::vector<bool> was_up_;
  size_t up_ = 0;
  size_t pending_ = 0;
  int64_t woke_us_ = 0;
  int64_t next_ping_us_ = 0;
  uint32_t ping_slice_ = 0;
  int64_t next_progress_us_ = 0;
  double wall_seconds_ = 0;  // of sending
  double cpu_seconds_ = 0;   // in that time
};

}  // namespace bench

#endif  // SEGANET_BENCH_LOADGEN_LOAD_H_
