// SPDX-License-Identifier: MIT
/*
 * Compiles an optimised graph for a device: divides it into steps, compiles the programs of the
 * NPU, plans the CPU's nodes, and gives memory to each value that must be in memory. The API calls
 * run_compile() when it builds a graph; store.c calls the functions that make steps for a graph
 * from a file.
 */
#include <string.h>

#include "onpu/registers.h"
#include "onpu/slots.h"
#include "util/intervals.h"
#include "run/compiled_private.h"
#include "util/array.h"
#include "util/malloc.h"
#include "util/number.h"

/* Returns bytes rounded up to the alignment of programs, constants and values. */
static uint64_t run_align(uint64_t bytes)
{
	return wnn_align_up(bytes, 256);
}

/* Whether a node adds a float32 value or integers of the same shape to `value`. */
static bool adds_to(const struct ir_node *node, const struct ir_value *value)
{
	const struct ir_type *type = &node->results[0]->type;
	bool integers = node->op == IR_OP_QBINARY;
	uint32_t second = integers ? 3 : 1;

	if ((node->op != IR_OP_BINARY && !integers) || node->attrs.binary.kind != IR_ADD)
		return false;
	for (uint32_t k = 0; k <= second; k += second)
		if (!ir_type_same_shape(&node->operands[k]->type, type) ||
		    (!integers &&
		     (node->operands[k]->type.dtype != IR_F32 || type->dtype != IR_F32)))
			return false;
	return node->operands[0] == value || node->operands[second] == value;
}

/* Whether a node is a convolution, or a function of one quantised operand, that reads `value`. */
static bool reads_first(const struct ir_node *node, const struct ir_value *value)
{
	return (node->op == IR_OP_CONV || node->op == IR_OP_QUNARY) && node->operands[0] == value;
}

/*
 * Fuses a CPU node with the step before it, when only that node reads the result of the step and
 * the step's kernel can compute both. Returns true when the node is fused, else false; when that is
 * because the step cannot be planned, *problem says why.
 */
static bool fuse(struct run_compiled *c, struct run_step *step, const struct ir_node *node,
		 const uint32_t *uses, struct wnn_error *problem)
{
	const struct ir_node *producer = c->graph->nodes[step->first];
	const struct ir_value *value = producer->results[0];
	const struct cpu_context *cpu = c->device->cpu;

	/* A node that was planned early already has the strides of its operands and result. */
	if (c->early[node->id] || step->count != 1 || node->id != step->first + 1 ||
	    producer->num_results != 1 || uses[value->id] != 1 ||
	    (!adds_to(node, value) && !reads_first(node, value)))
		return false;
	if (!step->plan)
		step->plan = cpu_plan_create(c->device->cpu, producer, RUN_CPU_USE, problem);
	if (!step->plan || !cpu_plan_fuse(step->plan, cpu, node))
		return false;
	step->count++;
	return true;
}

/* Destroys the plans that strides.c has made and that no step has taken. */
static void drop_early(struct run_compiled *c)
{
	for (uint32_t i = 0; c->early && i < c->graph->num_nodes; i++)
		cpu_plan_destroy(c->early[i]);
	wnn_free(c->early);
	c->early = NULL;
}

int run_make_steps(struct run_compiled *c, const bool *on_npu, struct wnn_error *err)
{
	static atomic_uint_fast64_t next_keep = 1;
	const struct ir_graph *graph = c->graph;
	struct wnn_error problem = { 0 };
	uint32_t *uses;

	if (run_find_views(c, on_npu, err)) {
		drop_early(c);
		return -1;
	}
	uses = ir_count_uses(graph);
	c->first_keep = atomic_fetch_add(&next_keep, graph->num_nodes);
	c->steps = wnn_calloc((size_t)graph->num_nodes + 1, sizeof(*c->steps));
	if (!c->steps || !uses) {
		wnn_free(uses);
		drop_early(c);
		return wnn_error_nomem(err, "the steps of a graph");
	}
	for (uint32_t i = 0; i < graph->num_nodes; i++) {
		struct run_step *last = c->num_steps ? &c->steps[c->num_steps - 1] : NULL;

		if (c->is_view[i])
			continue;
		if (on_npu[i] && last && on_npu[last->first] && i == last->first + last->count) {
			last->count++;
			continue;
		}
		if (!on_npu[i] && last && !on_npu[last->first] &&
		    fuse(c, last, graph->nodes[i], uses, &problem))
			continue;
		if (problem.status)
			break;
		c->steps[c->num_steps++] =
			(struct run_step){ .first = i, .count = 1, .plan = c->early[i] };
		c->early[i] = NULL;
	}
	wnn_free(uses);
	drop_early(c);
	if (problem.status)
		*err = problem;
	return problem.status ? -1 : run_find_branches(c, on_npu, err);
}

