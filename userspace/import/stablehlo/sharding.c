// SPDX-License-Identifier: MIT
/*
 * Marks that tell how to distribute values over devices. JAX and others write them for a
 * partitioner, which turns a program on whole values into one on the slice that each device has.
 * For devices of one process that is divide.c; on one device a mark returns its operand, because
 * that device has the whole value.
 */
#include "sharding.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "cut.h"
#include "run.h"

bool shlo_is_mark(const char *call, bool *gives)
{
	static const struct {
		const char *name;
		bool gives;
	} marks[] = {
		{ "LayoutConstraint", true },		{ "Sharding", true },
		{ "SPMDFullToShardShape", true },	{ "SPMDShardToFullShape", true },
		{ "annotate_device_placement", true },	{ "dce_sink", false },
		{ "xla.sdy.FuncResultSharding", true }, { "xla.sdy.GlobalToLocalShape", true },
		{ "xla.sdy.LocalToGlobalShape", true }, { "xla.sdy.PropagationBarrier", true },
		{ "xla.sdy.ShardingGroup", false },
	};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (!strcmp(marks[i].name, call)) {
			*gives = marks[i].gives;
			return true;
		}
	return false;
}

/*
 * Whether a sharding such as "{devices=[2,1,4]<=[8] last_tile_dim_replicate}" cuts a dimension: the
 * numbers are the slices along each.
 */
static bool has_tiles(const char *text)
{
	const char *at = strstr(text, "devices=["), *copies = strstr(text, "last_tile_dim");
	long parts;
	char *end;

	if (!at)
		return false;
	for (at += strlen("devices=["); *at && *at != ']'; at = end + (*end == ',')) {
		parts = strtol(at, &end, 10);
		if (end == at)
			return true;
		/*
		 * With last_tile_dim_…, the last number counts copies of each slice, and does not
		 * matter.
		 */
		if (parts > 1 && !(copies && *end == ']'))
			return true;
	}
	return false;
}

/* Whether the text of an attribute says that a value is sharded. */
static bool is_sharded_text(const char *text)
{
	/*
	 * Shardy names axes for each dimension that it cuts: [{"x"}, {}]; the quotes may be
	 * escaped.
	 */
	return has_tiles(text) ||
	       (strstr(text, "sdy.sharding") && (strstr(text, "{\"") || strstr(text, "{\\")));
}

bool shlo_is_constraint(const struct shlo_op *op)
{
	return !strcmp(op->name, "sdy.sharding_constraint") || !strcmp(op->name, "sdy.reshard");
}

bool shlo_attr_is_sharded(const struct shlo_attr *attr)
{
	if ((attr->kind == SHLO_ATTR_STRING || attr->kind == SHLO_ATTR_UNIT) && attr->text &&
	    is_sharded_text(attr->text))
		return true;
	if (attr->kind == SHLO_ATTR_DICT || attr->kind == SHLO_ATTR_ARRAY)
		for (size_t i = 0; i < attr->count; i++)
			if (shlo_attr_is_sharded(attr->items[i]))
				return true;
	return false;
}

static const struct shlo_location *parting_of(const struct shlo_block *block, const char **what)
{
	for (size_t i = 0; i < block->op_count; i++) {
		const struct shlo_op *op = block->ops[i];
		const struct shlo_location *location = NULL;

		if (shlo_attr_is_sharded(&op->attrs)) {
			*what = op->name;
			return &op->location;
		}
		for (size_t k = 0; !location && k < op->region_count; k++)
			location = parting_of(&op->regions[k]->block, what);
		if (location)
			return location;
	}
	return NULL;
}

const struct shlo_location *shlo_first_sharding(const struct shlo_module *module, const char **what)
{
	for (size_t i = 0; i < module->function_count; i++) {
		const struct shlo_function *function = module->functions[i];
		const struct shlo_location *location;

		if (function->is_sharded) {
			*what = "func.func";
			return &function->location;
		}
		location = function->region ? parting_of(&function->region->block, what) : NULL;
		if (location)
			return location;
	}
	return NULL;
}

/* ---- operations of Shardy */

