/* SPDX-License-Identifier: MIT */
/* Replaces Mesa's file; no field of our instructions is a half float. */
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
