// SPDX-License-Identifier: MIT
/* Reads shardings of Shardy, and finds the slices of values that each device has. */
#include "cut.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "kinds.h"
#include "mesh.h"

#define MAX_AXES 64

/* The state of reading one sharding, such as <@mesh, [{"x", ?}, {"y":(2)4}p1], …>. */
struct reading {
	struct shlo_file *file;
	const struct shlo_module *module;
	struct shlo_location place;
	const char *op, *what; /* for messages: "argument", with its number */
	size_t index;
	const char *at;
	const char *manual; /* text with the names of the axes that cut values here; NULL: all do */
	const struct shlo_attr *mesh;
	const char *mesh_name;
	bool is_wrong, is_quiet; /* quiet: an error in the sharding adds no refusal */
	struct shlo_axis axes[MAX_AXES];
	int dims[MAX_AXES]; /* the dimension that each axis cuts */
	size_t count;
};

static void refuse(struct reading *r, const char *reason, const char *name)
{
	if (!r->is_wrong && !r->is_quiet)
		shlo_refuse(r->file, r->place, r->op, "sharding of %s %zu: %s%s%s%s", r->what,
			    r->index, reason, *name ? " '" : "", name, *name ? "'" : "");
	r->is_wrong = true;
}

/* Skips blanks and the given word in a text; false: the text has something else there. */
static bool take_of(const char **text, const char *word)
{
	const char *at = *text;

	while (isspace((unsigned char)*at))
		at++;
	if (strncmp(at, word, strlen(word)))
		return false;
	*text = at + strlen(word);
	return true;
}

static bool take(struct reading *r, const char *word)
{
	return take_of(&r->at, word);
}

static void expect(struct reading *r, const char *word)
{
	if (!r->is_wrong && !take(r, word))
		refuse(r, "it is not as Shardy writes it; missing is", word);
}

static int64_t read_number(struct reading *r)
{
	char *end;
	int64_t number = strtoll(r->at, &end, 10);

	if (end == r->at || number < 1)
		refuse(r, "a number of at least 1 is missing", "");
	r->at = end;
	return number;
}

/* Reads a name in quotes. */
static const char *read_name(struct reading *r)
{
	const char *start = r->at, *end = strchr(start, '"');

	if (!end) {
		refuse(r, "the name of an axis has no end", "");
		return "";
	}
	r->at = end + 1;
	return shlo_arena_text(&r->file->arena, start, (size_t)(end - start));
}

static const struct shlo_attr *axes_of(const struct shlo_attr *mesh)
{
	const struct shlo_attr *axes = shlo_attr_find(mesh, "axes");

	return axes && axes->kind == SHLO_ATTR_ARRAY ? axes : NULL;
}

/* Whether an axis is cut here: along others, the whole is on each device. */
static bool is_manual(struct reading *r, const char *name)
{
	return !r->manual || strstr(r->manual, shlo_arena_printf(&r->file->arena, "\"%s\"", name));
}

/* Demands that the mesh is a grid of all partitions. */
static bool check_mesh(struct reading *r)
{
	const struct shlo_attr *axes = axes_of(r->mesh);
	int64_t devices = 1;

	if (!axes) {
		refuse(r, "there is no mesh", r->mesh_name);
		return false;
	}
	for (size_t i = 0; i < axes->count && devices <= (int64_t)r->file->partitions; i++) {
		int64_t size = shlo_axis_size(axes->items[i]);

		if (size < 1 || __builtin_mul_overflow(devices, size, &devices)) {
			devices = 0;
			break;
		}
	}
	if (devices != (int64_t)r->file->partitions)
		refuse(r, "there are not as many partitions as devices in mesh", r->mesh_name);
	return !r->is_wrong;
}

/* Whether two axes, or parts of them, share no digit of a device's number. */
static bool are_apart(const struct shlo_axis *a, const struct shlo_axis *b)
{
	return a->size == 1 || b->size == 1 || a->stride % (b->stride * b->size) == 0 ||
	       b->stride % (a->stride * a->size) == 0;
}

