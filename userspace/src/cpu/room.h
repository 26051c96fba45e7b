/* SPDX-License-Identifier: MIT */
/* Checks whether address space is available, for libraries that do not report when it is not. */
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

#endif