static void note_use(struct run_location *location, uint32_t step, bool from_memory)
{
	if (step != location->first || from_memory)
		location->needed = true;
	if (step > location->last)
		location->last = step;
}

/*
 * Notes the first and last step that use each value of step `s`, and whether the value must be in
 * memory. @cpu: the step runs on the CPU.
 */
static void note_step(struct run_compiled *c, uint32_t s, bool cpu)
{
	const struct run_step *step = &c->steps[s];

	for (uint32_t i = step->first; i < step->first + step->count; i++) {
		const struct ir_node *node = c->graph->nodes[i];

		for (uint32_t k = 0; k < node->num_operands; k++)
			if (node->operands[k])
				note_use(run_home_location(c, node->operands[k]->id), s, cpu);
		for (uint32_t k = 0; k < node->num_results; k++) {
			struct run_location *location = run_home_location(c, node->results[k]->id);

			if (location->first == UINT32_MAX)
				location->first = s;
			location->last = s;
			location->needed |= cpu;
		}
	}
	/*
	 * The second node of a step reads the result of the first from the cache, block by block,
	 * so that this result has no memory.
	 */
	if (cpu && step->count > 1)
		c->locations[c->graph->nodes[step->first]->results[0]->id].needed = false;
}

static bool is_whole(const struct run_compiled *c, const struct ir_value *value)
{
	const struct ir_value *home = c->graph->values[c->homes[value->id].value];

	return ir_type_bytes(&value->type) == ir_type_bytes(&home->type);
}

static int locate_outputs(struct run_compiled *c, struct wnn_error *err)
{
	const struct ir_graph *graph = c->graph;

	c->copies = wnn_calloc((size_t)graph->num_outputs + 1, sizeof(*c->copies));
	if (!c->copies)
		return wnn_error_nomem(err, "the outputs of a graph");
	for (uint32_t i = 0; i < graph->num_outputs; i++) {
		const struct ir_value *value = graph->outputs[i].value;
		struct run_location *location = run_home_location(c, value->id);

		if (graph->outputs[i].updates) {
			location->needed = true;
		} else if (location->where == RUN_NOWHERE && is_whole(c, value)) {
			location->where = RUN_OUTPUT;
			location->index = i;
			location->needed = true;
		} else {
			c->copies[c->num_copies++] = (struct run_copy){ i, value };
			location->needed = true;
			location->last = c->num_steps;
		}
	}
	return 0;
}

/* Notes which outputs update inputs, and gives these inputs the memory of the outputs. */
static void locate_updates(struct run_compiled *c)
{
	const struct ir_graph *graph = c->graph;

	for (uint32_t i = 0; i < graph->num_inputs; i++)
		for (uint32_t k = 0; k < graph->num_outputs; k++) {
			struct run_location *location = &c->locations[graph->inputs[i]->id];

			if (graph->outputs[k].updates != graph->inputs[i])
				continue;
			location->where = RUN_OUTPUT;
			location->index = k;
			c->updates[c->num_updates++] = (struct run_update){ i, k };
		}
}

int run_locate_values(struct run_compiled *c, const bool *on_npu, struct wnn_error *err)
{
	const struct ir_graph *graph = c->graph;

	c->locations = wnn_calloc((size_t)graph->num_values + 1, sizeof(*c->locations));
	c->updates = wnn_calloc((size_t)graph->num_outputs + 1, sizeof(*c->updates));
	if (!c->locations || !c->updates)
		return wnn_error_nomem(err, "the values of a graph");
	for (uint32_t i = 0; i < graph->num_values; i++)
		c->locations[i].first = UINT32_MAX;
	for (uint32_t i = 0; i < graph->num_values; i++)
		if (graph->values[i] && graph->values[i]->kind == IR_VALUE_CONSTANT) {
			c->locations[i].where = RUN_CONSTANT;
			c->locations[i].index = i;
		}
	for (uint32_t i = 0; i < graph->num_inputs; i++) {
		struct run_location *location = &c->locations[graph->inputs[i]->id];

		location->where = RUN_INPUT;
		location->index = i;
	}
	locate_updates(c);
	for (uint32_t s = 0; s < c->num_steps; s++)
		note_step(c, s, !on_npu[c->steps[s].first]);
	return locate_outputs(c, err);
}

