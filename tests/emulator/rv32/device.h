/* SPDX-License-Identifier: MIT */
/*
 * The device that test_riscv_program.c emulates for the test programs: a stream of numbers in, a
 * stream of results out, a timer and a doorbell.
 */
#ifndef RV32_DEVICE_H
#define RV32_DEVICE_H

#define PROGRAM_TCM_BASE 0x00010000
#define PROGRAM_TCM_SIZE 0x00010000
#define PROGRAM_DEVICE	 0x40000000

#define DEVICE_IN	0x00 /* read: the next number */
#define DEVICE_OUT	0x04 /* write: a result */
#define DEVICE_TIMER	0x08 /* write: lower the timer line, and raise it after this many cycles */
#define DEVICE_DOORBELL 0x0c /* write: the level of the software line */
#define DEVICE_DONE	0x10 /* write: the program is over */

#ifndef __ASSEMBLER__
#define DEVICE_REG(offset) (*(volatile unsigned int *)(PROGRAM_DEVICE + (offset)))
#endif

#endif
