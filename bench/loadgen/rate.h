#ifndef SEGANET_BENCH_LOADGEN_RATE_H_
#define SEGANET_BENCH_LOADGEN_RATE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "options.h"

namespace bench {

// The intended messages per second of all devices over time: steps with bursts.
//
// Time is measured in messages: At(n) is the time at which n messages are due. A periodic load has
// a message at each integer n; a Poisson process of unit rate, mapped through At(), follows the
// steps.
class Rate {
 public:
  explicit Rate(const LoadOptions& options);

  // Returns µs after the start. `*piece` is where the caller's last search ended, 0 at first.
  // REQUIRES: `messages` does not decrease from call to call.
  double At(double messages, uint32_t* piece) const {
    while (*piece + 1 < pieces_.size() && messages >= pieces_[*piece + 1].messages) ++*piece;
    const Piece& in = pieces_[*piece];
    return in.from_us + (messages - in.messages) / in.per_us;
  }

  double messages() const { return messages_; }  // total
  double duration_us() const { return duration_us_; }

 private:
  struct Piece {
    double from_us;
    double per_us;
    double messages;  // before this piece
  };

  std::vector<Piece> pieces_;
  double messages_ = 0;
  double duration_us_ = 0;
};

}  // namespace bench

#endif  // SEGANET_BENCH_LOADGEN_RATE_H_