static int compile_step(struct run_compiled *c, uint32_t s, struct npu_refusals *refusals,
			struct wnn_error *err)
{
	struct run_step *step = &c->steps[s];
	const struct ir_graph *graph = c->graph;
	const struct npu_caps *caps = &c->device->ws->caps;
	uint32_t *live_out, num_live_out = 0, most = 0;
	int ret;

	for (uint32_t i = step->first; i < step->first + step->count; i++)
		most += graph->nodes[i]->num_results;
	live_out = wnn_malloc(((size_t)most + 1) * sizeof(*live_out));
	if (!live_out)
		return wnn_error_nomem(err, "the results of a program");
	for (uint32_t i = step->first; i < step->first + step->count; i++)
		for (uint32_t k = 0; k < graph->nodes[i]->num_results; k++)
			if (c->locations[graph->nodes[i]->results[k]->id].needed)
				live_out[num_live_out++] = graph->nodes[i]->results[k]->id;
	ret = npu_compile(graph, step->first, step->count, live_out, num_live_out, caps,
			  c->device->profile, refusals, &step->program, err);
	wnn_free(live_out);
	return ret;
}

void run_set_offsets(struct run_compiled *c, struct run_step *step)
{
	const struct npu_program *program = step->program;

	step->insns = c->code_bytes;
	c->code_bytes =
		run_align(c->code_bytes + (uint64_t)program->num_insns * sizeof(*program->insns));
	step->constants = c->code_bytes;
	c->code_bytes = run_align(c->code_bytes + program->constant_bytes);
	step->slots = c->slots_bytes;
	c->slots_bytes = run_align(c->slots_bytes + (uint64_t)program->num_slots * ONPU_SLOT_SIZE);
	step->records = c->record_bytes;
	if (c->device->profile)
		c->record_bytes =
			run_align(c->record_bytes + (uint64_t)program->num_insns *
							    sizeof(struct onpu_profile_record));
}

static void log_program(const struct run_compiled *c, const struct run_step *step)
{
	const struct npu_program *program = step->program;

	wnn_log_write(c->device->log, WNN_LOG_INFO,
		      "NPU program of %u nodes: %u instructions, %u slots, %llu cycles expected",
		      (unsigned int)step->count, (unsigned int)program->num_insns,
		      (unsigned int)program->num_slots, (unsigned long long)program->est_cycles);
	if (program->residency_error[0])
		wnn_log_write(c->device->log, WNN_LOG_WARNING,
			      "nothing stays in SRAM between the %u nodes of an NPU program: %s",
			      (unsigned int)step->count, program->residency_error);
}

static int compile_steps(struct run_compiled *c, const bool *on_npu, struct npu_refusals *refusals,
			 struct wnn_error *err)
{
	uint32_t known = refusals->count;

	for (uint32_t s = 0; s < c->num_steps; s++) {
		struct run_step *step = &c->steps[s];
		uint32_t before = refusals->count;

		if (!on_npu[step->first])
			continue;
		if (!compile_step(c, s, refusals, err)) {
			run_set_offsets(c, step);
			log_program(c, step);
		} else if (refusals->count == before) {
			return -1;
		}
	}
	return refusals->count == known ? 0 : -1;
}

int run_make_arena(struct run_compiled *c, struct wnn_error *err)
{
	const struct ir_graph *graph = c->graph;
	struct memory_interval *items =
		wnn_calloc((size_t)graph->num_values + c->num_steps + 1, sizeof(*items));
	uint32_t n = 0;
	int ret;

	if (!items)
		return wnn_error_nomem(err, "the intermediate results of a graph");
	for (uint32_t v = 0; v < graph->num_values; v++) {
		struct run_location *location = &c->locations[v];

		if (location->where != RUN_NOWHERE || !location->needed || c->homes[v].value != v)
			continue;
		location->where = RUN_ARENA;
		items[n++] = (struct memory_interval){ .bytes = run_align((uint64_t)ir_type_bytes(
							       &graph->values[v]->type)),
						       .begin = location->first,
						       .end = location->last };
	}
	for (uint32_t s = 0; s < c->num_steps; s++)
		if (c->steps[s].program)
			items[n++] = (struct memory_interval){
				.bytes = run_align(c->steps[s].program->arena_bytes),
				.begin = s,
				.end = s
			};
	ret = memory_pack(items, n, &c->arena_bytes);
	n = 0;
	for (uint32_t v = 0; v < graph->num_values && !ret; v++)
		if (c->locations[v].where == RUN_ARENA)
			c->locations[v].offset = items[n++].offset;
	for (uint32_t s = 0; s < c->num_steps && !ret; s++)
		if (c->steps[s].program)
			c->steps[s].scratch = items[n++].offset;
	wnn_free(items);
	run_place_views(c);
	return ret ? wnn_error_nomem(err, "the intermediate results of a graph") : 0;
}

