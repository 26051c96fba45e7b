/* SPDX-License-Identifier: MIT */
/* Checks for address space, for libraries that do not report when they have none. */
#ifndef WNN_CPU_ROOM_H
#define WNN_CPU_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#define CPU_MIB ((uint64_t)1 << 20)

/*
 * False when so many bytes cannot be mapped because address space is limited; *limit is the limit
 * then.
 */
bool cpu_has_room(uint64_t bytes, uint64_t *limit);

#endif
