/* SPDX-License-Identifier: MIT */
/* Sizes that compute.c and its test on the host share. */
#ifndef RV32_COMPUTE_H
#define RV32_COMPUTE_H

#define COMPUTE_BYTES	  1001
#define COMPUTE_WORDS	  500
#define COMPUTE_DIVISIONS 200

#endif
