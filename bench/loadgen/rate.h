#ifndef SEGANET_BENCH_LOADGEN_RATE_H_
#define SEGANET_BENCH_LOADGEN_RATE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "options.h"

namespace bench {

// How many messages a second all devices mean to send, over time: steps with bursts on them.
//
// Time is told in messages: At(n) is when n of them are due. A periodic load has one at each whole
// n; a Poisson process of unit rate, seen through At(), is one whose rate follows the steps.
class Rate {
 public:
  explicit Rate(const LoadOptions& options);

  // µs after the start. `*piece` is where the last search of this caller ended, 0 at first.
  // REQUIRES: `messages` does not become less from call to call.
  double At(double messages, uint32_t* piece) const {
    while (*piece + 1 < pieces_.size() && messages >= pieces_[*piece + 1].messages) ++*piece;
    const Piece& in = pieces_[*piece];
    return in.from_us + (messages - in.messages) / in.per_us;
  }

  double messages() const { return messages_; }  // in all
  double duration_us() const { return duration_us_; }

 private:
  struct Piece {
    double from_us;
    double per_us;
    double messages;  // before it
  };

  std::vector<Piece> pieces_;
  double messages_ = 0;
  double duration_us_ = 0;
};

}  // namespace bench

#endif  // SEGANET_BENCH_LOADGEN_RATE_H_
