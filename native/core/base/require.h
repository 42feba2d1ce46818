// Checked preconditions. A `REQUIRES: …` comment in a header is the contract. SEGANET_REQUIRE
// checks it at the beginning of the function in debug, test and fuzz builds
// (SEGANET_CHECK_REQUIRES). The published addon does not evaluate the condition.
#ifndef SEGANET_CORE_BASE_REQUIRE_H_
#define SEGANET_CORE_BASE_REQUIRE_H_

#if defined(SEGANET_CHECK_REQUIRES) || defined(DEBUG)  // CXXFLAGS=-DDEBUG npm run build

#include <cstdio>
#include <cstdlib>

// If the condition is false, prints it with its file and line, and aborts.
#define SEGANET_REQUIRE(condition)                                                              \
  ((condition) ? static_cast<void>(0)                                                           \
               : (std::fprintf(stderr, "%s:%d: REQUIRES %s\n", __FILE__, __LINE__, #condition), \
                  std::abort()))

#else

// sizeof marks the names as used and evaluates nothing.
#define SEGANET_REQUIRE(condition) static_cast<void>(sizeof((condition) ? 1 : 0))

#endif

#endif  // SEGANET_CORE_BASE_REQUIRE_H_
