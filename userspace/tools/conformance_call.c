// SPDX-License-Identifier: MIT
/*
 * wnn-conformance: calls the builder for an operator of a case, as the table of operators describes
 * it.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance_table.h"

/* No memory is allocated for a call with more outputs: the builder refuses it. */
#define MAX_OUTPUTS 65536

/* Memory that lives as long as one call. */
struct scratch {
	struct block {
		struct block *next;
	} *blocks;
};

static void *scratch_get(struct scratch *scratch, size_t count, size_t size)
{
	struct block *block = calloc(1, sizeof(max_align_t) + count * size);

	if (!block)
		return NULL;
	block->next = scratch->blocks;
	scratch->blocks = block;
	return (char *)block + sizeof(max_align_t);
}

static void scratch_free(struct scratch *scratch)
{
	while (scratch->blocks) {
		struct block *next = scratch->blocks->next;

		free(scratch->blocks);
		scratch->blocks = next;
	}
}

/* --- Names ----------------------------------------------------------------------------------- */

/* Returns the slot that holds a name, or the free slot where the name belongs. */
static size_t find_slot(const struct names *names, const char *name)
{
	size_t slot = 5381;

	for (const char *c = name; *c; c++)
		slot = slot * 33 + (unsigned char)*c;
	for (slot &= names->slot_count - 1; names->slots[slot];
	     slot = (slot + 1) & (names->slot_count - 1))
		if (!strcmp(names->items[names->slots[slot] - 1].name, name))
			break;
	return slot;
}

/* Grows the table, so that at most half of the slots are used. Returns 0 or -1. */
static int grow_slots(struct names *names)
{
	size_t count = names->slot_count ? 2 * names->slot_count : 32;
	size_t *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return -1;
	free(names->slots);
	names->slots = slots;
	names->slot_count = count;
	for (size_t i = 0; i < names->count; i++) {
		size_t slot = find_slot(names, names->items[i].name);

		if (!slots[slot])
			slots[slot] = i + 1;
	}
	return 0;
}

void names_free(struct names *names)
{
	free(names->items);
	free(names->slots);
}

int names_add(struct names *names, const char *name, WNNOperand operand)
{
	size_t slot;

	if (names->count == names->room) {
		size_t room = names->room ? 2 * names->room : 16;
		struct named *items = realloc(names->items, room * sizeof(*items));

		if (!items)
			return -1;
		names->items = items;
		names->room = room;
	}
	if (2 * names->count >= names->slot_count && grow_slots(names))
		return -1;
	slot = find_slot(names, name);
	names->items[names->count++] = (struct named){ name, operand };
	/* If several items have one name, the name stands for the first of them. */
	if (!names->slots[slot])
		names->slots[slot] = names->count;
	return 0;
}

WNNOperand names_find(const struct names *names, const char *name)
{
	size_t slot;

	if (!names->slot_count)
		return NULL;
	slot = find_slot(names, name);
	return names->slots[slot] ? names->items[names->slots[slot] - 1].operand : NULL;
}

/* --- Values of arguments --------------------------------------------------------------------- */

/* The state of reading the arguments of a call. */
struct reader {
	const struct names *names;
	struct scratch scratch;
	struct call *call;
};

static int malformed(struct reader *reader, const struct member *member, const char *expected)
{
	reader->call->kind = CALL_MALFORMED;
	snprintf(reader->call->reason, REASON_SIZE, "%s is not %s", member->name, expected);
	return -1;
}

/*
 * Ends the call with a TypeError for a value that the IDL's type cannot hold; always returns -1. In
 * WebNN a language binding throws this error; this program acts as the binding, because the
 * parameters in C cannot hold the value either.
 */
static int refuse(struct reader *reader, const char *fmt, ...)
{
	va_list ap;

	reader->call->kind = CALL_REFUSED;
	reader->call->status = WNNStatus_TypeError;
	va_start(ap, fmt);
	vsnprintf(reader->call->reason, REASON_SIZE, fmt, ap);
	va_end(ap);
	return -1;
}

static int read_integer(struct reader *reader, const struct member *member, const json_t *json,
			int64_t min, int64_t max, int64_t *value)
{
	/* value_load() has made a string of an integer beyond int64. */
	if (value_is_large(json))
		return refuse(reader, "%s is %s, expected %lld to %lld", member->name,
			      json_string_value(json), (long long)min, (long long)max);
	if (!json_is_integer(json))
		return malformed(reader, member, "an integer");
	*value = json_integer_value(json);
	if (*value >= min && *value <= max)
		return 0;
	return refuse(reader, "%s is %lld, expected %lld to %lld", member->name, (long long)*value,
		      (long long)min, (long long)max);
}

static int read_operand(struct reader *reader, const struct member *member, const json_t *json,
			WNNOperand *operand)
{
	const char *name = json_string_value(json_object_get(json, "operand"));

	*operand = name ? names_find(reader->names, name) : NULL;
	return *operand ?
		       0 :
		       malformed(
			       reader, member,
			       "{\"operand\": NAME} with the name of an input or of an earlier output");
}

