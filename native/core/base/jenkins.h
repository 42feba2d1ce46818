// Bob Jenkins's hash, which decides the worker that owns a device (SegaNet, "Architecture-aware
// agent management").
#ifndef SEGANET_CORE_BASE_JENKINS_H_
#define SEGANET_CORE_BASE_JENKINS_H_

#include <cstdint>
#include <string_view>

namespace seganet {

// lookup3.c's hashlittle() of May 2006 (public domain, burtleburtle.net/bob/c/lookup3.c), read byte
// by byte, so that the value is the same on every byte order and alignment.
uint32_t JenkinsHash(std::string_view key, uint32_t seed);

// The seed with which device ids are hashed. Changing it moves every device to another worker.
inline constexpr uint32_t kDeviceSeed = 0;

}  // namespace seganet

#endif  // SEGANET_CORE_BASE_JENKINS_H_
