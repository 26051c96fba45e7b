// SPDX-License-Identifier: MIT
/*
 * A test program with vectored interrupts: a timer interrupts a computation, whose result must not
 * change; then the program sleeps in WFI between ticks; then it rings its own doorbell; then it
 * makes an ECALL and returns from it.
 */
#include "device.h"
#include "interrupts.h"

typedef unsigned int u32;

#define MIE_SOFTWARE 0x008u
#define MIE_TIMER    0x080u
#define MSTATUS_MIE  0x008u

#define csr_write(csr, value) __asm__ volatile("csrw " #csr ", %0" ::"r"(value) : "memory")
#define csr_set(csr, value)   __asm__ volatile("csrs " #csr ", %0" ::"r"(value) : "memory")
#define csr_clear(csr, value) __asm__ volatile("csrc " #csr ", %0" ::"r"(value) : "memory")
#define csr_read(csr)                                                    \
	({                                                               \
		u32 v_;                                                  \
		__asm__ volatile("csrr %0, " #csr : "=r"(v_)::"memory"); \
		v_;                                                      \
	})

static volatile u32 ticks, period, rings, calls;

int main(void);
void on_exception(void);
void on_software(void);
void on_timer(void);
void vectors(void);

/* The vector table: exceptions, then one word for each interrupt number. */
__asm__("	.balign 4\n"
	"	.option push\n"
	"	.option norelax\n"
	"vectors:\n"
	"	j on_exception\n" /* 0 */
	"	j .\n"
	"	j .\n"
	"	j on_software\n" /* 3 */
	"	j .\n"
	"	j .\n"
	"	j .\n"
	"	j on_timer\n" /* 7 */
	"	.option pop\n");

static void output(u32 value)
{
	DEVICE_REG(DEVICE_OUT) = value;
}

/* Steps over the ECALL; any other exception is an error that the host sees. */
__attribute__((interrupt("machine"))) void on_exception(void)
{
	u32 cause = csr_read(mcause);

	if (cause != 11)
		output(0xdead0000 | cause);
	calls++;
	csr_write(mepc, csr_read(mepc) + 4);
}

__attribute__((interrupt("machine"))) void on_software(void)
{
	DEVICE_REG(DEVICE_DOORBELL) = 0;
	rings++;
}

__attribute__((interrupt("machine"))) void on_timer(void)
{
	DEVICE_REG(DEVICE_TIMER) = period;
	ticks++;
}

static u32 compute(u32 seed)
{
	u32 i;

	for (i = 0; i < INTERRUPTS_STEPS; i++) {
		seed = seed * 1664525 + 1013904223;
		seed ^= seed / (i + 1);
	}
	return seed;
}

int main(void)
{
	u32 result, asleep;

	csr_write(mtvec, (u32)vectors | 1);
	csr_write(mie, MIE_SOFTWARE | MIE_TIMER);
	period = INTERRUPTS_BUSY_PERIOD;
	DEVICE_REG(DEVICE_TIMER) = period;
	csr_set(mstatus, MSTATUS_MIE);
	result = compute(DEVICE_REG(DEVICE_IN));
	while (ticks < INTERRUPTS_BUSY_TICKS)
		;
	output(result);

	/*
	 * Interrupts are off outside of WFI, or the last tick could come before WFI waits for it.
	 */
	csr_clear(mstatus, MSTATUS_MIE);
	period = INTERRUPTS_IDLE_PERIOD;
	DEVICE_REG(DEVICE_TIMER) = period;
	ticks = 0;
	asleep = csr_read(time);
	while (ticks < INTERRUPTS_IDLE_TICKS) {
		__asm__ volatile("wfi" ::: "memory");
		csr_set(mstatus, MSTATUS_MIE);
		csr_clear(mstatus, MSTATUS_MIE);
	}
	output(csr_read(time) - asleep);
	csr_clear(mie, MIE_TIMER);

	csr_set(mstatus, MSTATUS_MIE);
	DEVICE_REG(DEVICE_DOORBELL) = 1;
	output(rings);
	__asm__ volatile("ecall" ::: "memory");
	output(calls);
	return 0;
}