static int load_code(struct run_compiled *c, struct wnn_error *err)
{
	struct wnn_filling filling;

	if (!c->code_bytes)
		return 0;
	if (run_buffer_create(&c->device->heap, &c->code, c->code_bytes,
			      "the program of a graph and its constants", err))
		return -1;
	wnn_filling_begin(&filling, c->code.map, c->code_bytes);
	for (uint32_t s = 0; s < c->num_steps; s++) {
		struct run_step *step = &c->steps[s];
		struct npu_program *program = step->program;
		char *map = c->code.map;

		if (!program)
			continue;
		memcpy(map + step->insns, program->insns,
		       (size_t)program->num_insns * sizeof(*program->insns));
		if (constants_write(&program->constants, (uint8_t *)map + step->constants,
				    &filling))
			return wnn_error_nomem(err, "the constants of a graph");
	}
	run_buffer_flush(&c->code, 0, c->code_bytes);
	return 0;
}

/*
 * Returns for each value how often steps on the CPU and copies to outputs read it or a view of it;
 * NULL: no memory.
 */
static uint32_t *count_readers(const struct run_compiled *c)
{
	uint32_t *readers = wnn_calloc((size_t)c->graph->num_values + 1, sizeof(*readers));

	if (!readers)
		return NULL;
	for (uint32_t s = 0; s < c->num_steps; s++) {
		const struct run_step *step = &c->steps[s];

		for (uint32_t i = step->first; !step->program && i < step->first + step->count;
		     i++) {
			const struct ir_node *node = c->graph->nodes[i];

			for (uint32_t k = 0; k < node->num_operands; k++)
				if (node->operands[k])
					readers[c->homes[node->operands[k]->id].value]++;
		}
	}
	for (uint32_t i = 0; i < c->num_copies; i++)
		readers[c->homes[c->copies[i].value->id].value]++;
	return readers;
}

static void drop_constant(struct ir_value *value)
{
	ir_constant_unref(value->constant);
	value->constant = NULL;
}

/*
 * The size of blocks that packed operands share. A large block is mapped by a few large pages, so
 * that the processor keeps their translations, which saves a small network a twentieth of its time.
 * Operands of a large network have several blocks: constants that are packed in one block are
 * dropped before the next block is allocated.
 */
#define BLOCK ((size_t)16 << 20)

struct packing {
	struct run_block *block;
	char *next;
	size_t room; /* bytes of the block from `next` on */
	size_t left; /* bytes of the operands that are still to be packed */
	/*
	 * Constants that are computed now, and read only by packing, are computed here one after
	 * the other: fresh pages for each take longer than computing it.
	 */
	void *computed;
};

/* Notes a block that a graph uses. Returns 0; -1: memory is exhausted, and the use has ended. */
static int keep_block(struct run_compiled *c, struct run_block *block, struct wnn_error *err)
{
	if (wnn_array_reserve(&c->blocks, &c->block_room, c->num_blocks + 1, sizeof(*c->blocks))) {
		run_pool_put(&c->device->pool, &c->device->heap, block);
		return wnn_error_nomem(err, "a graph");
	}
	c->blocks[c->num_blocks++] = block;
	return 0;
}

static int add_block(struct run_compiled *c, struct packing *packing, size_t least,
		     struct wnn_error *err)
{
	size_t size = packing->left < BLOCK ? packing->left : BLOCK;
	struct run_block *block;

	size = size < least ? least : size;
	block = run_pool_add(&c->device->pool, &c->device->heap, size, err);
	if (!block || keep_block(c, block, err))
		return -1;
	packing->block = block;
	packing->next = block->memory;
	packing->room = size;
	return 0;
}