static void add_axis(struct reading *r, int dim, const char *name, int64_t before, int64_t size)
{
	struct shlo_axis axis;

	if (!check_mesh(r))
		return;
	if (!shlo_axis_find(axes_of(r->mesh), (int64_t)r->file->partitions, name, &axis)) {
		refuse(r, "the mesh has no axis", name);
		return;
	}
	if (size && !shlo_axis_part(&axis, before, size)) {
		refuse(r, "an axis has no such part:", name);
		return;
	}
	if (r->count == MAX_AXES) {
		refuse(r, "it has more than 64 axes", "");
		return;
	}
	if (!is_manual(r, name))
		return;
	for (size_t i = 0; i < r->count; i++)
		if (!are_apart(&axis, &r->axes[i])) {
			refuse(r, "an axis cuts it twice:", name);
			return;
		}
	r->dims[r->count] = dim;
	r->axes[r->count++] = axis;
}

/* Reads the axes of one dimension. */
static void read_dimension(struct reading *r, int dim)
{
	expect(r, "{");
	while (!r->is_wrong && !take(r, "}")) {
		int64_t before = 1, size = 0;
		const char *name;

		take(r, ",");
		if (take(r, "?"))
			continue;
		expect(r, "\"");
		name = r->is_wrong ? "" : read_name(r);
		if (!r->is_wrong && take(r, ":(")) {
			before = read_number(r);
			expect(r, ")");
			size = r->is_wrong ? 1 : read_number(r);
		}
		if (!r->is_wrong)
			add_axis(r, dim, name, before, size);
	}
	if (!r->is_wrong && *r->at == 'p')
		for (r->at++; isdigit((unsigned char)*r->at); r->at++)
			;
}

/* Whether a text is a list of axes, which is not empty, along which sums are still to be made. */
static bool is_unreduced(const char *text)
{
	return take_of(&text, "unreduced") && take_of(&text, "=") && take_of(&text, "{") &&
	       !take_of(&text, "}");
}

/* Skips what follows the dimensions, up to the end of the sharding. */
static void skip_rest(struct reading *r)
{
	for (int depth = 0; *r->at && (depth || *r->at != '>'); r->at++) {
		if (*r->at == 'u' && is_unreduced(r->at)) {
			refuse(r, "sums that are not yet made (unreduced) are not done here", "");
			return;
		}
		if (strchr("<[{(", *r->at))
			depth++;
		else if (strchr(">]})", *r->at))
			depth--;
	}
	expect(r, ">");
}

static void read_mesh(struct reading *r)
{
	const char *start, *name;

	expect(r, "<");
	expect(r, "@");
	if (r->is_wrong)
		return;
	if (take(r, "\"")) {
		name = read_name(r);
	} else {
		start = r->at;
		r->at += strcspn(r->at, ",> ");
		name = shlo_arena_text(&r->file->arena, start, (size_t)(r->at - start));
	}
	r->mesh = shlo_attr_find(&r->module->meshes, name);
	r->mesh_name = name;
	expect(r, ",");
}

/* Returns the position of each device in the grid of the mesh, which may have its own order. */
static int64_t *places_of(struct reading *r)
{
	int64_t devices = (int64_t)r->file->partitions;
	int64_t *ids = shlo_arena_alloc(&r->file->arena, (size_t)devices, sizeof(*ids));
	int64_t *places = shlo_arena_alloc(&r->file->arena, (size_t)devices, sizeof(*places));
	const struct shlo_attr *said = shlo_attr_find(r->mesh, "device_ids");

	for (int64_t i = 0; i < devices; i++) {
		ids[i] = i;
		places[i] = -1;
	}
	if (said && shlo_ints_of(said, ids, (size_t)devices) != devices)
		refuse(r, "device_ids of the mesh must have a number for each device", "");
	for (int64_t i = 0; i < devices && !r->is_wrong; i++) {
		if (ids[i] < 0 || ids[i] >= devices || places[ids[i]] >= 0)
			refuse(r, "device_ids of the mesh must name each device once", "");
		else
			places[ids[i]] = i;
	}
	return places;
}

