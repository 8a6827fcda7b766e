/* adapters/c/sluice_marks.h - marks the steps and phases of a training program for `sluice watch`.
 * SPDX-License-Identifier: Apache-2.0
 *
 * One header, C99 or C++, nothing to link. Include it before other headers, or compile with GNU
 * extensions (-std=gnu99), so that clock_gettime and mmap are declared.
 *
 *   for (int i = 0; i < steps; ++i) {
 *     sluice_marks_step();                      // a step begins here, and the one before ends
 *     uint64_t t = sluice_marks_begin();
 *     forward();
 *     sluice_marks_end("forward", t);           // a phase, from t to now
 *     sluice_marks_log(SLUICE_MARKS_LOSS, loss);// of this step; likewise tokens, samples, FLOP
 *   }
 *   sluice_marks_pause();                       // the last step ends here
 *
 * Without the variable SLUICE_MARKS, which `sluice watch` sets, every call returns at once. With it
 * the process writes records into the file "$SLUICE_MARKS.<pid>", mapped into memory. Call from one
 * thread. A forked child marks nothing. Nothing here fails, prints or ends the program: what finds
 * no room is counted. The records are described in docs/watch.md.
 */
#ifndef SLUICE_MARKS_H
#define SLUICE_MARKS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#ifndef CLOCK_MONOTONIC
#error "sluice_marks.h: include it before other headers, or compile with -std=gnu99"
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum {
  SLUICE_MARKS_VERSION = 1,
  SLUICE_MARKS_HEADER = 64, /* bytes */
  SLUICE_MARKS_RECORD = 32,
  SLUICE_MARKS_CHUNK = 256 * 1024,       /* reserved at a time, so that a full disk is no crash */
  SLUICE_MARKS_LIMIT = 64 * 1024 * 1024, /* two million records */
  SLUICE_MARKS_NAMES = 64,
  SLUICE_MARKS_NAME_BYTES = 24,
  SLUICE_MARKS_KIND_NAME = 1,
  SLUICE_MARKS_KIND_STEP = 2,
  SLUICE_MARKS_KIND_PHASE = 3,
  SLUICE_MARKS_KIND_VALUE = 4,
  SLUICE_MARKS_KIND_TEXT = 5
};

/* What a value is. Several counts of one step add up; of several losses the last counts. */
enum sluice_marks_what {
  SLUICE_MARKS_LOSS = 1,
  SLUICE_MARKS_TOKENS = 2,
  SLUICE_MARKS_SAMPLES = 3,
  SLUICE_MARKS_FLOP = 4,
  SLUICE_MARKS_DEVICE_NS = 5,  /* of the step by the clock of its device: of every step, or none */
  SLUICE_MARKS_PEAK_BYTES = 6, /* of the device's memory so far */
  SLUICE_MARKS_RESERVED_BYTES = 7 /* of it, held by the allocator */
};

/* What a text is: the versions of what the program computes with. */
enum sluice_marks_text { SLUICE_MARKS_TORCH = 1, SLUICE_MARKS_CUDA = 2 };

/* Lies in a page that a forked child finds empty, so that it marks nothing. */
struct sluice_marks_state {
  int on;
  int fd;
  uint32_t names;
  uint64_t at;    /* bytes of the file in use */
  uint64_t limit; /* bytes reserved */
  uint64_t begun; /* of the step that runs; 0: none */
  uint64_t steps;
  unsigned char* memory;
  const char* pointers[SLUICE_MARKS_NAMES]; /* as passed: usually the same literal again */
  char text[SLUICE_MARKS_NAMES][SLUICE_MARKS_NAME_BYTES];
};

/* One for all files of the program that include this header. */
__attribute__((weak)) struct sluice_marks_state* sluice_marks_shared = 0;
__attribute__((weak)) int sluice_marks_tried = 0;

static inline uint64_t sluice_marks_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Room for the next chunk; 0: none. */
static inline int sluice_marks_grow(struct sluice_marks_state* state) {
  uint64_t dropped;
  if (state->limit < SLUICE_MARKS_LIMIT &&
      posix_fallocate(state->fd, (off_t)state->limit, SLUICE_MARKS_CHUNK) == 0) {
    state->limit += SLUICE_MARKS_CHUNK;
    return 1;
  }
  memcpy(&dropped, state->memory + 24, sizeof dropped);
  ++dropped;
  memcpy(state->memory + 24, &dropped, sizeof dropped);
  return 0;
}

