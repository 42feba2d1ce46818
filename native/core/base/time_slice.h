// How long a thread runs before another one that waits for its core may.
#ifndef SEGANET_CORE_BASE_TIME_SLICE_H_
#define SEGANET_CORE_BASE_TIME_SLICE_H_

#include <cstdint>

namespace seganet {

// 0.2 ms. Linux allows 0.1 to 100 ms; its own value is 0.7 to 2.8 ms, more with more cores.
inline constexpr uint64_t kShortTimeSliceNs = 200'000;

// Gives all threads of this process short time slices. Their share of a core stays the same, in
// shorter parts: a thread that wakes up runs at once if that of its core has longer slices and has
// had its share. Otherwise it waits until the other's slice ends, and the kernel looks at that each
// 4 ms only, where its clock has 250 Hz ([sched_setattr(2)] sched_runtime, from Linux 6.12 on;
// PREEMPT_SHORT in kernel/sched/features.h). New threads and processes inherit it. Needs no
// privilege, and keeps nice values. Returns TimeSliceNs().
uint64_t ShortenTimeSlices();

// Returns the length of the calling thread's slices, in nanoseconds; 0 if the system does not tell
// it (before Linux 6.12, or not allowed).
uint64_t TimeSliceNs();

}  // namespace seganet

#endif  // SEGANET_CORE_BASE_TIME_SLICE_H_
