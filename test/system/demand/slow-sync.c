// LD_PRELOAD: a sync of a file whose name contains SLOW_SYNC_FILE takes SLOW_SYNC_MS longer, as on an SD card.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void Wait(int fd) {
  const char* part = getenv("SLOW_SYNC_FILE");
  const char* ms = getenv("SLOW_SYNC_MS");
  char link[64], name[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, name, sizeof name - 1);
  if (part == NULL || ms == NULL || length < 0) return;
  name[length] = '\0';
  if (strstr(name, part) != NULL) usleep((useconds_t)atoi(ms) * 1000);
}

int fsync(int fd) {
  Wait(fd);
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}

int fdatasync(int fd) {
  Wait(fd);
  return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd);
}
