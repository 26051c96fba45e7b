// SPDX-License-Identifier: MIT
/*
 * Writes and reads programs as bytes, for saved graphs. Instructions and constants are stored
 * elsewhere in the file.
 */
#include <string.h>

#include "codegen/program.h"
#include "onpu/slots.h"
#include "util/arena.h"
#include "util/malloc.h"

#define MAX_BYTES (UINT64_C(1) << 40) /* the most bytes of constants, and of the arena */

/* ---- writing */

static void put_node(struct wnn_writer *w, const struct npu_node_info *node)
{
	wnn_put_u32(w, node->node_id);
	wnn_put_u32(w, node->exactness);
	wnn_put_u32(w, node->num_insns);
	wnn_put_u32(w, node->num_tiles);
	wnn_put_u64(w, node->est_cycles);
	wnn_put_u64(w, node->macs);
	wnn_put_u64(w, node->bytes_ld);
	wnn_put_u64(w, node->bytes_st);
	wnn_put_u32(w, node->kernel != NULL);
	wnn_put_text(w, node->kernel ? node->kernel : "", node->kernel ? strlen(node->kernel) : 0);
}

void npu_program_write(const struct npu_program *program, struct wnn_writer *w)
{
	wnn_put_u32(w, program->num_jobs);
	wnn_put(w, program->jobs, program->num_jobs * sizeof(*program->jobs));
	wnn_put_u32(w, program->num_insns);
	wnn_put(w, program->insn_node, program->num_insns * sizeof(*program->insn_node));
	wnn_put_u32(w, program->num_slots);
	wnn_put(w, program->slots, (size_t)program->num_slots * ONPU_SLOT_SIZE);
	wnn_put_u32(w, program->num_patches);
	for (uint32_t i = 0; i < program->num_patches; i++) {
		wnn_put_u32(w, program->patches[i].slot);
		wnn_put_u32(w, program->patches[i].base);
		wnn_put_u32(w, program->patches[i].value);
	}
	wnn_put_u64(w, program->constant_bytes);
	wnn_put_u64(w, program->arena_bytes);
	wnn_put_u32(w, program->num_bindings);
	for (uint32_t i = 0; i < program->num_bindings; i++) {
		wnn_put_u32(w, program->bindings[i].value_id);
		wnn_put_u32(w, program->bindings[i].written);
	}
	wnn_put_u32(w, program->num_nodes);
	for (uint32_t i = 0; i < program->num_nodes; i++)
		put_node(w, &program->nodes[i]);
	wnn_put_u64(w, program->est_cycles);
	wnn_put_text(w, program->residency_error, strlen(program->residency_error));
}

/* ---- reading */

struct source {
	struct wnn_reader *r;
	struct wnn_arena *arena;
	const struct ir_graph *graph;
	uint32_t first, count; /* the nodes of the program: first id, number */
	struct npu_program *program;
	bool *updated; /* by value id: a node of the program updates the value in place */
	bool nomem;
};

/* Reads an array of plain bytes; returns it and sets *count. NULL: no memory (s->nomem). */
static void *get_array(struct source *s, uint32_t *count, size_t each)
{
	void *array;

	*count = wnn_get_count(s->r, each);
	array = wnn_malloc(((size_t)*count + 1) * each);
	if (array)
		wnn_get(s->r, array, *count * each);
	else
		s->nomem = true;
	return array;
}

static void get_insns(struct source *s)
{
	struct npu_program *p = s->program;

	p->jobs = get_array(s, &p->num_jobs, sizeof(*p->jobs));
	p->insn_node = get_array(s, &p->num_insns, sizeof(*p->insn_node));
	p->slots = get_array(s, &p->num_slots, ONPU_SLOT_SIZE);
	for (uint32_t i = 0; !s->nomem && i < p->num_insns; i++)
		s->r->failed |= p->insn_node[i] > s->count;
}

static void get_patches(struct source *s)
{
	struct npu_program *p = s->program;

	p->num_patches = wnn_get_count(s->r, 3 * sizeof(uint32_t));
	p->patches = wnn_calloc((size_t)p->num_patches + 1, sizeof(*p->patches));
	s->nomem |= !p->patches;
	for (uint32_t i = 0; p->patches && i < p->num_patches; i++) {
		uint32_t slot = wnn_get_u32(s->r), base = wnn_get_u32(s->r);

		s->r->failed |= base == NPU_BASE_NONE || base > NPU_BASE_VALUE;
		p->patches[i] =
			(struct npu_patch){ slot, (enum npu_base)(base & 3), wnn_get_u32(s->r) };
	}
	p->constant_bytes = wnn_get_u64(s->r);
	p->arena_bytes = wnn_get_u64(s->r);
	s->r->failed |= p->constant_bytes > MAX_BYTES || p->arena_bytes > MAX_BYTES;
}

/*
 * Sets s->updated[id] for the result of each node of the program that updates its operand in place,
 * and for all earlier values in the same memory. Visits each value once.
 */
