#include "core/available.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <limits>
#include <new>

#ifdef __linux__
#include <sys/resource.h>
#include <unistd.h>
#endif

namespace gm::memory {

namespace {

constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();
constexpr std::size_t small = std::size_t(1) << 26;  // bytes that are asked for without a look

#ifdef __linux__

// The number at the start of a file; `unlimited` where there is no such file or it says "max".
std::size_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::size_t value = 0;
  return file >> value ? value : unlimited;
}

std::size_t left_of(std::size_t limit, std::size_t used) {
  return limit == unlimited ? unlimited : limit - std::min(limit, used);
}

// Free memory and what the system can free at once; swap counts too.
std::size_t of_machine() {
  std::ifstream file("/proc/meminfo");
  std::size_t sum = 0, kilobytes = 0;
  bool found = false;
  for (std::string name, rest; file >> name >> kilobytes && std::getline(file, rest);) {
    if (name != "MemAvailable:" && name != "SwapFree:") continue;
    found = found || name == "MemAvailable:";
    sum += 1024 * kilobytes;
  }
  return found ? sum : unlimited;
}

// What the control group of a container or of a cluster's job may use, less what this process uses.
std::size_t of_group(std::size_t resident) {
  std::size_t limit =
      std::min(number_in("/sys/fs/cgroup/memory.max"), number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
  std::ifstream file("/proc/self/cgroup");  // lines such as 0::/job and 7:memory:/job
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string kind = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (kind.empty()) limit = std::min(limit, number_in("/sys/fs/cgroup" + path + "/memory.max"));
    if (kind == "memory") limit = std::min(limit, number_in("/sys/fs/cgroup/memory" + path + "/memory.limit_in_bytes"));
  }
  return left_of(limit, resident);
}

#endif

}  // namespace

std::size_t available() {
#ifdef __linux__
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::size_t mapped = 0, resident = 0;  // pages
  std::ifstream("/proc/self/statm") >> mapped >> resident;
  rlimit own;
  std::size_t limit = unlimited;
  if (getrlimit(RLIMIT_AS, &own) == 0 && own.rlim_cur != RLIM_INFINITY) limit = own.rlim_cur;
  return std::min({of_machine(), of_group(page * resident), left_of(limit, page * mapped)});
#else
  return unlimited;
#endif
}

void demand(std::size_t bytes) {
  if (bytes > small && bytes > available()) throw std::bad_alloc();
}

std::string size_text(double bytes) {
  char text[32];
  const bool giga = bytes >= 1e9;
  std::snprintf(text, sizeof text, giga ? "%.1f GB" : "%.0f MB", bytes / (giga ? 1e9 : 1e6));
  return text;
}

}  // namespace gm::memory
