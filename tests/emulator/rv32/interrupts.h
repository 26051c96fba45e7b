/* SPDX-License-Identifier: MIT */
/* Numbers that interrupts.c and its host side agree on. */
#ifndef RV32_INTERRUPTS_H
#define RV32_INTERRUPTS_H

#define INTERRUPTS_BUSY_TICKS  50 /* timer ticks while it computes ... */
#define INTERRUPTS_BUSY_PERIOD 777
#define INTERRUPTS_IDLE_TICKS  20 /* ... and while it waits in WFI */
#define INTERRUPTS_IDLE_PERIOD 100000
#define INTERRUPTS_STEPS       20000 /* of the computation */

#endif /* RV32_INTERRUPTS_H */