/* Demands that a value and its slice have one type, which they have only if there is one slice. */
static void need_whole(struct shlo_check *check, const struct shlo_type *whole,
		       const struct shlo_type *part)
{
	if (shlo_type_fits(whole, part))
		return;
	if (whole->kind != SHLO_TENSOR || part->kind != SHLO_TENSOR ||
	    whole->element != part->element || whole->rank != part->rank ||
	    !strcmp(check->op->name, "sdy.named_computation"))
		shlo_wrong(
			check,
			"values that go in or out unchanged must have equal types, not %s and %s",
			shlo_type_brief(check->arena, whole), shlo_type_brief(check->arena, part));
	shlo_wrong(check,
		   "%s would be cut into slices of %s, which is not done here: write for "
		   "each device what it computes, or export the program for one device",
		   shlo_type_brief(check->arena, whole), shlo_type_brief(check->arena, part));
}

void shlo_check_custom_call(struct shlo_check *check)
{
	const char *name = shlo_attr_text(check->op, "call_target_name", "");
	bool gives, is_full = strstr(name, "ToFull") || strstr(name, "ToGlobal");

	if (!strcmp(name, "check.expect_eq") || !strcmp(name, "check.expect_close") ||
	    !strcmp(name, "check.expect_almost_eq") || !strcmp(name, "check.eq")) {
		shlo_check_comparison(check, name);
		return;
	}
	if (!strcmp(name, "shape_assertion")) {
		shlo_check_assertion(check);
		return;
	}
	if (shlo_is_factor(name)) {
		shlo_check_factor(check, name);
		return;
	}
	if (shlo_is_callback(check->op)) {
		shlo_check_callback(check);
		return;
	}
	if (!*name)
		shlo_wrong(check, "attribute call_target_name, the name of a function, is missing");
	if (!shlo_is_mark(name, &gives))
		shlo_wrong(check, "there is no function '%s' for a custom call", name);
	if (!check->in_count || check->op->result_count != (gives ? check->in_count : 0))
		shlo_wrong(
			check,
			"%s has %zu operands and %zu results, expected at least one operand and %s",
			name, check->in_count, check->op->result_count,
			gives ? "a result for each" : "no result");
	for (size_t i = 0; i < check->op->result_count; i++) {
		const struct shlo_type *out = check->op->results[i]->type;

		need_whole(check, is_full ? out : check->in[i], is_full ? check->in[i] : out);
	}
}

/* Demands that a region's value is the slice of the whole that its sharding says. */
static void need_slice(struct shlo_check *check, const struct shlo_slices *slices,
		       const struct shlo_type *whole, const struct shlo_type *part)
{
	const struct shlo_type *slice = shlo_cut_type(check->arena, whole, slices);

	if (!slices)
		need_whole(check, whole, part);
	else if (!shlo_type_fits(slice, part))
		shlo_wrong(check, "its region has %s, where the sharding gives slices %s of %s",
			   shlo_type_brief(check->arena, part),
			   shlo_type_brief(check->arena, slice),
			   shlo_type_brief(check->arena, whole));
}

/* Checks manual_computation, whose region computes with the slices that a device has. */
void shlo_check_manual_computation(struct shlo_check *check)
{
	const struct shlo_block *block = &check->op->regions[0]->block;
	const struct shlo_cut *cut = check->op->cut;
	const struct shlo_op *last;

	shlo_need_region(check, 0, check->in_count, check->op->result_count);
	last = block->ops[block->op_count - 1];
	for (size_t i = 0; i < check->in_count; i++)
		need_slice(check, cut ? cut->in[i] : NULL, check->in[i], block->arguments[i]->type);
	for (size_t i = 0; i < check->op->result_count; i++)
		need_slice(check, cut ? cut->out[i] : NULL, check->op->results[i]->type,
			   last->operands[i]->type);
}

/*
 * Evaluates a mark, which computes nothing: returns its operands, and does not count it as an
 * operation.
 */
void shlo_eval_mark(struct shlo_call *call)
{
	call->run->reference_ops--;
	for (size_t i = 0; i < call->op->result_count; i++)
		call->out[i] = shlo_tensor_get(call->in[i]);
}