static int read_operands(struct reader *reader, const struct member *member, const json_t *json,
			 struct operands *list)
{
	list->count = json_array_size(json);
	list->items = scratch_get(&reader->scratch, list->count, sizeof(*list->items));
	if (!json_is_array(json) || !list->items)
		return malformed(reader, member, "a list of operands");
	for (size_t i = 0; i < list->count; i++)
		if (read_operand(reader, member, json_array_get(json, i), &list->items[i]))
			return -1;
	return 0;
}

static int read_u32s(struct reader *reader, const struct member *member, const json_t *json,
		     WNNUint32Array *array)
{
	size_t count = json_array_size(json);
	uint32_t *items = scratch_get(&reader->scratch, count, sizeof(*items));
	int64_t value;

	if (!json_is_array(json) || !items)
		return malformed(reader, member, "a list of integers");
	for (size_t i = 0; i < count; i++) {
		if (read_integer(reader, member, json_array_get(json, i), 0, UINT32_MAX, &value))
			return -1;
		items[i] = (uint32_t)value;
	}
	*array = (WNNUint32Array){ count, items };
	return 0;
}

static int read_floats(struct reader *reader, const struct member *member, const json_t *json,
		       WNNFloatArray *array)
{
	size_t count = json_array_size(json);
	float *items = scratch_get(&reader->scratch, count, sizeof(*items));
	double value;

	if (!json_is_array(json) || !items)
		return malformed(reader, member, "a list of numbers");
	for (size_t i = 0; i < count; i++) {
		if (value_to_double(json_array_get(json, i), &value))
			return malformed(reader, member, "a list of numbers");
		items[i] = (float)value;
	}
	*array = (WNNFloatArray){ count, items };
	return 0;
}

static int read_enum(struct reader *reader, const struct member *member, const json_t *json,
		     uint32_t *value)
{
	const char *text = json_string_value(json);

	for (const struct choice *choice = member->choices; text && choice->name; choice++)
		if (!strcmp(choice->name, text)) {
			*value = choice->value;
			return 0;
		}
	text = json_dumps(json, JSON_ENCODE_ANY | JSON_COMPACT);
	refuse(reader, "%s: %s is no value of its enumeration", member->name, text ? text : "");
	free((void *)text);
	return -1;
}

static int read_enums(struct reader *reader, const struct member *member, const json_t *json,
		      void *to)
{
	size_t count = json_array_size(json);
	uint32_t *items = scratch_get(&reader->scratch, count, sizeof(*items));

	if (!json_is_array(json) || !items)
		return malformed(reader, member, "a list of values of its enumeration");
	for (size_t i = 0; i < count; i++)
		if (read_enum(reader, member, json_array_get(json, i), &items[i]))
			return -1;
	/* Arrays of every enumeration have this layout, because enumerations are 32 bits wide. */
	memcpy(to, &(WNNUint32Array){ count, items }, sizeof(WNNUint32Array));
	return 0;
}

static int read_string(struct reader *reader, const struct member *member, const json_t *json,
		       WNNStringView *view)
{
	if (!json_is_string(json))
		return malformed(reader, member, "a string");
	*view = (WNNStringView){ json_string_value(json), json_string_length(json) };
	return 0;
}

static int read_scalar(struct reader *reader, const struct member *member, const json_t *json,
		       void *to)
{
	int64_t integer = 0;

	switch (member->kind) {
	case KIND_U32:
		if (read_integer(reader, member, json, 0, UINT32_MAX, &integer))
			return -1;
		*(uint32_t *)to = (uint32_t)integer;
		return 0;
	case KIND_I32:
		if (read_integer(reader, member, json, INT32_MIN, INT32_MAX, &integer))
			return -1;
		*(int32_t *)to = (int32_t)integer;
		return 0;
	case KIND_BOOL:
		if (!json_is_boolean(json) && !json_is_number(json))
			return malformed(reader, member, "true or false");
		*(WNNBool *)to = json_is_true(json) ||
				 fpclassify(json_number_value(json)) != FP_ZERO;
		return 0;
	case KIND_DOUBLE:
		return value_to_double(json, to) ? malformed(reader, member, "a number") : 0;
	default:
		return value_to_number(json, to) ? malformed(reader, member, "a number") : 0;
	}
}

static int read_member(struct reader *reader, const struct member *member, const json_t *json,
		       void *base)
{
	void *to = (char *)base + member->offset;

	switch (member->kind) {
	case KIND_OPERAND:
		return read_operand(reader, member, json, to);
	case KIND_OPERANDS:
		return read_operands(reader, member, json, to);
	case KIND_U32_ARRAY:
		return read_u32s(reader, member, json, to);
	case KIND_FLOAT_ARRAY:
		return read_floats(reader, member, json, to);
	case KIND_STRING:
		return read_string(reader, member, json, to);
	case KIND_ENUM:
		return read_enum(reader, member, json, to);
	case KIND_ENUM_ARRAY:
		return read_enums(reader, member, json, to);
	default:
		return read_scalar(reader, member, json, to);
	}
}

