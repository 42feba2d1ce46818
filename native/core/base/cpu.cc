#include "core/base/cpu.h"

#include <pthread.h>

#include <algorithm>
#include <bitset>
#include <cerrno>
#include <charconv>
#ifdef __linux__
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace seganet {
namespace {

constexpr int kMaxCpu = 1023;
constexpr int kMaxAutoWorkers = 16;

bool ReadNumber(std::string_view* text, int* number) {
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *number);
  if (error != std::errc() || *number < 0 || *number > kMaxCpu) return false;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return true;
}

}  // namespace

Status ParseCpuList(std::string_view list, std::vector<int>* cpus) {
  cpus->clear();
  std::bitset<kMaxCpu + 1> named;  // removes duplicates
  const std::string quoted(list);
  const auto bad = [&quoted] {
    return Status::InvalidArgument("'" + quoted + "' is not a list of cores such as 1-3,5");
  };
  while (!list.empty()) {
    int first = 0;
    if (!ReadNumber(&list, &first)) return bad();
    int last = first;
    if (!list.empty() && list.front() == '-') {
      list.remove_prefix(1);
      if (!ReadNumber(&list, &last) || last < first) return bad();
    }
    for (int cpu = first; cpu <= last; ++cpu) named.set(static_cast<size_t>(cpu));
    if (list.empty()) break;
    if (list.front() != ',' || list.size() == 1) return bad();
    list.remove_prefix(1);
  }
  for (int cpu = 0; cpu <= kMaxCpu; ++cpu) {
    if (named[static_cast<size_t>(cpu)]) cpus->push_back(cpu);
  }
  return {};
}

Status AssignCpus(const std::vector<int>& allowed, const std::vector<int>& wanted, int workers,
                  std::vector<int>* cpu_of_worker) {
  for (int cpu : wanted) {
    if (!std::binary_search(allowed.begin(), allowed.end(), cpu)) {
      return Status::InvalidArgument("core " + std::to_string(cpu) +
                                     " is not among those that this process may use");
    }
  }
  std::vector<int> cores = wanted;
  if (cores.empty() && !allowed.empty()) {
    cores.assign(allowed.begin() + (allowed.size() > 1 ? 1 : 0), allowed.end());
  }
  const int automatic = std::clamp(static_cast<int>(cores.size()), 1, kMaxAutoWorkers);
  const int count = workers > 0 ? workers : automatic;
  cpu_of_worker->clear();
  for (int i = 0; i < count; ++i) {
    cpu_of_worker->push_back(cores.empty() ? -1 : cores[static_cast<size_t>(i) % cores.size()]);
  }
  return {};
}

#ifdef __linux__

std::vector<int> AllowedCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

std::string PinThisThread(int cpu) {
  if (cpu < 0) return "no core known";
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set) == 0) return "";
  return errno == EPERM ? "EPERM" : errno == EINVAL ? "EINVAL" : std::to_string(errno);
}

int ThisThreadId() { return static_cast<int>(syscall(SYS_gettid)); }

void NameThisThread(const char* name) {
  // The kernel allows 15 bytes; the C library rejects longer names.
  pthread_setname_np(pthread_self(), std::string(name).substr(0, 15).c_str());
}

#else

std::vector<int> AllowedCpus() { return {}; }
std::string PinThisThread(int) { return "not supported on this platform"; }
int ThisThreadId() { return 0; }
void NameThisThread(const char*) {}

#endif

}  // namespace seganet
