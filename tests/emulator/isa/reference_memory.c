// SPDX-License-Identifier: MIT
/*
 * Accesses elements in both spaces of the reference, memory and SRAM (isa.xml: #address, #types).
 */
#include "reference.h"

#include <math.h>
#include <stdlib.h>

uint8_t *ref_byte(struct ref_machine *m, unsigned int space, uint64_t address, bool write,
		  struct ref_fault *fault, unsigned int operand)
{
	if (space == ONPU_SPACE_SRAM)
		return address < m->sram_bytes ? m->sram + address : NULL;
	if (address - m->memory_base < m->memory_size &&
	    !(write && address - m->readonly_base < m->readonly_size))
		return m->memory + (address - m->memory_base);
	if (fault && !fault->code) {
		fault->code = address - m->memory_base < m->memory_size ?
				      ONPU_FAULT_MMU_PERM :
				      ONPU_FAULT_MMU_NOT_PRESENT;
		fault->operand = operand;
		fault->address = address;
	}
	return NULL;
}

/*
 * Returns the number of an element's first byte or nibble; exact, because the checks have found the
 * element inside its window.
 */
static ref_int position(const struct ref_tensor *x, const uint32_t *i)
{
	ref_int at = (ref_int)x->base * (ref_is_nibble(x->dtype) ? 2 : 1) + x->offset + x->shift;

	for (unsigned int d = 0; d < x->rank; d++)
		at += (ref_int)i[d] * x->stride[d];
	return at;
}

static uint8_t *valid_byte(struct ref_machine *m, const struct ref_tensor *x, ref_int at,
			   bool write)
{
	uint8_t *byte = ref_byte(m, x->space, (uint64_t)at, write, NULL, 0);

	if (!byte)
		abort(); /* the caller has called ref_check() and checked the pages before */
	return byte;
}

uint64_t ref_load_bits(struct ref_machine *m, const struct ref_tensor *x, const uint32_t *i)
{
	ref_int at = position(x, i);
	uint64_t bits = 0;

	if (ref_is_nibble(x->dtype))
		return *valid_byte(m, x, at / 2, false) >> (at % 2 ? 4 : 0) & 15;
	for (unsigned int b = ref_size(x->dtype); b-- > 0;)
		bits = bits << 8 | *valid_byte(m, x, at + b, false);
	return bits;
}

void ref_store_bits(struct ref_machine *m, const struct ref_tensor *x, const uint32_t *i,
		    uint64_t bits)
{
	ref_int at = position(x, i);

	if (ref_is_nibble(x->dtype)) {
		uint8_t *byte = valid_byte(m, x, at / 2, true);

		*byte = at % 2 ? (*byte & 0x0f) | (bits & 15) << 4 : (*byte & 0xf0) | (bits & 15);
		return;
	}
	for (unsigned int b = 0; b < ref_size(x->dtype); b++)
		*valid_byte(m, x, at + b, true) = (uint8_t)(bits >> 8 * b);
}

/* Checks the accesses to an element; stores the fault of its first byte that cannot be accessed. */
void ref_touch(struct ref_machine *m, const struct ref_op *op, unsigned int x, const uint32_t *i,
	       struct ref_fault *fault)
{
	const struct ref_tensor *t = &op->x[x];
	ref_int at = position(t, i);

	for (unsigned int b = 0; b < ref_size(t->dtype); b++)
		ref_byte(m, t->space, (uint64_t)(at + b), x == ONPU_OPERAND_DST, fault, x);
}

float ref_load_float(struct ref_machine *m, const struct ref_tensor *x, const uint32_t *i)
{
	uint64_t bits = ref_load_bits(m, x, i);

	if (x->dtype == ONPU_DT_F16)
		return ref_from_half((uint16_t)bits);
	if (x->dtype == ONPU_DT_BF16)
		return ref_from_bfloat((uint16_t)bits);
	if (x->dtype == ONPU_DT_F32)
		return ref_float_of((uint32_t)bits);
	if (ref_is_small(x->dtype))
		return ref_from_small(x->dtype, (unsigned int)bits);
	return ref_integer_to_float(ref_wrap(bits, x->dtype));
}

ref_int ref_load_int(struct ref_machine *m, const struct ref_tensor *x, const uint32_t *i)
{
	return ref_wrap(ref_load_bits(m, x, i), x->dtype);
}

void ref_store_float(struct ref_machine *m, const struct ref_tensor *x, const uint32_t *i, float v)
{
	if (x->dtype == ONPU_DT_F16)
		ref_store_bits(m, x, i, ref_to_half(v));
	else if (x->dtype == ONPU_DT_BF16)
		ref_store_bits(m, x, i, ref_to_bfloat(v));
	else
		ref_store_bits(m, x, i, isnan(v) ? 0x7fc00000 : ref_bits_of(v));
}

void ref_store_int(struct ref_machine *m, const struct ref_tensor *x, const uint32_t *i, ref_int v)
{
	ref_store_bits(m, x, i, (uint64_t)v);
}