/* --- Calls ----------------------------------------------------------------------------------- */

static int unknown(struct reader *reader, const char *what, const char *name)
{
	reader->call->kind = CALL_MALFORMED;
	snprintf(reader->call->reason, REASON_SIZE, "no %s '%s'", what, name);
	return -1;
}

static int read_options(struct reader *reader, const struct options_kind *kind, json_t *json,
			struct arguments *arguments)
{
	const char *key;
	json_t *value;

	arguments->options = scratch_get(&reader->scratch, 1, kind->size);
	if (!arguments->options) {
		reader->call->kind = CALL_MALFORMED;
		snprintf(reader->call->reason, REASON_SIZE, "no memory for the options");
		return -1;
	}
	memcpy(arguments->options, kind->init, kind->size);
	json_object_foreach(json, key, value)
	{
		size_t i = 0;

		while (i < kind->count && strcmp(kind->members[i].name, key))
			i++;
		if (i == kind->count)
			return unknown(reader, "option", key);
		if (read_member(reader, &kind->members[i], value, arguments->options))
			return -1;
	}
	return 0;
}

static int read_parameters(struct reader *reader, const struct operator_kind *kind, json_t *json,
			   struct arguments *arguments)
{
	size_t wanted = 0, given = json_object_size(json);
	const struct member *member;

	for (member = kind->parameters; member->name; member++, wanted++) {
		const json_t *value = json_object_get(json, member->name);

		if (!value)
			return unknown(reader, "argument", member->name);
		if (read_member(reader, member, value, arguments))
			return -1;
	}
	if (given != wanted + (json_object_get(json, "options") != NULL)) {
		reader->call->kind = CALL_MALFORMED;
		snprintf(reader->call->reason, REASON_SIZE, "it has %zu parameters, not %zu",
			 wanted, given);
		return -1;
	}
	return 0;
}

void call_refused(WNNGraphBuilder builder, struct call *out)
{
	WNNError error = WNN_ERROR_INIT;

	out->kind = CALL_REFUSED;
	out->status = wnnGraphBuilderGetLastError(builder, &error);
	snprintf(out->reason, REASON_SIZE, "%.*s", (int)error.message.length,
		 error.message.data ? error.message.data : "");
}

static int keep_outputs(const json_t *item, const struct arguments *arguments, struct names *names,
			struct call *out)
{
	const json_t *outputs = json_object_get(item, "outputs");

	if (json_array_size(outputs) != arguments->output_count) {
		out->kind = CALL_MALFORMED;
		snprintf(out->reason, REASON_SIZE, "it has %zu outputs, the case names %zu",
			 arguments->output_count, json_array_size(outputs));
		return -1;
	}
	for (size_t i = 0; i < arguments->output_count; i++) {
		const char *name = json_string_value(json_array_get(outputs, i));

		if (!name || names_add(names, name, arguments->outputs[i])) {
			out->kind = CALL_MALFORMED;
			snprintf(out->reason, REASON_SIZE, "an output has no name");
			return -1;
		}
	}
	return 0;
}

static void call_known(WNNGraphBuilder builder, const struct operator_kind *kind,
		       const json_t *item, struct names *names, struct reader *reader)
{
	json_t *json = json_object_get(item, "arguments");
	struct arguments arguments = { 0 };
	struct call *out = reader->call;

	if (read_parameters(reader, kind, json, &arguments) ||
	    read_options(reader, kind->options, json_object_get(json, "options"), &arguments))
		return;
	arguments.output_count = kind->outputs ? kind->outputs(&arguments) : 1;
	if (arguments.output_count <= MAX_OUTPUTS) {
		arguments.outputs = scratch_get(&reader->scratch, arguments.output_count + 1,
						sizeof(WNNOperand));
		if (!arguments.outputs) {
			out->kind = CALL_MALFORMED;
			snprintf(out->reason, REASON_SIZE, "no memory for %zu outputs",
				 arguments.output_count);
			return;
		}
	}
	kind->call(builder, &arguments);
	/* A call without any output, such as a split into 0, counts as failed. */
	if (!arguments.outputs || !arguments.outputs[0])
		call_refused(builder, out);
	else
		keep_outputs(item, &arguments, names, out);
}

void call_operator(WNNGraphBuilder builder, const json_t *item, struct names *names,
		   struct call *out)
{
	const char *name = json_string_value(json_object_get(item, "name"));
	const json_t *arguments = json_object_get(item, "arguments");
	const struct operator_kind *kind = name ? operator_find(name, arguments) : NULL;
	struct reader reader = { .names = names, .call = out };

	*out = (struct call){ .kind = CALL_DONE };
	if (!kind) {
		unknown(&reader, "operator", name ? name : "");
		return;
	}
	call_known(builder, kind, item, names, &reader);
	scratch_free(&reader.scratch);
	if (out->kind == CALL_MALFORMED) {
		char reason[REASON_SIZE];

		memcpy(reason, out->reason, sizeof(reason));
		snprintf(out->reason, REASON_SIZE, "%s: %.500s", name, reason);
	}
}
