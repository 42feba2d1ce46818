// LD_PRELOAD: writes and syncs of files whose path contains SEGANET_SHIM_IO_PATH fail or are slow, as the control block in the
// file named by SEGANET_SHIM_IO says, at any moment.
//
// A sync that fails takes back what was written since the last good one, when `drop` says so: that is what a kernel does which
// marks pages clean after a failed write-back, once they have left the cache. Who tries fsync again and believes it loses data.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { kFiles = 4096 };

// All little endian; written by the test, counted here.
struct Control {
  uint32_t fail_writes;  // as many of the next writes fail
  uint32_t fail_syncs;   // as many of the next syncs fail
  uint32_t short_writes; // as many of the next writes are cut in half and report so
  uint32_t error;        // errno
  uint32_t drop;         // 1: a failed sync takes back what was written since the last good one
  uint32_t sync_ms;      // added to every sync
  uint32_t writes, syncs, injected;
  uint32_t lie;          // 1: syncs report success and do nothing, as some cheap cards do
};

struct Undo {
  struct Undo* before;
  off_t offset;
  size_t length;  // bytes that were there
  off_t size;     // of the file
  char bytes[];
};

static struct Control* control;
static const char* watched;
static uint8_t is_watched[kFiles];
static struct Undo* undo[kFiles];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name, type)                                     \
  static type real;                                          \
  if (real == NULL) real = (type)dlsym(RTLD_NEXT, #name)

typedef ssize_t (*PwriteFn)(int, const void*, size_t, off_t);
typedef ssize_t (*WriteFn)(int, const void*, size_t);
typedef int (*SyncFn)(int);
typedef int (*OpenFn)(const char*, int, ...);
typedef int (*OpenatFn)(int, const char*, int, ...);

__attribute__((constructor)) static void Open(void) {
  const char* path = getenv("SEGANET_SHIM_IO");
  watched = getenv("SEGANET_SHIM_IO_PATH");
  if (path == NULL || watched == NULL) return;
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void* at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (at != MAP_FAILED) control = at;
}

static int IsWatched(int fd) { return control != NULL && fd >= 0 && fd < kFiles && is_watched[fd]; }

// One of the `left` failures, if there is one.
static int Takes(uint32_t* left) {
  uint32_t now = __atomic_load_n(left, __ATOMIC_SEQ_CST);
  while (now > 0) {
    if (__atomic_compare_exchange_n(left, &now, now - 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
      __atomic_add_fetch(&control->injected, 1, __ATOMIC_SEQ_CST);
      return 1;
    }
  }
  return 0;
}

static void Forget(int fd) {
  while (undo[fd] != NULL) {
    struct Undo* before = undo[fd]->before;
    free(undo[fd]);
    undo[fd] = before;
  }
}

static void Remember(int fd, size_t length, off_t offset) {
  struct stat stat;
  if (!control->drop || fstat(fd, &stat) != 0) return;
  struct Undo* entry = malloc(sizeof *entry + length);
  if (entry == NULL) return;
  ssize_t there = pread(fd, entry->bytes, length, offset);
  entry->offset = offset;
  entry->length = there > 0 ? (size_t)there : 0;
  entry->size = stat.st_size;
  pthread_mutex_lock(&lock);
  entry->before = undo[fd];
  undo[fd] = entry;
  pthread_mutex_unlock(&lock);
}

static void TakeBack(int fd) {
  REAL(pwrite64, PwriteFn);
  pthread_mutex_lock(&lock);
  for (struct Undo* entry = undo[fd]; entry != NULL; entry = entry->before) {
    if (entry->length > 0 && real(fd, entry->bytes, entry->length, entry->offset) < 0) break;
    if (ftruncate(fd, entry->size) != 0) break;
  }
  Forget(fd);
  pthread_mutex_unlock(&lock);
}

static void Note(int fd, const char* path) {
  if (fd < 0 || fd >= kFiles || control == NULL) return;
  pthread_mutex_lock(&lock);
  Forget(fd);
  is_watched[fd] = strstr(path, watched) != NULL;
  pthread_mutex_unlock(&lock);
}

#define OPEN(name)                                     \
  int name(const char* path, int flags, ...) {         \
    REAL(name, OpenFn);                                \
    va_list rest;                                      \
    va_start(rest, flags);                             \
    int fd = real(path, flags, va_arg(rest, mode_t));  \
    va_end(rest);                                      \
    Note(fd, path);                                    \
    return fd;                                         \
  }
#define OPENAT(name)                                          \
  int name(int folder, const char* path, int flags, ...) {    \
    REAL(name, OpenatFn);                                     \
    va_list rest;                                             \
    va_start(rest, flags);                                    \
    int fd = real(folder, path, flags, va_arg(rest, mode_t)); \
    va_end(rest);                                             \
    Note(fd, path);                                           \
    return fd;                                                \
  }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

int close(int fd) {
  REAL(close, SyncFn);
  if (IsWatched(fd)) Note(fd, "");
  return real(fd);
}

// The length that may be written; -1 = the write fails.
static ssize_t Allowed(int fd, size_t length, off_t offset) {
  __atomic_add_fetch(&control->writes, 1, __ATOMIC_SEQ_CST);
  if (Takes(&control->fail_writes)) {
    errno = (int)control->error;
    return -1;
  }
  Remember(fd, length, offset);
  return length > 1 && Takes(&control->short_writes) ? (ssize_t)(length / 2) : (ssize_t)length;
}

ssize_t pwrite64(int fd, const void* bytes, size_t length, off_t offset) {
  REAL(pwrite64, PwriteFn);
  if (!IsWatched(fd)) return real(fd, bytes, length, offset);
  ssize_t allowed = Allowed(fd, length, offset);
  return allowed < 0 ? -1 : real(fd, bytes, (size_t)allowed, offset);
}

ssize_t pwrite(int fd, const void* bytes, size_t length, off_t offset) {
  return pwrite64(fd, bytes, length, offset);
}

ssize_t write(int fd, const void* bytes, size_t length) {
  REAL(write, WriteFn);
  if (!IsWatched(fd)) return real(fd, bytes, length);
  ssize_t allowed = Allowed(fd, length, lseek(fd, 0, SEEK_CUR));
  return allowed < 0 ? -1 : real(fd, bytes, (size_t)allowed);
}

static int Sync(int fd, SyncFn real) {
  if (!IsWatched(fd)) return real(fd);
  __atomic_add_fetch(&control->syncs, 1, __ATOMIC_SEQ_CST);
  if (control->sync_ms > 0) {
    struct timespec wait = {control->sync_ms / 1000, (long)(control->sync_ms % 1000) * 1000000};
    nanosleep(&wait, NULL);
  }
  if (Takes(&control->fail_syncs)) {
    if (control->drop) TakeBack(fd);
    errno = (int)control->error;
    return -1;
  }
  int result = control->lie ? 0 : real(fd);
  if (result == 0) {
    pthread_mutex_lock(&lock);
    Forget(fd);
    pthread_mutex_unlock(&lock);
  }
  return result;
}

int fsync(int fd) {
  REAL(fsync, SyncFn);
  return Sync(fd, real);
}

int fdatasync(int fd) {
  REAL(fdatasync, SyncFn);
  return Sync(fd, real);
}
