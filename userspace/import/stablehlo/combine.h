/* SPDX-License-Identifier: MIT */
/* Arrays combined element by element, for values that several processes reduce. */
#ifndef SHLO_COMBINE_H
#define SHLO_COMBINE_H

#include "scalar.h"

/*
 * sum[i] = op(x[i], y[i]) with the bits of shlo_binary(), at the speed of the machine; false for
 * operations and types that only shlo_binary() has. @sum may be @x.
 */
bool shlo_combine(enum shlo_binary op, enum shlo_element element, void *sum, const void *x,
		  const void *y, size_t count);

#endif
