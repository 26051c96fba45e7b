// SPDX-License-Identifier: MIT
/* Runs chains: for each block of elements, all steps one after the other. */
#include "chain.h"

#include <string.h>

#include "combine.h"
#include "run.h"

#define BUFFER_BYTES ((size_t)SHLO_CHAIN_BLOCK * 8)

/* The memory of a chain's values. It is itself a value of the run, so that an error frees it. */
struct memory {
	const struct shlo_chain *chain;
	char **at; /* by index: the first element, or the buffer */
};

/* Returns whether the address of a value advances from block to block. */
static bool advances(const struct shlo_chain_value *value)
{
	return value->memory == SHLO_AT_ARRAY || value->memory == SHLO_AT_RESULT;
}

static char *address(const struct memory *m, size_t index, int64_t first)
{
	const struct shlo_chain_value *of = &m->chain->values[index];

	return m->at[index] + (advances(of) ? (size_t)first * shlo_elements[of->element].bytes : 0);
}

/* Returns the elements of a value from outside of the chain, or of a constant that did not run. */
static const void *elements_of(struct shlo_run *run, struct shlo_frame *frame,
			       const struct shlo_value *value)
{
	const struct shlo_tensor *tensor = frame->slots[value->slot];

	if (!tensor && value->op && value->op->kind->family == SHLO_CONSTANT)
		return shlo_attr_find(&value->op->attrs, "value")->data;
	if (!tensor)
		shlo_run_error(run, "an operand is used before it is computed");
	return tensor->data;
}

static void fill(void *to, const void *element, size_t bytes)
{
	for (size_t i = 0; i < SHLO_CHAIN_BLOCK; i++)
		memcpy((char *)to + i * bytes, element, bytes);
}

/* Sets the memory of all values; results get their memory in the frame. */
static void prepare(struct memory *m, struct shlo_run *run, struct shlo_frame *frame, char *buffers)
{
	for (size_t i = 0; i < m->chain->value_count; i++) {
		const struct shlo_chain_value *value = &m->chain->values[i];
		struct shlo_tensor **slot = &frame->slots[value->value->slot];

		m->at[i] = buffers + value->buffer * BUFFER_BYTES;
		if (value->memory == SHLO_AT_ARRAY) {
			/* No step writes to it. */
			m->at[i] = (char *)elements_of(run, frame, value->value);
		} else if (value->memory == SHLO_AT_SPLAT) {
			fill(m->at[i], elements_of(run, frame, value->value),
			     shlo_elements[value->element].bytes);
		} else if (value->memory == SHLO_AT_RESULT) {
			shlo_tensor_put(*slot);
			*slot = NULL;
			*slot = shlo_tensor_unset(run, value->value->type);
			m->at[i] = (*slot)->data;
		}
	}
}

/* Sets a block to the elements of an iota from element @first on. */
static void count_up(const struct shlo_chain_value *value, void *to, int64_t first, size_t count)
{
	unsigned int bytes = shlo_elements[value->element].bytes;
	int64_t index = first / value->inner % value->dim, rest = first % value->inner;

	for (size_t i = 0; i < count; i++) {
		if (shlo_elements[value->element].bits == 8 * bytes)
			memcpy((char *)to + i * bytes, &index, bytes);
		else
			shlo_store(value->element, to, i, shlo_int(index));
		if (++rest == value->inner) {
			rest = 0;
			index = index + 1 == value->dim ? 0 : index + 1;
		}
	}
}

/* Runs a step that only shlo_run_step() has. */
static void run_slowly(const struct shlo_chain_step *step, void *out, const void *const *in,
		       size_t count)
{
	enum shlo_element to = step->op->results[0]->type->element;
	struct shlo_num numbers[3] = { 0 };

	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < step->in_count; k++)
			numbers[k] = shlo_load(step->op->operands[k]->type->element, in[k], i);
		shlo_store(to, out, i, shlo_run_step(&step->step, numbers));
	}
}

static void run_steps(const struct memory *m, int64_t first, size_t count)
{
	for (size_t i = 0; i < m->chain->step_count; i++) {
		const struct shlo_chain_step *step = &m->chain->steps[i];
		void *out = address(m, step->out, first);
		const void *in[3] = { NULL };

		for (size_t k = 0; k < step->in_count; k++)
			in[k] = address(m, step->in[k], first);
		if (step->copies)
			memcpy(out, in[0],
			       count * shlo_elements[m->chain->values[step->out].element].bytes);
		else if (!shlo_combine_step(&step->step, out, in, step->by_one, count))
			run_slowly(step, out, in, count);
	}
}

void shlo_run_chain(struct shlo_run *run, struct shlo_frame *frame, const struct shlo_block *block,
		    const struct shlo_chain *chain)
{
	int64_t words = (int64_t)(chain->buffer_count * SHLO_CHAIN_BLOCK + chain->value_count);
	struct shlo_type type = { .element = SHLO_I64, .rank = 1, .dims = &words };
	struct shlo_tensor *memory;
	struct memory m = { .chain = chain };

	for (size_t i = chain->first; i < chain->end; i++)
		if (!chain->is_member[i - chain->first])
			shlo_eval_op(run, frame, block->ops[i]);
	run->at = block->ops[chain->first];
	memory = shlo_tensor_unset(run, &type);
	m.at = (char **)((char *)memory->data + chain->buffer_count * BUFFER_BYTES);
	prepare(&m, run, frame, memory->data);
	for (int64_t first = 0; first < chain->count; first += SHLO_CHAIN_BLOCK) {
		int64_t left = chain->count - first;
		size_t count = (size_t)(left < SHLO_CHAIN_BLOCK ? left : SHLO_CHAIN_BLOCK);

		for (size_t i = 0; i < chain->value_count; i++)
			if (chain->values[i].memory == SHLO_AT_IOTA)
				count_up(&chain->values[i], m.at[i], first, count);
		run_steps(&m, first, count);
	}
	shlo_tensor_put(memory);
	run->reference_ops += chain->counted;
}
