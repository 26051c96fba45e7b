/* SPDX-License-Identifier: MIT */
/*
 * Start of a test program: stack, zeroed .bss, main, done. An exception that
 * the program does not expect reports mcause | 0xdead0000 and ends it.
 */
#include "device.h"

	.section .text.start, "ax"
	.globl _start
_start:
	la	t0, unexpected
	csrw	mtvec, t0
	la	sp, stack_top
	la	t0, bss_start
	la	t1, bss_end
1:	bgeu	t0, t1, 2f
	sw	zero, 0(t0)
	addi	t0, t0, 4
	j	1b
2:	call	main
done:
	li	t0, PROGRAM_DEVICE
	sw	a0, DEVICE_DONE(t0)
	wfi
	j	done

	.balign 4
unexpected:
	csrr	a0, mcause
	li	t0, 0xdead0000
	or	a0, a0, t0
	li	t1, PROGRAM_DEVICE
	sw	a0, DEVICE_OUT(t1)
	j	done
