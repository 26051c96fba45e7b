/* SPDX-License-Identifier: MIT */
/*
 * Entry. The boot ROM has loaded the image and zeroed the rest of the memory. Interrupts stay
 * masked for ever: the main loop waits with WFI, which wakes on lines that mie enables.
 */
	.section .text.start, "ax"
	.globl _start
_start:
	la	t0, trap
	csrw	mtvec, t0
	csrw	mie, zero
	csrci	mstatus, 8
	la	sp, stack_top
	call	main

	/* main() returns when it gave up; it has told the driver. */
	.globl stop
stop:
	csrw	mie, zero
1:	wfi
	j	1b

	.balign 4
trap:
	la	sp, stack_top
	csrr	a0, mcause
	call	give_up_trap
	j	stop
