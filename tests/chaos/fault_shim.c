// tests/chaos/fault_shim.c - LD_PRELOAD: system calls that fail when the plan says so.
// SPDX-License-Identifier: Apache-2.0
//
// CHAOS_ROOT    only files below this folder are touched (a prefix of their path)
// CHAOS_FAULT   write|sync|rename|open|create|read : error number : call from which on it fails : how many fail (0: all)
// CHAOS_CLOCK   seconds added to the wall clock after its tenth reading
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static char root[PATH_MAX];
static char kind[16];
static int fault_errno;
static long first_failing, failing;
static long clock_jump_s;
static atomic_long calls, clock_readings;

__attribute__((constructor)) static void read_plan(void) {
  const char* folder = getenv("CHAOS_ROOT");
  const char* fault = getenv("CHAOS_FAULT");
  const char* jump = getenv("CHAOS_CLOCK");
  if (folder != NULL) snprintf(root, sizeof root, "%s", folder);
  if (fault != NULL) sscanf(fault, "%15[a-z]:%d:%ld:%ld", kind, &fault_errno, &first_failing, &failing);
  if (jump != NULL) clock_jump_s = atol(jump);
}

static int below_root(const char* path) { return root[0] != 0 && strncmp(path, root, strlen(root)) == 0; }

static int file_below_root(int descriptor) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  return below_root(path);
}

// Counts a call of this kind; true: it is one that fails, and errno is set.
static int fails(const char* call) {
  if (strcmp(call, kind) != 0) return 0;
  const long number = atomic_fetch_add(&calls, 1);
  if (number < first_failing || (failing > 0 && number >= first_failing + failing)) return 0;
  errno = fault_errno;
  return 1;
}

// The function that this one stands in front of; looked up once.
#define NEXT(name)                                                        \
  (*({                                                                    \
    static __typeof__(&name) next;                                        \
    if (next == NULL) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name);  \
    &next;                                                                \
  }))

ssize_t write(int descriptor, const void* bytes, size_t count) {
  if (kind[0] == 'w' && file_below_root(descriptor) && fails("write")) return -1;
  return NEXT(write)(descriptor, bytes, count);
}
ssize_t writev(int descriptor, const struct iovec* parts, int count) {
  if (kind[0] == 'w' && file_below_root(descriptor) && fails("write")) return -1;
  return NEXT(writev)(descriptor, parts, count);
}
ssize_t pwrite(int descriptor, const void* bytes, size_t count, off_t at) {
  if (kind[0] == 'w' && file_below_root(descriptor) && fails("write")) return -1;
  return NEXT(pwrite)(descriptor, bytes, count, at);
}
ssize_t pwrite64(int descriptor, const void* bytes, size_t count, off64_t at) {
  if (kind[0] == 'w' && file_below_root(descriptor) && fails("write")) return -1;
  return NEXT(pwrite64)(descriptor, bytes, count, at);
}
int ftruncate(int descriptor, off_t size) {
  if (kind[0] == 'w' && file_below_root(descriptor) && fails("write")) return -1;
  return NEXT(ftruncate)(descriptor, size);
}
int fsync(int descriptor) {
  if (kind[0] == 's' && file_below_root(descriptor) && fails("sync")) return -1;
  return NEXT(fsync)(descriptor);
}
int fdatasync(int descriptor) {
  if (kind[0] == 's' && file_below_root(descriptor) && fails("sync")) return -1;
  return NEXT(fdatasync)(descriptor);
}
int rename(const char* from, const char* to) {
  char full[PATH_MAX];
  if (kind[0] == 'r' && realpath(from, full) != NULL && below_root(full) && fails("rename")) return -1;
  return NEXT(rename)(from, to);
}
ssize_t read(int descriptor, void* bytes, size_t count) {
  if (kind[0] == 'r' && file_below_root(descriptor) && fails("read")) return -1;
  return NEXT(read)(descriptor, bytes, count);
}
ssize_t pread(int descriptor, void* bytes, size_t count, off_t at) {
  if (kind[0] == 'r' && file_below_root(descriptor) && fails("read")) return -1;
  return NEXT(pread)(descriptor, bytes, count, at);
}
ssize_t pread64(int descriptor, void* bytes, size_t count, off64_t at) {
  if (kind[0] == 'r' && file_below_root(descriptor) && fails("read")) return -1;
  return NEXT(pread64)(descriptor, bytes, count, at);
}

// Any file: a process that has no descriptor left has none for anything.
static int open_fails(int flags) { return fails("open") || ((flags & O_CREAT) != 0 && fails("create")); }
#define MODE_OF(flags, mode)                                                        \
  mode_t mode = 0;                                                                  \
  if (((flags) & (O_CREAT | O_TMPFILE)) != 0) {                                     \
    va_list list;                                                                   \
    va_start(list, flags);                                                          \
    mode = va_arg(list, mode_t);                                                    \
    va_end(list);                                                                   \
  }
#define OPEN(name)                                                                  \
  int name(const char* path, int flags, ...) {                                      \
    MODE_OF(flags, mode)                                                            \
    return open_fails(flags) ? -1 : NEXT(name)(path, flags, mode);                  \
  }
#define OPENAT(name)                                                                \
  int name(int folder, const char* path, int flags, ...) {                          \
    MODE_OF(flags, mode)                                                            \
    return open_fails(flags) ? -1 : NEXT(name)(folder, path, flags, mode);          \
  }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

int clock_gettime(clockid_t clock, struct timespec* out) {
  const int status = NEXT(clock_gettime)(clock, out);
  if (status == 0 && clock == CLOCK_REALTIME && clock_jump_s != 0 && atomic_fetch_add(&clock_readings, 1) >= 10)
    out->tv_sec += clock_jump_s;
  return status;
}
