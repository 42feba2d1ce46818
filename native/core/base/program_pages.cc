#include "core/base/program_pages.h"

#ifdef __linux__
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace seganet {
namespace {

template <typename T>
bool TakeNumber(std::string_view* text, int base, T* number) {
  const auto [end, error] =
      std::from_chars(text->data(), text->data() + text->size(), *number, base);
  if (error != std::errc()) return false;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return true;
}

bool Take(std::string_view* text, std::string_view expected) {
  if (!text->starts_with(expected)) return false;
  text->remove_prefix(expected.size());
  return true;
}

struct Mapping {
  PageRange pages{};
  bool is_unwritable_file = false;
};

// Reads a line that begins a mapping, such as
// "55d0c2e7a000-55d0c2e9f000 r-xp 00002000 fe:00 10109650    /usr/bin/node". Empty if the line is
// another one.
std::optional<Mapping> ReadHead(std::string_view line) {
  Mapping mapping;
  if (!TakeNumber(&line, 16, &mapping.pages.from) || !Take(&line, "-") ||
      !TakeNumber(&line, 16, &mapping.pages.to) || !Take(&line, " ") || line.size() < 4) {
    return std::nullopt;
  }
  // Others have no name, or one such as [heap].
  const bool is_file = line.find(" /") != std::string_view::npos;
  mapping.is_unwritable_file = is_file && line[0] == 'r' && line[1] == '-' && line[3] == 'p';
  return mapping;
}

// True for "Anonymous:             0 kB", the part of the mapping that is no longer the file's.
bool IsUnchanged(std::string_view line) {
  if (!Take(&line, "Anonymous:")) return false;
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return line.starts_with("0 ");
}

}  // namespace

std::vector<PageRange> UnchangedMappings(std::string_view smaps) {
  std::vector<PageRange> found;
  Mapping mapping;
  while (!smaps.empty()) {
    const size_t end = smaps.find('\n');
    const std::string_view line = smaps.substr(0, end);
    smaps.remove_prefix(end == std::string_view::npos ? smaps.size() : end + 1);
    if (const std::optional<Mapping> next = ReadHead(line)) {
      mapping = *next;
    } else if (mapping.is_unwritable_file && IsUnchanged(line)) {
      found.push_back(mapping.pages);
    }
  }
  return found;
}

std::vector<PageRange> Common(PageRange pages, const std::vector<PageRange>& mappings) {
  std::vector<PageRange> common;
  for (const PageRange& mapping : mappings) {
    const uintptr_t from = std::max(pages.from, mapping.from);
    const uintptr_t to = std::min(pages.to, mapping.to);
    if (from < to) common.push_back({from, to});
  }
  return common;
}

#ifdef __linux__

namespace {

struct Release {
  std::optional<std::vector<PageRange>> unchanged;
  bool is_done = false;
};

// Releases what is unchanged of a program or a library. The loader unloads none during the calls,
// so that no other memory takes its place meanwhile.
int ReleaseObject(dl_phdr_info* object, size_t /*size*/, void* data) {
  auto& release = *static_cast<Release*>(data);
  if (!release.unchanged) {
    std::ifstream file("/proc/self/smaps");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    release.unchanged = UnchangedMappings(text);
  }
  const auto page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_W) != 0) continue;
    const uintptr_t begin = object->dlpi_addr + header.p_vaddr;
    const uintptr_t end = begin + header.p_filesz;
    const PageRange segment = {begin / page_bytes * page_bytes,
                               (end + page_bytes - 1) / page_bytes * page_bytes};
    for (const PageRange& pages : Common(segment, *release.unchanged)) {
      // [madvise(2)] The next access reads the page from its file again. Fails for locked memory.
      void* const from = reinterpret_cast<void*>(pages.from);  // NOLINT(performance-no-int-to-ptr)
      if (madvise(from, pages.to - pages.from, MADV_DONTNEED) == 0) release.is_done = true;
    }
  }
  return 0;
}

}  // namespace

bool ReleaseProgramPages() {
  Release release;
  dl_iterate_phdr(ReleaseObject, &release);
  return release.is_done;
}

#else

bool ReleaseProgramPages() { return false; }

#endif

}  // namespace seganet