/*
 * Finds the slice that each device has, and the devices that have the other slices of its group.
 * The axes have no digits in common, so that there are at most as many slices as devices.
 */
static const struct shlo_slices *slices_of(struct reading *r, const struct shlo_type *type)
{
	struct shlo_arena *arena = &r->file->arena;
	size_t devices = r->file->partitions, *at, *own, *who;
	struct shlo_slices *slices = shlo_arena_alloc(arena, 1, sizeof(*slices));
	int64_t *parts = shlo_arena_alloc(arena, (size_t)type->rank, sizeof(*parts));
	int64_t *places = places_of(r);

	slices->rank = type->rank;
	slices->count = 1;
	for (int i = 0; i < type->rank; i++)
		parts[i] = 1;
	for (size_t i = 0; i < r->count; i++) {
		parts[r->dims[i]] *= r->axes[i].size;
		slices->count *= (size_t)r->axes[i].size;
	}
	if (r->is_wrong)
		return NULL;
	for (int i = 0; i < type->rank; i++)
		if (type->dims[i] == SHLO_DYNAMIC || type->dims[i] % parts[i]) {
			refuse(r, "a dimension cannot be cut into equal slices", "");
			return NULL;
		}
	at = shlo_arena_alloc(arena, devices * slices->count, sizeof(*at));
	own = shlo_arena_alloc(arena, devices, sizeof(*own));
	who = shlo_arena_alloc(arena, devices, sizeof(*who));
	for (size_t d = 0; d < devices; d++)
		who[places[d]] = d;
	for (size_t d = 0; d < devices; d++) {
		int64_t start = places[d];

		for (size_t i = 0; i < r->count; i++) {
			int64_t digit = places[d] / r->axes[i].stride % r->axes[i].size;

			start -= digit * r->axes[i].stride;
			own[d] = own[d] * (size_t)r->axes[i].size + (size_t)digit;
		}
		/* Axes come in the order of dimensions, so that the last one varies fastest. */
		for (size_t k = 0; k < slices->count; k++) {
			int64_t place = start;
			size_t rest = k;

			for (size_t i = r->count; i-- > 0; rest /= (size_t)r->axes[i].size)
				place += (int64_t)(rest % (size_t)r->axes[i].size) *
					 r->axes[i].stride;
			at[d * slices->count + k] = who[place];
		}
	}
	slices->parts = parts;
	slices->devices = at;
	slices->own = own;
	return slices;
}

/* Reads a sharding from its "<"; NULL: the value is not cut, or the sharding is refused. */
static const struct shlo_slices *read_sharding(struct reading *r, const struct shlo_type *type)
{
	int dim = 0;

	r->count = 0;
	read_mesh(r);
	expect(r, "[");
	while (!r->is_wrong && !take(r, "]")) {
		take(r, ",");
		read_dimension(r, dim++);
	}
	if (!r->is_wrong)
		skip_rest(r);
	if (r->is_wrong || !r->count)
		return NULL;
	if (type->kind != SHLO_TENSOR || type->rank != dim) {
		refuse(r, "it has another number of dimensions than the value", "");
		return NULL;
	}
	return slices_of(r, type);
}

/* ---- the shardings of a file */

/* Reads the mark of an argument or result. */
static const struct shlo_slices *read_mark(struct reading *r, const struct shlo_attr *marks,
					   const struct shlo_type *type)
{
	const struct shlo_attr *mark = shlo_attr_find(marks, "sdy.sharding");
	const struct shlo_attr *old = shlo_attr_find(marks, "mhlo.sharding");

	r->is_wrong = false;
	if (!mark && old && old->text && strstr(old->text, "devices="))
		refuse(r, "it is written as mhlo.sharding; that of Shardy (sdy) is understood", "");
	r->at = mark && mark->text ? strchr(mark->text, '<') : NULL;
	return r->at ? read_sharding(r, type) : NULL;
}