/*
 * Whether the graph uses a block already; a use that run_pool_store() has just given the caller
 * does not count.
 */
static bool uses_block(const struct run_compiled *c, const struct run_block *block)
{
	for (size_t i = 0; i < c->num_blocks; i++)
		if (c->blocks[i] == block)
			return true;
	return false;
}

static int pack_operand(struct run_compiled *c, struct packing *packing, struct run_step *step,
			const struct ir_value *from, bool is_last, struct wnn_error *err)
{
	size_t size = wnn_align_up(step->packed_bytes, WNN_ALIGNMENT);
	const void *data = is_last ? ir_constant_data_in(from->constant, packing->computed) :
				     ir_constant_data(from->constant);
	struct run_block *home;

	if (!data)
		return wnn_error_nomem(err, "the constants of a graph");
	if (size > packing->room && add_block(c, packing, size, err))
		return -1;
	packing->left -= size;
	if (cpu_plan_pack(step->plan, data, packing->next, err))
		return -1;
	step->packed = run_pool_store(&c->device->pool, packing->block, packing->next,
				      step->packed_bytes, &home);
	if (!step->packed)
		return wnn_error_nomem(err, "a graph");
	if (home != packing->block) {
		if (!uses_block(c, home))
			return keep_block(c, home, err);
		run_pool_put(&c->device->pool, &c->device->heap, home);
	} else if (step->packed == packing->next) {
		packing->next += size;
		packing->room -= size;
	}
	return 0;
}

/* Releases the last block when it is empty, as all its operands were found in other blocks. */
static void drop_empty_block(struct run_compiled *c, const struct packing *packing)
{
	if (!packing->block || packing->block->count)
		return;
	for (size_t i = 0; i < c->num_blocks; i++)
		if (c->blocks[i] == packing->block)
			c->blocks[i] = c->blocks[--c->num_blocks];
	run_pool_put(&c->device->pool, &c->device->heap, packing->block);
}

/* Returns the constant operand 1 of a CPU step, which its kernel may pack; NULL: there is none. */
static struct ir_value *packed_constant(const struct run_compiled *c, const struct run_step *step)
{
	const struct ir_node *node = c->graph->nodes[step->first];
	struct ir_value *from = node->num_operands > 1 ? node->operands[1] : NULL;

	return !step->program && from && from->kind == IR_VALUE_CONSTANT ? from : NULL;
}

/*
 * Packs the constants of all steps that have plans, and drops each constant that only packing has
 * read. Returns 0 or -1.
 */
static int pack_operands(struct run_compiled *c, struct packing *packing, uint32_t *readers,
			 struct wnn_error *err)
{
	size_t most = 0;

	for (uint32_t s = 0; s < c->num_steps; s++) {
		const struct ir_value *from = packed_constant(c, &c->steps[s]);

		if (c->steps[s].packed_bytes && from->constant->recipe &&
		    from->constant->bytes > most)
			most = from->constant->bytes;
	}
	/* Not wnn_malloc(): a large page may take as long as all small ones that are used of it. */
	packing->computed = most ? wnn_calloc(1, most) : NULL;
	if (most && !packing->computed)
		return wnn_error_nomem(err, "the constants of a graph");
	for (uint32_t s = 0; s < c->num_steps; s++) {
		struct run_step *step = &c->steps[s];
		struct ir_value *from = packed_constant(c, step);

		if (!step->packed_bytes)
			continue;
		if (pack_operand(c, packing, step, from, readers[from->id] == 1, err))
			return -1;
		if (!--readers[from->id])
			drop_constant(from);
	}
	drop_empty_block(c, packing);
	return 0;
}

/*
 * Plans CPU nodes, converts constants to the form that their kernels read, and drops each constant
 * that only packing has read, so that the originals and the copies are never all in memory at once.
 * Returns 0 or -1.
 */
static int plan_nodes(struct run_compiled *c, uint32_t *readers, struct wnn_error *err)
{
	struct packing packing = { 0 };
	const char *complaint;
	int ret;

	for (uint32_t s = 0; s < c->num_steps; s++) {
		struct run_step *step = &c->steps[s];

		if (step->program)
			continue;
		if (!step->plan)
			step->plan = cpu_plan_create(c->device->cpu, c->graph->nodes[step->first],
						     RUN_CPU_USE, err);
		if (!step->plan)
			return -1;
		step->packed_bytes = cpu_plan_pack_bytes(step->plan);
		packing.left += wnn_align_up(step->packed_bytes, WNN_ALIGNMENT);
	}
	complaint = cpu_complaint(c->device->cpu);
	if (complaint)
		wnn_log_write(c->device->log, WNN_LOG_WARNING, "%s", complaint);
	ret = pack_operands(c, &packing, readers, err);
	wnn_free(packing.computed);
	return ret;
}

