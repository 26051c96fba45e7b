/* SPDX-License-Identifier: MIT */
/* Whether there is address space for a library that would not say when it has none. */
#ifndef WNN_CPU_ROOM_H
#define WNN_CPU_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#define CPU_MIB ((uint64_t)1 << 20)

/* False when so many bytes cannot be mapped as address space is limited; then sets what it is limited to. */
bool cpu_has_room(uint64_t bytes, uint64_t *limit);

#endif