static struct shlo_cut *cut_new(struct shlo_file *file, size_t in, size_t out)
{
	struct shlo_arena *arena = &file->arena;
	struct shlo_cut *cut = shlo_arena_alloc(arena, 1, sizeof(*cut));

	cut->partitions = file->partitions;
	cut->in = shlo_arena_alloc(arena, in, sizeof(const struct shlo_slices *));
	cut->out = shlo_arena_alloc(arena, out, sizeof(const struct shlo_slices *));
	cut->in_local = shlo_arena_alloc(arena, in, sizeof(bool));
	cut->out_local = shlo_arena_alloc(arena, out, sizeof(bool));
	return cut;
}

static void cut_function(struct shlo_file *file, const struct shlo_module *module,
			 struct shlo_function *function)
{
	const struct shlo_type *type = function->type;
	struct reading r = { .file = file,
			     .module = module,
			     .place = function->place,
			     .op = "func.func",
			     .what = "argument" };
	struct shlo_cut *cut = cut_new(file, type->item_count, type->result_count);

	for (r.index = 0; r.index < type->item_count; r.index++)
		cut->in[r.index] = read_mark(&r, function->region->block.arguments[r.index]->marks,
					     type->items[r.index]);
	r.what = "result";
	for (r.index = 0; function->result_marks && r.index < type->result_count; r.index++)
		cut->out[r.index] =
			read_mark(&r, function->result_marks[r.index], type->results[r.index]);
	function->cut = cut;
}

/* Reads a list of shardings, one for each value. */
static void read_list(struct reading *r, const struct shlo_op *op, const char *name,
		      struct shlo_value *const *values, size_t count,
		      const struct shlo_slices **slices)
{
	const struct shlo_attr *list = shlo_attr_find(&op->attrs, name);

	r->is_wrong = false;
	r->at = list && list->text ? strchr(list->text, '[') : NULL;
	if (!r->at) {
		if (count)
			refuse(r, "there is no list", name);
		return;
	}
	expect(r, "[");
	for (r->index = 0; !r->is_wrong && r->index < count; r->index++) {
		if (r->index)
			expect(r, ",");
		if (!r->is_wrong)
			slices[r->index] = read_sharding(r, values[r->index]->type);
	}
}

static bool is_manual_computation(const struct shlo_op *op)
{
	return !strcmp(op->name, "sdy.manual_computation");
}

static bool is_cast(const struct shlo_op *op)
{
	return op && !strcmp(op->name, "builtin.unrealized_conversion_cast") &&
	       op->operand_count == 1 && op->result_count == 1 &&
	       shlo_type_same(op->operands[0]->type, op->results[0]->type);
}

static void cut_block(struct shlo_file *file, const struct shlo_module *module,
		      const struct shlo_block *block)
{
	for (size_t i = 0; i < block->op_count; i++) {
		struct shlo_op *op = block->ops[i];
		struct reading r = { .file = file,
				     .module = module,
				     .place = op->place,
				     .op = op->name,
				     .what = "operand" };

		if (is_manual_computation(op)) {
			const struct shlo_attr *axes = shlo_attr_find(&op->attrs, "manual_axes");
			struct shlo_cut *cut = cut_new(file, op->operand_count, op->result_count);

			r.manual = axes && axes->text ? axes->text : "";
			read_list(&r, op, "in_shardings", op->operands, op->operand_count, cut->in);
			r.what = "result";
			read_list(&r, op, "out_shardings", op->results, op->result_count, cut->out);
			op->cut = cut;
		}
		for (size_t k = 0; k < op->region_count; k++)
			cut_block(file, module, &op->regions[k]->block);
	}
}

