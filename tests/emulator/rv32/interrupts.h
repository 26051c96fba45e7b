/* SPDX-License-Identifier: MIT */
/* Numbers that interrupts.c and its test on the host share. */
#ifndef RV32_INTERRUPTS_H
#define RV32_INTERRUPTS_H

#define INTERRUPTS_BUSY_TICKS  50 /* timer ticks while the program computes */
#define INTERRUPTS_BUSY_PERIOD 777
#define INTERRUPTS_IDLE_TICKS  20 /* timer ticks while it waits in WFI */
#define INTERRUPTS_IDLE_PERIOD 100000
#define INTERRUPTS_STEPS       20000 /* steps of the computation */

#endif
