/* SPDX-License-Identifier: MIT */
/* No field of ours is a half float. */
#ifndef SHIM_HALF_FLOAT_H
#define SHIM_HALF_FLOAT_H

#include <stdint.h>
#include <stdlib.h>

static inline float _mesa_half_to_float(uint16_t bits)
{
	(void)bits;
	abort();
}

#endif
