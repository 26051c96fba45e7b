/* SPDX-License-Identifier: MIT */
/*
 * The firmware's access to the hardware: registers, sleep and DMA. Off the target, unit tests
 * define hw_read(), hw_write(), hw_wait(), hw_enable_wake() and hw_local().
 */
#ifndef FW_HW_H
#define FW_HW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "onpu/registers.h"

#ifdef __riscv

static inline uint32_t hw_read(uint32_t reg)
{
	return *(volatile uint32_t *)(ONPU_CORE_REGS_BASE + reg);
}

static inline void hw_write(uint32_t reg, uint32_t value)
{
	*(volatile uint32_t *)(ONPU_CORE_REGS_BASE + reg) = value;
}

/* Sleeps until an interrupt line that hw_enable_wake() has enabled is high. */
static inline void hw_wait(void)
{
	__asm__ volatile("wfi" ::: "memory");
}

static inline void hw_enable_wake(void)
{
	const uint32_t external = 1u << 11;

	__asm__ volatile("csrs mie, %0" ::"r"(external) : "memory");
}

/* Returns the address by which the DMA reaches an object of the firmware. */
static inline uint32_t hw_local(const void *object)
{
	return (uint32_t)(uintptr_t)object;
}

#else

uint32_t hw_read(uint32_t reg);
void hw_write(uint32_t reg, uint32_t value);
void hw_wait(void);
void hw_enable_wake(void);
uint32_t hw_local(const void *object);

#endif

static inline uint64_t hw_read64(uint32_t low)
{
	return hw_read(low) | (uint64_t)hw_read(low + 4) << 32;
}

static inline void hw_write64(uint32_t low, uint64_t value)
{
	hw_write(low, (uint32_t)value);
	hw_write(low + 4, (uint32_t)(value >> 32));
}

/* Returns the time of the device clock, in cycles. */
static inline uint64_t hw_cycle(void)
{
	uint32_t high, low;

	do {
		high = hw_read(ONPU_REG_CORE_MTIME_HI);
		low = hw_read(ONPU_REG_CORE_MTIME_LO);
	} while (high != hw_read(ONPU_REG_CORE_MTIME_HI));
	return low | (uint64_t)high << 32;
}

/*
 * Moves @size bytes between the host's memory and @local; addresses and size are multiples of 4.
 * Returns whether the DMA succeeded.
 */
static inline bool hw_dma(enum onpu_dma_command command, uint64_t host, void *local, uint32_t size)
{
	__asm__ volatile("" ::: "memory");
	hw_write64(ONPU_REG_CORE_DMA_HOST_LO, host);
	hw_write(ONPU_REG_CORE_DMA_LOCAL, hw_local(local));
	hw_write(ONPU_REG_CORE_DMA_LENGTH, size);
	hw_write(ONPU_REG_CORE_DMA_COMMAND, command);
	__asm__ volatile("" ::: "memory");
	return !hw_read(ONPU_REG_CORE_DMA_ERROR);
}

#endif
