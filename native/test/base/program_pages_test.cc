#include "core/base/program_pages.h"

#include <gtest/gtest.h>

#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace seganet {
namespace {

using Ranges = std::vector<PageRange>;

std::string Mapping(const char* addresses, const char* access, const char* name,
                    const char* anonymous) {
  return std::string(addresses) + " " + access + " 00002000 fe:00 326269      " + name +
         "\nSize:      8 kB\nRss:       8 kB\nAnonymous:             " + anonymous +
         " kB\nLazyFree:              0 kB\nVmFlags: rd ex mr mw me sd \n";
}

TEST(ProgramPages, AreThoseOfFilesThatNothingWroteTo) {
  const std::string smaps =
      Mapping("1000-3000", "r--p", "/usr/bin/a program", "0") +
      Mapping("3000-5000", "r-xp", "/usr/bin/a program", "0") +
      Mapping("5000-6000", "r--p", "/usr/bin/a program", "4") +
      Mapping("6000-7000", "rw-p", "/usr/bin/a program", "0") +
      Mapping("7000-8000", "r-xs", "/dev/shm/a", "0") + Mapping("8000-9000", "r-xp", "", "0") +
      Mapping("9000-a000", "rw-p", "[heap]", "0") +
      Mapping("7ffff7fbe000-7ffff7fc0000", "r-xp", "[vdso]", "0") +
      Mapping("7ffff7fc0000-7ffff7fc1000", "r--p", "/lib/ld.so (deleted)", "0");
  EXPECT_EQ(UnchangedMappings(smaps),
            (Ranges{{0x1000, 0x3000}, {0x3000, 0x5000}, {0x7ffff7fc0000, 0x7ffff7fc1000}}));
}

TEST(ProgramPages, AreNoneOfAnUnknownOrCutText) {
  const std::string smaps = Mapping("1000-3000", "r-xp", "/a", "0");
  const size_t known = smaps.find("Anonymous:") + std::string("Anonymous:             0 ").size();
  for (size_t length = 0; length < known; ++length) {
    EXPECT_TRUE(UnchangedMappings(smaps.substr(0, length)).empty()) << length;
  }
  EXPECT_EQ(UnchangedMappings(smaps.substr(0, known)), (Ranges{{0x1000, 0x3000}}));
  EXPECT_TRUE(UnchangedMappings("Anonymous: 0 kB\n").empty());
  EXPECT_TRUE(
      UnchangedMappings("1000-ffffffffffffffffff r-xp 0 0:0 1 /a\nAnonymous: 0 kB\n").empty());
}

TEST(ProgramPages, OfTwoRangesAreTheirCommonOnes) {
  const Ranges mappings = {{10, 20}, {20, 30}, {40, 50}};
  EXPECT_EQ(Common({15, 45}, mappings), (Ranges{{15, 20}, {20, 30}, {40, 45}}));
  EXPECT_EQ(Common({30, 40}, mappings), Ranges{});
  EXPECT_EQ(Common({0, 100}, mappings), mappings);
}

// Resident bytes of the mapping that has this address, from /proc/self/smaps.
size_t ResidentAt(uintptr_t address) {
  std::ifstream file("/proc/self/smaps");
  bool is_here = false;
  for (std::string line; std::getline(file, line);) {
    unsigned long from = 0;
    unsigned long to = 0;
    size_t kib = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &from, &to) == 2) {  // NOLINT(cert-err34-c)
      is_here = from <= address && address < to;
    } else if (is_here && std::sscanf(line.c_str(), "Rss: %zu kB", &kib) == 1) {  // NOLINT
      return kib * 1024;
    }
  }
  return 0;
}

constexpr size_t kTableBytes = 1 << 20;
// In the program's file, and not in zero-filled memory. Spans many more pages than one fault maps.
alignas(65536) constexpr std::array<uint8_t, kTableBytes> kTable = [] {
  std::array<uint8_t, kTableBytes> table{};
  for (size_t i = 0; i < table.size(); i += 1024) {
    table[i] = static_cast<uint8_t>(1 + i / 1024 % 255);
  }
  return table;
}();

size_t SumOfTable() {
  const volatile uint8_t* table = kTable.data();
  size_t sum = 0;
  for (size_t i = 0; i < kTableBytes; i += 1024) sum += table[i];
  return sum;
}

TEST(ProgramPages, LeaveMemoryAndReturn) {
  const size_t sum = SumOfTable();
  const auto address = reinterpret_cast<uintptr_t>(kTable.data());
  const size_t before = ResidentAt(address);
  ASSERT_GE(before, kTableBytes);
  ASSERT_TRUE(ReleaseProgramPages());
  EXPECT_LE(ResidentAt(address), before - kTableBytes / 2);
  EXPECT_EQ(SumOfTable(), sum);
  EXPECT_GE(ResidentAt(address), kTableBytes);
}

// As the loader, a debugger, and programs that patch code leave them.
TEST(ProgramPages, StayIfTheyWereChanged) {
  const auto page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* const table = const_cast<uint8_t*>(kTable.data());
  ASSERT_EQ(reinterpret_cast<uintptr_t>(table) % page_bytes, 0u);
  ASSERT_EQ(mprotect(table, page_bytes, PROT_READ | PROT_WRITE), 0);
  volatile uint8_t* const changed = table + 1;
  *changed = 77;
  ASSERT_EQ(mprotect(table, page_bytes, PROT_READ), 0);
  ASSERT_TRUE(ReleaseProgramPages());
  EXPECT_EQ(*changed, 77);
}

}  // namespace
}  // namespace seganet

#endif  // __linux__