/*
 * Removes casts that return their operand unchanged: bytecode has one around each value that goes
 * from one dialect to another.
 */
static void drop_casts(struct shlo_block *block)
{
	size_t count = 0;

	for (size_t i = 0; i < block->op_count; i++) {
		struct shlo_op *op = block->ops[i];

		for (size_t k = 0; k < op->operand_count; k++)
			/* In a wrong file, casts may be their own operands. */
			for (int hop = 0; hop < 64 && is_cast(op->operands[k]->op); hop++)
				op->operands[k] = op->operands[k]->op->operands[0];
		for (size_t k = 0; k < op->region_count; k++)
			drop_casts(&op->regions[k]->block);
		if (!is_cast(op))
			block->ops[count++] = op;
	}
	block->op_count = count;
}

/* ---- values that no device needs as a whole */

/* By slot of a value in a function: its slices, and whether something needs the whole, too. */
struct values {
	const struct shlo_slices **slices;
	bool *is_whole;
};

static bool are_same(const struct shlo_slices *a, const struct shlo_slices *b, size_t devices)
{
	if (!a || !b)
		return a == b;
	return a->rank == b->rank && a->count == b->count &&
	       !memcmp(a->parts, b->parts, (size_t)a->rank * sizeof(*a->parts)) &&
	       !memcmp(a->own, b->own, devices * sizeof(*a->own)) &&
	       !memcmp(a->devices, b->devices, devices * a->count * sizeof(*a->devices));
}

static void find_slices(struct values *values, const struct shlo_block *block)
{
	for (size_t i = 0; i < block->op_count; i++) {
		const struct shlo_op *op = block->ops[i];

		for (size_t k = 0; op->cut && k < op->result_count; k++)
			values->slices[op->results[k]->slot] = op->cut->out[k];
		for (size_t k = 0; k < op->region_count; k++)
			find_slices(values, &op->regions[k]->block);
	}
}

/*
 * Notes which values are needed as a whole. @of: the cut of the function, if the block is its body;
 * NULL: the block is a region of an operation
 */
static void find_uses(struct values *values, const struct shlo_block *block,
		      const struct shlo_cut *of)
{
	for (size_t i = 0; i < block->op_count; i++) {
		const struct shlo_op *op = block->ops[i];
		bool is_end = of && i + 1 == block->op_count;

		for (size_t k = 0; k < op->operand_count; k++) {
			size_t slot = op->operands[k]->slot;
			const struct shlo_slices *wanted = is_end  ? of->out[k] :
							   op->cut ? op->cut->in[k] :
								     NULL;

			if (!wanted || !are_same(wanted, values->slices[slot],
						 of ? of->partitions : op->cut->partitions))
				values->is_whole[slot] = true;
		}
		for (size_t k = 0; k < op->region_count; k++)
			find_uses(values, &op->regions[k]->block, NULL);
	}
}

static bool is_local(const struct values *values, const struct shlo_value *value)
{
	return values->slices[value->slot] && !values->is_whole[value->slot];
}

static void set_local(const struct values *values, const struct shlo_block *block)
{
	for (size_t i = 0; i < block->op_count; i++) {
		const struct shlo_op *op = block->ops[i];

		for (size_t k = 0; op->cut && k < op->operand_count; k++)
			op->cut->in_local[k] = is_local(values, op->operands[k]);
		for (size_t k = 0; op->cut && k < op->result_count; k++)
			op->cut->out_local[k] = is_local(values, op->results[k]);
		for (size_t k = 0; k < op->region_count; k++)
			set_local(values, &op->regions[k]->block);
	}
}

/* ---- results without a mark, whose slices are open */

#define MOST_STEPS 256 /* operations that are looked through, from a result backwards */

