/* A preloaded library that makes files fail. FAILING_IO says how:
 *
 *   short        every read and write of a file moves a third of what was asked for, at least one
 * byte interrupt    every second call fails with EINTR, the others are short CALL:N:ERROR the N-th
 * CALL (from 1; read, write, sync, name or any) fails with EIO, ENOSPC or EDQUOT; a "name" call
 * links or renames CALL:N:KILL  the process is killed before that call
 *
 * Only regular files count, not pipes, devices and /proc. FAILING_IO_COUNT names a file to which
 * the number of calls is written at the end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum kind { kRead, kWrite, kSync, kName, kKinds };
static const char* const kNames[kKinds] = {"read", "write", "sync", "name"};
static atomic_long calls[kKinds + 1]; /* the last one counts all */

static int is_file(int descriptor) {
  struct stat status;
  return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

/* Files of /proc have no size; what a C++ library looks up there is not ours. */
static int has_bytes(int descriptor) {
  struct stat status;
  return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
}

static int error_of(const char* name) {
  if (strcmp(name, "ENOSPC") == 0) return ENOSPC;
  if (strcmp(name, "EDQUOT") == 0) return EDQUOT;
  return EIO;
}

/* 0: go on; 1: go on with fewer bytes; -1: fail with errno set. */
static int decide(enum kind kind) {
  const long of_kind = atomic_fetch_add(&calls[kind], 1) + 1;
  const long of_all = atomic_fetch_add(&calls[kKinds], 1) + 1;
  const char* const how = getenv("FAILING_IO");
  if (how == NULL || *how == '\0') return 0;
  if (strcmp(how, "short") == 0) return 1;
  if (strcmp(how, "interrupt") == 0) {
    if (kind == kName || of_all % 2 == 0) return 1;
    errno = EINTR;
    return -1;
  }
  char call[16], action[16];
  long wanted = 0;
  if (sscanf(how, "%15[a-z]:%ld:%15s", call, &wanted, action) != 3) abort();
  const int any = strcmp(call, "any") == 0;
  if (!any && strcmp(call, kNames[kind]) != 0) return 0;
  if ((any ? of_all : of_kind) != wanted) return 0;
  if (strcmp(action, "KILL") == 0) kill(getpid(), SIGKILL);
  errno = error_of(action);
  return -1;
}

static size_t shortened(int decision, size_t count) {
  return decision == 1 && count > 1 ? (count + 2) / 3 : count;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t read(int descriptor, void* into, size_t count) {
  const int decision = has_bytes(descriptor) ? decide(kRead) : 0;
  return decision < 0 ? -1 : REAL(read)(descriptor, into, shortened(decision, count));
}

ssize_t pread(int descriptor, void* into, size_t count, off_t offset) {
  const int decision = has_bytes(descriptor) ? decide(kRead) : 0;
  return decision < 0 ? -1 : REAL(pread)(descriptor, into, shortened(decision, count), offset);
}

ssize_t pread64(int descriptor, void* into, size_t count, off64_t offset) {
  return pread(descriptor, into, count, offset);
}

ssize_t write(int descriptor, const void* from, size_t count) {
  const int decision = is_file(descriptor) ? decide(kWrite) : 0;
  return decision < 0 ? -1 : REAL(write)(descriptor, from, shortened(decision, count));
}

ssize_t pwrite(int descriptor, const void* from, size_t count, off_t offset) {
  const int decision = is_file(descriptor) ? decide(kWrite) : 0;
  return decision < 0 ? -1 : REAL(pwrite)(descriptor, from, shortened(decision, count), offset);
}

ssize_t pwrite64(int descriptor, const void* from, size_t count, off64_t offset) {
  return pwrite(descriptor, from, count, offset);
}

/* HDF5 gives a file its length when it closes it. */
int ftruncate(int descriptor, off_t length) {
  return decide(kWrite) < 0 ? -1 : REAL(ftruncate)(descriptor, length);
}

int ftruncate64(int descriptor, off64_t length) {
  return ftruncate(descriptor, length);
}

int fsync(int descriptor) {
  return decide(kSync) < 0 ? -1 : REAL(fsync)(descriptor);
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  return decide(kName) < 0 ? -1 : REAL(linkat)(from_folder, from, to_folder, to, flags);
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) {
  return decide(kName) < 0 ? -1 : REAL(renameat)(from_folder, from, to_folder, to);
}

__attribute__((destructor)) static void report(void) {
  const char* const path = getenv("FAILING_IO_COUNT");
  if (path == NULL) return;
  FILE* const file = fopen(path, "w");
  if (file == NULL) return;
  for (int kind = 0; kind < kKinds; ++kind)
    fprintf(file, "%s %ld\n", kNames[kind], atomic_load(&calls[kind]));
  fprintf(file, "any %ld\n", atomic_load(&calls[kKinds]));
  fclose(file);
}
