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

// Set by a signal: the load ends, and says what it has.
extern volatile sig_atomic_t stopped;

// The fleet: connects it, sends what is due when it is due, and waits for the last
// acknowledgements. One thread, epoll.
class Load {
 public:
  explicit Load(const LoadOptions& options);

  // False: not in --connect-seconds.
  bool ConnectAll();
  void Send();
  void Finish();
  // The result. `streams` adds what each device issued, and what it has no acknowledgement for.
  std::string Json(bool streams) const;

 private:
  void StartConnections();
  void Lost(uint32_t number);
  // Sends what is due until now.
  void SendDue(int64_t start_us);
  void PingSome(int64_t now_us);
  void Drain();
  void Report(int64_t now_us);
  // Until something happens, or `timeout_us`; with --tick-us not before the next tick.
  void Wait(int64_t timeout_us);
  // True: there may be more.
  bool Poll(int64_t timeout_us);

  const LoadOptions options_;
  const Rate rate_;
  LoadCounters counters_;
  Fleet fleet_;
  Schedule schedule_;
  const int epoll_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<uint32_t> due_;                 // devices that something has become due of
  std::multimap<int64_t, uint32_t> retries_;  // when → device
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