/* Returns the slices that a mark within the function asks for. */
static const struct shlo_slices *
read_constraint(struct shlo_file *file, const struct shlo_module *module, const struct shlo_op *op)
{
	const struct shlo_attr *mark = shlo_attr_find(&op->attrs, "sharding");
	struct reading r = {
		.file = file, .module = module, .place = op->place, .op = op->name, .is_quiet = true
	};

	r.at = mark && mark->text ? strchr(mark->text, '<') : NULL;
	return r.at ? read_sharding(&r, op->results[0]->type) : NULL;
}

/*
 * Whether each element of the result depends only on the elements at the same position in operands
 * of the same shape.
 */
static bool is_elementwise(const struct shlo_op *op)
{
	return op->kind && op->kind->family >= SHLO_UNARY && op->kind->family <= SHLO_CONVERT;
}

/* The position of the search for slices: a function, and the call through which it came there. */
struct within {
	struct shlo_file *file;
	const struct shlo_module *module;
	const struct shlo_function *function;
	const struct shlo_op *call; /* NULL: the function is the one that runs */
	const struct within *outer;
	int *steps; /* operations that may still be looked through */
};

static const struct shlo_slices *coming(const struct within *in, const struct shlo_value *value);

static size_t index_of(struct shlo_value *const *values, size_t count,
		       const struct shlo_value *value)
{
	size_t i = 0;

	while (i < count && values[i] != value)
		i++;
	return i;
}

/* Returns the slices of an argument of the function, from the call; NULL: it comes whole. */
static const struct shlo_slices *coming_in(const struct within *in, const struct shlo_value *value)
{
	const struct shlo_block *block = &in->function->region->block;
	size_t i = index_of(block->arguments, block->argument_count, value);

	if (i == block->argument_count)
		return NULL;
	if (in->call)
		return i < in->call->operand_count ? coming(in->outer, in->call->operands[i]) :
						     NULL;
	return in->function->cut->in[i];
}

/* Returns the slices of a result of a call, from the called function; NULL: it comes whole. */
static const struct shlo_slices *coming_back(const struct within *in, const struct shlo_op *op,
					     size_t result)
{
	const char *name = shlo_attr_text(op, "callee", "");
	struct within callee = *in;
	const struct shlo_op *last;

	callee.function = shlo_function_find(in->module, name);
	callee.call = op;
	callee.outer = in;
	if (!callee.function || !callee.function->region ||
	    !callee.function->region->block.op_count)
		return NULL;
	last = callee.function->region->block.ops[callee.function->region->block.op_count - 1];
	return result < last->operand_count ? coming(&callee, last->operands[result]) : NULL;
}

/*
 * Returns the slices in which a value is computed: those of a manual computation, a mark or an
 * argument, from which it comes through calls and element-wise operations. NULL: it is computed as
 * a whole.
 */
static const struct shlo_slices *coming(const struct within *in, const struct shlo_value *value)
{
	const struct shlo_slices *slices = NULL;
	const struct shlo_op *op = value->op;

	if (!*in->steps)
		return NULL;
	--*in->steps;
	if (!op)
		return coming_in(in, value);
	if (op->cut)
		return op->cut->out[index_of(op->results, op->result_count, value)];
	if (!strcmp(op->name, "func.call"))
		return coming_back(in, op, index_of(op->results, op->result_count, value));
	if (!strcmp(op->name, "sdy.sharding_constraint") || !strcmp(op->name, "sdy.reshard"))
		return read_constraint(in->file, in->module, op);
	for (size_t i = 0; is_elementwise(op) && i < op->operand_count && !slices; i++)
		if (shlo_dims_fit(op->operands[i]->type, value->type))
			slices = coming(in, op->operands[i]);
	return slices;
}

/* Whether a value of the type can be cut like another value. */
static bool can_have(const struct shlo_type *type, const struct shlo_slices *slices)
{
	if (!slices || type->kind != SHLO_TENSOR || type->rank != slices->rank)
		return false;
	for (int i = 0; i < type->rank; i++)
		if (type->dims[i] == SHLO_DYNAMIC || type->dims[i] % slices->parts[i])
			return false;
	return true;
}