static void find_updated(struct source *s)
{
	s->updated = wnn_calloc((size_t)s->graph->num_values + 1, sizeof(*s->updated));
	s->nomem |= !s->updated;
	for (uint32_t i = s->first; s->updated && i - s->first < s->count; i++) {
		const struct ir_node *node = s->graph->nodes[i];
		const struct ir_value *old = node->results[0];

		if (!ir_updates_in_place(node))
			continue;
		for (; old && !s->updated[old->id]; old = old->def ? ir_updated(old->def) : NULL)
			s->updated[old->id] = true;
	}
}

/*
 * Returns true if a program can have this binding; it may only write results of its own nodes, and
 * values that these update in place.
 */
static bool may_bind(const struct source *s, uint32_t id, bool written)
{
	const struct ir_value *value = id < s->graph->num_values ? s->graph->values[id] : NULL;

	if (!value || value->kind == IR_VALUE_CONSTANT)
		return false;
	return !written ||
	       (value->kind == IR_VALUE_RESULT && value->def->id >= s->first &&
		value->def->id - s->first < s->count) ||
	       s->updated[id];
}

static void get_bindings(struct source *s)
{
	struct npu_program *p = s->program;

	p->num_bindings = wnn_get_count(s->r, 2 * sizeof(uint32_t));
	p->bindings = wnn_calloc((size_t)p->num_bindings + 1, sizeof(*p->bindings));
	s->nomem |= !p->bindings;
	for (uint32_t i = 0; p->bindings && i < p->num_bindings; i++) {
		uint32_t id = wnn_get_u32(s->r), written = wnn_get_u32(s->r);

		if (written > 1 || !may_bind(s, id, written)) {
			s->r->failed = true;
			return;
		}
		p->bindings[i] = (struct npu_binding){
			.value_id = id,
			.bytes = (uint64_t)ir_type_bytes(&s->graph->values[id]->type),
			.written = written,
		};
	}
	for (uint32_t i = 0; p->patches && i < p->num_patches; i++)
		s->r->failed |= p->patches[i].base == NPU_BASE_VALUE &&
				p->patches[i].value >= p->num_bindings;
}

static void get_node(struct source *s, uint32_t index)
{
	struct npu_node_info *node = &s->program->nodes[index];
	uint32_t exactness, has_kernel;
	const char *kernel;

	node->node_id = wnn_get_u32(s->r);
	exactness = wnn_get_u32(s->r);
	node->num_insns = wnn_get_u32(s->r);
	node->num_tiles = wnn_get_u32(s->r);
	node->est_cycles = wnn_get_u64(s->r);
	node->macs = wnn_get_u64(s->r);
	node->bytes_ld = wnn_get_u64(s->r);
	node->bytes_st = wnn_get_u64(s->r);
	has_kernel = wnn_get_u32(s->r);
	kernel = wnn_get_text(s->r, s->arena);
	node->kernel = has_kernel ? kernel : NULL;
	node->exactness = exactness <= NPU_SPLIT_KEYS ? (enum npu_exactness)exactness : NPU_EXACT;
	s->r->failed |= exactness > NPU_SPLIT_KEYS || node->node_id != s->first + index;
}

static void get_nodes(struct source *s)
{
	struct npu_program *p = s->program;
	const char *why;

	p->num_nodes = wnn_get_count(s->r, 12 * sizeof(uint32_t));
	s->r->failed |= p->num_nodes != s->count;
	p->nodes = wnn_calloc((size_t)p->num_nodes + 1, sizeof(*p->nodes));
	s->nomem |= !p->nodes;
	for (uint32_t i = 0; p->nodes && i < p->num_nodes && !s->r->failed; i++)
		get_node(s, i);
	p->est_cycles = wnn_get_u64(s->r);
	why = wnn_get_text(s->r, s->arena);
	if (strlen(why) < sizeof(p->residency_error))
		memcpy(p->residency_error, why, strlen(why) + 1);
	else
		s->r->failed = true;
}

struct npu_program *npu_program_read(struct wnn_reader *r, const struct ir_graph *graph,
				     uint32_t first, uint32_t count, struct wnn_error *err)
{
	struct source s = { .r = r,
			    .arena = graph->arena,
			    .graph = graph,
			    .first = first,
			    .count = count,
			    .program = wnn_calloc(1, sizeof(*s.program)) };

	s.nomem = !s.program;
	if (!s.nomem)
		get_insns(&s);
	if (!s.nomem)
		get_patches(&s);
	if (!s.nomem)
		find_updated(&s);
	if (!s.nomem)
		get_bindings(&s);
	if (!s.nomem)
		get_nodes(&s);
	wnn_free(s.updated);
	if (s.nomem)
		wnn_error_nomem(err, "an NPU program");
	else if (r->failed)
		wnn_error_set(err, WNN_OPERATION_ERROR, "one of its NPU programs is damaged");
	else
		return s.program;
	npu_program_destroy(s.program);
	return NULL;
}
