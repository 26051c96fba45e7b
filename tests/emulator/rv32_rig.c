// SPDX-License-Identifier: MIT
/* Implements rv32_rig.h, the rig of the management core's tests. */
#include "rv32_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "rv32_reference.h"

/* Address at which rig_csr_read() and rig_csr_write() put their instruction. */
#define RIG_SCRATCH_PC (RIG_TCM_BASE + RIG_TCM_SIZE - 8)

static void remember(struct rig *rig, uint32_t addr, unsigned int size, uint32_t value)
{
	rig->addr = addr;
	rig->size = size;
	rig->value = value;
}

static bool dev_load(void *ctx, uint32_t addr, unsigned int size, uint32_t *value)
{
	struct rig *rig = ctx;

	rig->loads++;
	remember(rig, addr, size, 0);
	if (addr - RIG_DEV_BASE >= RIG_DEV_SIZE)
		return false;
	*value = rig->answer;
	return true;
}

static bool dev_store(void *ctx, uint32_t addr, unsigned int size, uint32_t value)
{
	struct rig *rig = ctx;

	rig->stores++;
	remember(rig, addr, size, value);
	if (addr - RIG_DEV_BASE >= RIG_DEV_SIZE)
		return false;
	if (rig->raise)
		onpu_rv32_set_irq(&rig->core, rig->raise, true);
	if (rig->yield)
		onpu_rv32_yield(&rig->core);
	return true;
}

void rig_init(struct rig *rig)
{
	struct onpu_rv32_bus bus = {
		.ctx = rig,
		.load = dev_load,
		.store = dev_store,
		.tcm = rig->tcm,
		.tcm_base = RIG_TCM_BASE,
		.tcm_size = RIG_TCM_SIZE,
	};

	memset(rig, 0, sizeof(*rig));
	assert_true(onpu_rv32_init(&rig->core, &bus, RIG_HARTID, RIG_TCM_BASE));
}

uint32_t rig_peek(const struct rig *rig, uint32_t addr)
{
	const uint8_t *p = rig->tcm + (addr - RIG_TCM_BASE);

	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

void rig_poke(struct rig *rig, uint32_t addr, uint32_t word)
{
	uint8_t *p = rig->tcm + (addr - RIG_TCM_BASE);
	unsigned int i;

	for (i = 0; i < 4; i++)
		p[i] = (uint8_t)(word >> (8 * i));
}

void rig_program(struct rig *rig, uint32_t addr, const uint32_t *words, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		rig_poke(rig, addr + 4 * i, words[i]);
	rig->core.pc = addr;
}

enum onpu_rv32_stop rig_step(struct rig *rig)
{
	return onpu_rv32_run(&rig->core, rig->core.cycle + 1);
}

enum onpu_rv32_stop rig_execute(struct rig *rig, uint32_t pc, uint32_t word)
{
	rig_poke(rig, pc, word);
	rig->core.pc = pc;
	return rig_step(rig);
}

void rig_expect_trap(const struct rig *rig, uint32_t pc, uint32_t cause, uint32_t tval)
{
	const struct onpu_rv32 *core = &rig->core;

	if (core->halted)
		fail_msg("locked up at %#x, cause %u", core->pc, core->halt_cause);
	if (core->mcause != cause || core->mepc != pc || core->mtval != tval)
		fail_msg("trap: cause %#x mepc %#x mtval %#x, not %#x %#x %#x", core->mcause,
			 core->mepc, core->mtval, cause, pc, tval);
	if (core->pc != (core->mtvec & ~3u))
		fail_msg("trap goes to %#x, handler is %#x", core->pc, core->mtvec);
}

static void csr_step(struct rig *rig, uint32_t word)
{
	uint32_t pc = rig->core.pc;

	rig_execute(rig, RIG_SCRATCH_PC, word);
	if (rig->core.pc != RIG_SCRATCH_PC + 4)
		fail_msg("CSR %#x: pc %#x, cause %#x", word >> 20, rig->core.pc, rig->core.mcause);
	rig->core.pc = pc;
}

uint32_t rig_csr_read(struct rig *rig, uint32_t csr)
{
	uint32_t x1 = rig->core.x[1];
	uint32_t value;

	csr_step(rig, ref_encode_csr("csrrs", 1, 0, csr));
	value = rig->core.x[1];
	rig->core.x[1] = x1;
	return value;
}

void rig_csr_write(struct rig *rig, uint32_t csr, uint32_t value)
{
	uint32_t x1 = rig->core.x[1];

	rig->core.x[1] = value;
	csr_step(rig, ref_encode_csr("csrrw", 0, 1, csr));
	rig->core.x[1] = x1;
}

uint32_t rig_random_operand(struct rng *rng)
{
	uint32_t r = rng_u32(rng);

	switch (r >> 29) {
	case 0:
		return (r & 1) ? 0x80000000 : 0x7fffffff;
	case 1:
		return (r & 15) - 8;
	case 2:
		return 1u << (r & 31);
	case 3:
		return (1u << (r & 31)) - 1;
	default:
		return rng_u32(rng);
	}
}
