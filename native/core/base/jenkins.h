// Bob Jenkins's hash, which selects the worker that owns a device (SegaNet, "Architecture-aware
// agent management").
#ifndef SEGANET_CORE_BASE_JENKINS_H_
#define SEGANET_CORE_BASE_JENKINS_H_

#include <cstdint>
#include <string_view>

namespace seganet {

// Returns the value of hashlittle() in lookup3.c of May 2006 (public domain,
// burtleburtle.net/bob/c/lookup3.c). Reads byte by byte, so that the value does not depend on byte
// order or alignment.
uint32_t JenkinsHash(std::string_view key, uint32_t seed);

// Seed for hashing device ids. Changing it moves devices to other workers.
inline constexpr uint32_t kDeviceSeed = 0;

}  // namespace seganet

#endif  // SEGANET_CORE_BASE_JENKINS_H_
