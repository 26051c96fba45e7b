// SPDX-License-Identifier: MIT
/* Copies bytes from and to memory through the job's address space; scratch memory. */
#include <string.h>

#include "onpu_memory.h"
#include "machine/sim.h"

static bool space_result(struct sim_context *c, unsigned int operand, int code, uint64_t address)
{
	if (!code)
		return true;
	if (c->mem->fault_address)
		address = c->mem->fault_address(c->mem->ctx);
	return sim_fail(c, code, operand, address);
}

bool sim_read(struct sim_context *c, unsigned int operand, uint64_t address, void *dst, size_t size)
{
	return space_result(c, operand, c->mem->read(c->mem->ctx, address, dst, size), address);
}

bool sim_write(struct sim_context *c, unsigned int operand, uint64_t address, const void *src,
	       size_t size)
{
	return space_result(c, operand, c->mem->write(c->mem->ctx, address, src, size), address);
}

void *sim_scratch(struct sim_context *c, size_t size)
{
	if (c->scratch_size >= size)
		return c->scratch;
	sim_free(&c->memory, c->scratch);
	c->scratch_size = (size + 4095) & ~(size_t)4095;
	c->scratch = sim_alloc(&c->memory, c->scratch_size);
	if (!c->scratch) {
		/* The host is out of memory; of the architecture's faults, PARITY comes closest. */
		c->scratch_size = 0;
		sim_fail(c, ONPU_FAULT_PARITY, ONPU_OPERAND_NONE, 0);
	}
	return c->scratch;
}