static inline struct sluice_marks_state* sluice_marks_open(void) {
  const char* prefix = getenv("SLUICE_MARKS");
  struct sluice_marks_state* state;
  char path[4096];
  const uint32_t version = SLUICE_MARKS_VERSION, record = SLUICE_MARKS_RECORD;
  const uint64_t pid = (uint64_t)getpid();
  void* page;
  void* memory;
  int fd;
  sluice_marks_tried = 1;
  if (prefix == 0 || *prefix == '\0') return 0;
  if (snprintf(path, sizeof path, "%s.%lu", prefix, (unsigned long)pid) >= (int)sizeof path)
    return 0;
  page = mmap(0, sizeof *state, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return 0;
  madvise(page, sizeof *state, 18 /* MADV_WIPEONFORK */);
  fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return 0;
  memory = MAP_FAILED;
  if (ftruncate(fd, SLUICE_MARKS_LIMIT) == 0 && posix_fallocate(fd, 0, SLUICE_MARKS_CHUNK) == 0)
    memory = mmap(0, SLUICE_MARKS_LIMIT, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    close(fd);
    unlink(path);
    return 0;
  }
  state = (struct sluice_marks_state*)page;
  state->fd = fd;
  state->memory = (unsigned char*)memory;
  memcpy(state->memory + 8, &version, sizeof version);
  memcpy(state->memory + 12, &record, sizeof record);
  memcpy(state->memory + 16, &pid, sizeof pid);
  memcpy(state->memory, "SLUICEMK", 8);
  state->at = SLUICE_MARKS_HEADER;
  state->limit = SLUICE_MARKS_CHUNK;
  state->on = 1;
  sluice_marks_shared = state;
  return state;
}

/* Null: marks are off. */
static inline struct sluice_marks_state* sluice_marks_get(void) {
  struct sluice_marks_state* state = sluice_marks_shared;
  if (state == 0) return sluice_marks_tried ? 0 : sluice_marks_open();
  return state->on ? state : 0;
}

/* The kind comes last: a record that was cut short has none. */
static inline void sluice_marks_put(struct sluice_marks_state* state, const void* first24,
                                    uint32_t id, uint32_t kind) {
  unsigned char* record;
  if (state->at == state->limit && !sluice_marks_grow(state)) return;
  record = state->memory + state->at;
  memcpy(record, first24, 24);
  memcpy(record + 24, &id, sizeof id);
  __atomic_store_n((uint32_t*)(void*)(record + 28), kind, __ATOMIC_RELEASE);
  state->at += SLUICE_MARKS_RECORD;
}

/* 0: there are too many names. */
static inline uint32_t sluice_marks_name(struct sluice_marks_state* state, const char* name) {
  uint32_t i;
  for (i = 0; i < state->names; ++i)
    if (state->pointers[i] == name && strncmp(state->text[i], name, SLUICE_MARKS_NAME_BYTES) == 0)
      return i + 1;
  for (i = 0; i < state->names; ++i)
    if (strncmp(state->text[i], name, SLUICE_MARKS_NAME_BYTES) == 0) return i + 1;
  if (state->names == SLUICE_MARKS_NAMES) return 0;
  state->pointers[i] = name;
  for (uint32_t k = 0; k < SLUICE_MARKS_NAME_BYTES && name[k] != '\0'; ++k)
    state->text[i][k] = name[k];
  ++state->names;
  sluice_marks_put(state, state->text[i], i + 1, SLUICE_MARKS_KIND_NAME);
  return i + 1;
}

/* 1 while marks are written. */
static inline int sluice_marks_on(void) {
  return sluice_marks_get() != 0;
}

/* Ends the step that runs; what follows is no step until the next sluice_marks_step(): validation,
 * checkpoints. */
static inline void sluice_marks_pause(void) {
  struct sluice_marks_state* state = sluice_marks_get();
  uint64_t times[3];
  if (state == 0 || state->begun == 0) return;
  times[0] = state->begun;
  times[1] = sluice_marks_clock();
  times[2] = state->steps++;
  state->begun = 0;
  sluice_marks_put(state, times, 0, SLUICE_MARKS_KIND_STEP);
}

/* A step begins; the one that runs ends at the same moment. */
static inline void sluice_marks_step(void) {
  struct sluice_marks_state* state = sluice_marks_get();
  uint64_t times[3];
  if (state == 0) return;
  times[0] = state->begun;
  times[1] = sluice_marks_clock();
  state->begun = times[1];
  if (times[0] == 0) return;
  times[2] = state->steps++;
  sluice_marks_put(state, times, 0, SLUICE_MARKS_KIND_STEP);
}

/* The time for sluice_marks_end(); 0 when marks are off. */
static inline uint64_t sluice_marks_begin(void) {
  return sluice_marks_get() != 0 ? sluice_marks_clock() : 0;
}

/* A phase of the step, from `begin` to now. Phases may hold phases. `name`: 24 bytes count. */
static inline void sluice_marks_end(const char* name, uint64_t begin) {
  struct sluice_marks_state* state = sluice_marks_get();
  uint64_t times[3];
  uint32_t id;
  if (state == 0 || begin == 0) return;
  times[0] = begin;
  times[1] = sluice_marks_clock();
  times[2] = 0;
  id = sluice_marks_name(state, name);
  if (id != 0) sluice_marks_put(state, times, id, SLUICE_MARKS_KIND_PHASE);
}

/* The step that runs, or after sluice_marks_pause() the last one, for sluice_marks_log_of(). */
static inline uint64_t sluice_marks_index(void) {
  struct sluice_marks_state* state = sluice_marks_get();
  if (state == 0) return 0;
  return state->begun != 0 || state->steps == 0 ? state->steps : state->steps - 1;
}

/* A value of an earlier step: what a device tells when it is done. */
static inline void sluice_marks_log_of(uint64_t step, enum sluice_marks_what what, double value) {
  struct sluice_marks_state* state = sluice_marks_get();
  uint64_t fields[3];
  if (state == 0) return;
  memcpy(fields, &value, sizeof value);
  fields[1] = 0;
  fields[2] = step;
  sluice_marks_put(state, fields, (uint32_t)what, SLUICE_MARKS_KIND_VALUE);
}

/* A value of the step that runs. */
static inline void sluice_marks_log(enum sluice_marks_what what, double value) {
  sluice_marks_log_of(sluice_marks_index(), what, value);
}

/* Once, such as (SLUICE_MARKS_TORCH, TORCH_VERSION); 24 bytes count. */
static inline void sluice_marks_note(enum sluice_marks_text what, const char* text) {
  struct sluice_marks_state* state = sluice_marks_get();
  char field[SLUICE_MARKS_NAME_BYTES] = {0};
  if (state == 0) return;
  for (uint32_t k = 0; k < SLUICE_MARKS_NAME_BYTES && text[k] != '\0'; ++k)
    field[k] = text[k];
  sluice_marks_put(state, field, (uint32_t)what, SLUICE_MARKS_KIND_TEXT);
}

#ifdef __cplusplus
}
#endif
#endif