/*
 * Drops the constants that neither CPU steps nor copies read. @readers: by value, from
 * count_readers().
 */
static void drop_constants(struct run_compiled *c, const uint32_t *readers)
{
	for (uint32_t v = 0; v < c->graph->num_values; v++)
		if (c->graph->values[v] && !readers[v])
			drop_constant(c->graph->values[v]);
}

/*
 * Computes the remaining constants at build, because several threads may read them at a time later,
 * and shares them with other graphs. Returns 0 or -1.
 */
static int compute_constants(struct run_compiled *c, struct wnn_error *err)
{
	for (uint32_t v = 0; v < c->graph->num_values; v++) {
		struct ir_value *value = c->graph->values[v];

		if (value && value->constant &&
		    (!ir_constant_data(value->constant) ||
		     run_pool_share(&c->device->pool, &value->constant, c)))
			return wnn_error_nomem(err, "the constants of a graph");
	}
	return 0;
}

/*
 * Loads programs with their constants, packs operands, computes the other constants that CPU nodes
 * read, and drops the constants that nothing reads. Returns 0 or -1.
 */
static int place_constants(struct run_compiled *c, struct wnn_error *err)
{
	uint32_t *readers = count_readers(c);
	int ret;

	if (!readers)
		return wnn_error_nomem(err, "a graph");
	/*
	 * Programs hold references to the constants that they need: a constant that nothing else
	 * reads is dropped when its program's constants are packed.
	 */
	drop_constants(c, readers);
	ret = load_code(c, err) || plan_nodes(c, readers, err) || compute_constants(c, err) ? -1 :
											      0;
	wnn_free(readers);
	return ret;
}

int run_compile(struct run_device *device, struct ir_graph *graph, const bool *on_npu,
		struct npu_refusals *refusals, struct run_compiled **out, struct wnn_error *err)
{
	struct run_compiled *c = wnn_calloc(1, sizeof(*c));

	*out = NULL;
	if (!c)
		return wnn_error_nomem(err, "a graph");
	atomic_init(&c->refs, 1);
	c->device = device;
	c->graph = graph;
	if (run_make_steps(c, on_npu, err) || run_locate_values(c, on_npu, err) ||
	    compile_steps(c, on_npu, refusals, err) || run_make_arena(c, err) ||
	    place_constants(c, err)) {
		c->graph = NULL;
		run_compiled_unref(c);
		return -1;
	}
	*out = c;
	return 0;
}

struct run_compiled *run_compiled_ref(struct run_compiled *c)
{
	atomic_fetch_add(&c->refs, 1);
	return c;
}

void run_compiled_unref(struct run_compiled *c)
{
	if (!c || atomic_fetch_sub(&c->refs, 1) != 1)
		return;
	for (uint32_t i = 0; i < c->ring_made; i++) {
		run_buffer_destroy(&c->device->heap, &c->ring[i].arena);
		run_buffer_destroy(&c->device->heap, &c->ring[i].slots);
		run_buffer_destroy(&c->device->heap, &c->ring[i].records);
	}
	for (uint32_t s = 0; s < c->num_steps; s++) {
		if (c->steps[s].program)
			npu_program_destroy(c->steps[s].program);
		cpu_plan_destroy(c->steps[s].plan);
	}
	for (size_t i = 0; i < c->num_blocks; i++)
		run_pool_put(&c->device->pool, &c->device->heap, c->blocks[i]);
	run_pool_leave(&c->device->pool, c);
	run_buffer_destroy(&c->device->heap, &c->code);
	ir_graph_destroy(c->graph);
	wnn_free(c->blocks);
	wnn_free(c->steps);
	wnn_free(c->branches);
	wnn_free(c->homes);
	wnn_free(c->is_view);
	wnn_free(c->locations);
	wnn_free(c->copies);
	wnn_free(c->updates);
	if (c->owner)
		c->release(c->owner);
	wnn_free(c);
}
