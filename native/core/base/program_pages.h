// The pages of programs that only the start of a process needed.
#ifndef SEGANET_CORE_BASE_PROGRAM_PAGES_H_
#define SEGANET_CORE_BASE_PROGRAM_PAGES_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace seganet {

// Whole pages of an address space.
struct PageRange {
  uintptr_t from;
  uintptr_t to;

  bool operator==(const PageRange&) const = default;
};

// Returns the mappings that hold nothing but what their file has, in the order of their addresses:
// private, without write access, and without a page of their own. The loader, a debugger and
// programs that patch code make pages their own; Node's option --use-largepages replaces its code
// by memory without a file. `smaps`: the text of /proc/PID/smaps (proc(5)).
std::vector<PageRange> UnchangedMappings(std::string_view smaps);

// Returns the pages that are in both `pages` and one of `mappings`.
std::vector<PageRange> Common(PageRange pages, const std::vector<PageRange>& mappings);

// Takes the unchanged pages of this process's program and libraries out of its memory (RSS). They
// stay in the system's cache of files, which the kernel can empty when memory is short. A page that
// is used again returns from there, together with its neighbors. Of Node's executable, a start
// touches three times as much as a gateway at rest.
//
// Takes some milliseconds. Any thread then waits for a page fault (about 1 µs) for each 64 KiB that
// it uses for the first time. Returns false if the system cannot do it.
bool ReleaseProgramPages();

}  // namespace seganet

#endif  // SEGANET_CORE_BASE_PROGRAM_PAGES_H_