/*
 * Cuts results without a mark into the slices in which the returned values are computed. The file
 * is not checked yet: these values may have other types than the results.
 */
static void cut_results(struct shlo_file *file, const struct shlo_module *module,
			struct shlo_function *function)
{
	const struct shlo_block *block = &function->region->block;
	const struct shlo_op *last = block->ops[block->op_count - 1];

	for (size_t i = 0;
	     i < last->operand_count && last->operand_count == function->type->result_count; i++) {
		const struct shlo_attr *marks = function->result_marks ? function->result_marks[i] :
									 NULL;
		int steps = MOST_STEPS;
		struct within in = {
			.file = file, .module = module, .function = function, .steps = &steps
		};
		const struct shlo_slices *slices = NULL;

		if (!shlo_attr_find(marks, "sdy.sharding"))
			slices = coming(&in, last->operands[i]);
		if (can_have(function->type->results[i], slices))
			function->cut->out[i] = slices;
	}
}

static void find_local(struct shlo_file *file, struct shlo_function *function)
{
	const struct shlo_block *block = &function->region->block;
	const struct shlo_op *last = block->op_count ? block->ops[block->op_count - 1] : NULL;
	const struct shlo_cut *cut = function->cut;
	struct values values;

	if (cut && last->operand_count != function->type->result_count)
		cut = NULL;
	values.slices = shlo_arena_alloc(&file->arena, function->slot_count,
					 sizeof(const struct shlo_slices *));
	values.is_whole = shlo_arena_alloc(&file->arena, function->slot_count, sizeof(bool));
	for (size_t i = 0; cut && i < block->argument_count; i++)
		values.slices[block->arguments[i]->slot] = cut->in[i];
	find_slices(&values, block);
	find_uses(&values, block, cut);
	set_local(&values, block);
	for (size_t i = 0; cut && i < block->argument_count; i++)
		cut->in_local[i] = is_local(&values, block->arguments[i]);
	for (size_t i = 0; cut && i < last->operand_count; i++)
		cut->out_local[i] = is_local(&values, last->operands[i]);
}

void shlo_cut_resolve(struct shlo_file *file)
{
	for (size_t m = 0; m < file->module_count; m++) {
		struct shlo_module *module = file->modules[m];
		struct shlo_function *entry = shlo_module_entry(module);

		if (entry && entry->region)
			cut_function(file, module, entry);
		for (size_t i = 0; i < module->function_count; i++) {
			struct shlo_function *function = module->functions[i];

			if (!function->region || !function->region->block.op_count)
				continue;
			drop_casts(&function->region->block);
			cut_block(file, module, &function->region->block);
		}
		if (entry && entry->cut && entry->region->block.op_count)
			cut_results(file, module, entry);
		for (size_t i = 0; i < module->function_count; i++)
			if (module->functions[i]->region &&
			    module->functions[i]->region->block.op_count)
				find_local(file, module->functions[i]);
	}
}

const struct shlo_type *shlo_cut_type(struct shlo_arena *arena, const struct shlo_type *type,
				      const struct shlo_slices *slices)
{
	struct shlo_type *part;
	int64_t *dims;

	if (!slices)
		return type;
	dims = shlo_arena_alloc(arena, (size_t)type->rank, sizeof(*dims));
	for (int i = 0; i < type->rank; i++)
		dims[i] = type->dims[i] / slices->parts[i];
	part = shlo_arena_alloc(arena, 1, sizeof(*part));
	*part = *type;
	part->dims = dims;
	return part;
}

WNNStablehloSlices shlo_cut_tell(const struct shlo_slices *slices, size_t partitions)
{
	WNNStablehloSlices told = { 0 };

	if (slices)
		told = (WNNStablehloSlices){ (size_t)slices->rank, slices->parts, partitions,
					     slices->own };
	return told;
}
