/* SPDX-License-Identifier: MIT */
/*
 * What the libraries that are loaded at run time have in common: the address space that they need,
 * as they do not report when there is none, and their files.
 */
#ifndef WNN_CPU_ROOM_H
#define WNN_CPU_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#define CPU_MIB ((uint64_t)1 << 20)

/*
 * Whether `bytes` bytes can be mapped. Returns false when the process's address space is limited
 * and has no room for them; *limit then is the limit.
 */
bool cpu_has_room(uint64_t bytes, uint64_t *limit);

/* Returns the file from which a library was loaded, for messages; @name when it is not known. */
const char *cpu_library_file(void *handle, const char *name);

#endif
