/* SPDX-License-Identifier: MIT */
/*
 * The rig of the management core's tests: a core with a small TCM, a bus with one device that
 * records its accesses, and random numbers.
 */
#ifndef RV32_RIG_H
#define RV32_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include "../random.h"
#include "device/riscv.h"

#define RIG_TCM_BASE 0x00010000u
#define RIG_TCM_SIZE 0x00004000u
#define RIG_DEV_BASE 0x40000000u /* answers RIG_DEV_SIZE bytes from here */
#define RIG_DEV_SIZE 0x100u
#define RIG_NOWHERE  0x80000000u /* nothing answers */
#define RIG_HARTID   5

struct rig {
	struct onpu_rv32 core;
	uint8_t tcm[RIG_TCM_SIZE];

	/* the device: the value that loads return, and the last access */
	uint32_t answer;
	unsigned int loads, stores;
	uint32_t addr, value;
	unsigned int size;
	/* interrupt lines to raise, and whether to yield, at the next store */
	uint32_t raise;
	bool yield;
};

void rig_init(struct rig *rig);

uint32_t rig_peek(const struct rig *rig, uint32_t addr);
void rig_poke(struct rig *rig, uint32_t addr, uint32_t word);

/* Puts @count words at @addr and sets pc to it. */
void rig_program(struct rig *rig, uint32_t addr, const uint32_t *words, unsigned int count);

/* Executes one instruction, or takes one interrupt. Returns why the core stopped. */
enum onpu_rv32_stop rig_step(struct rig *rig);

/* Puts @word at @pc and executes it there. Returns why the core stopped. */
enum onpu_rv32_stop rig_execute(struct rig *rig, uint32_t pc, uint32_t word);

/* Fails unless the core just took this exception, from @pc to its handler. */
void rig_expect_trap(const struct rig *rig, uint32_t pc, uint32_t cause, uint32_t tval);

/*
 * Read or write a CSR with an instruction at an address outside of the program; rig_csr_read()
 * returns the value.
 */
uint32_t rig_csr_read(struct rig *rig, uint32_t csr);
void rig_csr_write(struct rig *rig, uint32_t csr, uint32_t value);

/*
 * Returns a random number that is often a corner value: 0, 1, -1, the extremes, powers of two,
 * small ones.
 */
uint32_t rig_random_operand(struct rng *rng);

#endif
