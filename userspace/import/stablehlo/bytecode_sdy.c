// SPDX-License-Identifier: MIT
/*
 * Reads attributes of Shardy (sdy) in their bytecode encoding, and returns them as text like that
 * of the printed form: other files read meshes and shardings as text, whatever file they come from.
 */
#include <string.h>

#include "bytecode.h"
#include "text.h"

/* The numbers that Shardy gives its attributes. */
enum sdy_attr {
	SDY_MANUAL_AXES,
	SDY_MESH_AXIS,
	SDY_MESH,
	SDY_SUB_AXIS_INFO,
	SDY_AXIS_REF,
	SDY_DIMENSION_SHARDING,
	SDY_TENSOR_SHARDING,
	SDY_TENSOR_SHARDING_PER_VALUE,
	SDY_DIM_MAPPING,
	SDY_TENSOR_MAPPING,
	SDY_OP_SHARDING_RULE,
	SDY_AXIS_REF_LIST,
	SDY_LIST_OF_AXIS_REF_LISTS,
	SDY_ALL_TO_ALL_PARAM,
	SDY_ALL_TO_ALL_PARAM_LIST,
	SDY_TENSOR_SHARDING_UNREDUCED,
	SDY_TENSOR_SHARDING_PER_VALUE_UNREDUCED,
	SDY_TENSOR_SHARDING_REDUCTION,
	SDY_COUNT,
};

/*
 * The most bytes of an attribute's text: attributes share their parts, so that the text may grow
 * much faster than the file.
 */
#define MAX_TEXT (1u << 16)

/* Adds an attribute that is part of another; in the printed form it has no "#sdy.NAME" there. */
static void add_part(struct shlo_bytes *b, struct shlo_text *text, const struct shlo_attr *part)
{
	const char *bare = part->text ? part->text : "";
	const char *end = strchr(bare, '<');

	if (!strncmp(bare, "#sdy.", 5) && end)
		bare = end;
	if (text->length + strlen(bare) > MAX_TEXT)
		shlo_bytes_error(b, "an attribute of sdy has more than %u bytes as text", MAX_TEXT);
	shlo_text_add(text, "%s", bare);
}

static void add_parts(struct shlo_bytes *b, struct shlo_text *text)
{
	size_t count = shlo_bytes_count(b);

	for (size_t i = 0; i < count; i++) {
		shlo_text_add(text, "%s", i ? ", " : "");
		add_part(b, text, shlo_bytes_attr(b));
	}
}

static void add_name(struct shlo_bytes *b, struct shlo_text *text)
{
	size_t length;
	const char *name = shlo_bytes_string(b, &length);

	shlo_text_add_string(text, name, length);
}

static void add_manual_axes(struct shlo_bytes *b, struct shlo_text *text)
{
	size_t count = shlo_bytes_count(b);

	shlo_text_add(text, "#sdy.manual_axes<{");
	for (size_t i = 0; i < count; i++) {
		const struct shlo_attr *name = shlo_bytes_attr(b);

		if (name->kind != SHLO_ATTR_STRING)
			shlo_bytes_error(b, "the name of an axis is no string");
		shlo_text_add(text, "%s", i ? ", " : "");
		shlo_text_add_string(text, name->text, name->count);
	}
	shlo_text_add(text, "}>");
}

static void add_mesh(struct shlo_bytes *b, struct shlo_text *text)
{
	size_t count;
	const int64_t *ids;

	shlo_text_add(text, "#sdy.mesh<[");
	add_parts(b, text);
	shlo_text_add(text, "]");
	ids = shlo_bytes_ints(b, &count);
	for (size_t i = 0; i < count; i++)
		shlo_text_add(text, "%s%lld", i ? ", " : ", device_ids=[", (long long)ids[i]);
	shlo_text_add(text, "%s", count ? "]>" : ">");
}

static void add_axis(struct shlo_bytes *b, struct shlo_text *text)
{
	const struct shlo_attr *part;

	add_name(b, text);
	part = shlo_bytes_optional_attr(b);
	if (part) {
		shlo_text_add(text, ":");
		add_part(b, text, part);
	}
}

static void add_dimension(struct shlo_bytes *b, struct shlo_text *text)
{
	struct shlo_text axes = { .arena = text->arena };
	bool is_closed, has_priority;
	uint64_t priority;

	add_parts(b, &axes);
	is_closed = shlo_bytes_byte(b);
	shlo_text_add(text, "{%s%s}", axes.length ? axes.data : "",
		      is_closed	  ? "" :
		      axes.length ? ", ?" :
				    "?");
	priority = shlo_bytes_flagged(b, &has_priority);
	if (has_priority)
		shlo_text_add(text, "p%llu", (unsigned long long)priority);
}

static void add_sharding(struct shlo_bytes *b, struct shlo_text *text, uint64_t code)
{
	const struct shlo_attr *mesh = shlo_bytes_attr(b);
	struct shlo_text replicated = { .arena = text->arena };

	shlo_text_add(text, "#sdy.sharding<");
	if (mesh->kind == SHLO_ATTR_SYMBOL) {
		shlo_text_add(text, "@%s", mesh->text);
	} else {
		shlo_text_add(text, "mesh");
		add_part(b, text, mesh);
	}
	shlo_text_add(text, ", [");
	add_parts(b, text);
	/* The list of replicated axes is left out: along them, every device has the whole value. */
	add_parts(b, &replicated);
	shlo_text_add(text, "]");
	if (code != SDY_TENSOR_SHARDING) {
		shlo_text_add(text, ", unreduced={");
		add_parts(b, text);
		shlo_text_add(text, "}");
	}
	if (code == SDY_TENSOR_SHARDING_REDUCTION)
		shlo_bytes_signed(b);
	shlo_text_add(text, ">");
}

const struct shlo_attr *shlo_sdy_read_attr(struct shlo_bytes *b)
{
	struct shlo_attr *attr = shlo_attr_new(&b->code->reader, SHLO_ATTR_UNIT);
	struct shlo_text text = { .arena = b->code->reader.arena };
	uint64_t code = shlo_bytes_varint(b);
	int64_t before;

	switch (code) {
	case SDY_MANUAL_AXES:
		add_manual_axes(b, &text);
		break;
	case SDY_MESH_AXIS:
		add_name(b, &text);
		shlo_text_add(&text, "=%lld", (long long)shlo_bytes_signed(b));
		break;
	case SDY_MESH:
		add_mesh(b, &text);
		break;
	case SDY_SUB_AXIS_INFO:
		before = shlo_bytes_signed(b);
		shlo_text_add(&text, "(%lld)%lld", (long long)before,
			      (long long)shlo_bytes_signed(b));
		break;
	case SDY_AXIS_REF:
		add_axis(b, &text);
		break;
	case SDY_DIMENSION_SHARDING:
		add_dimension(b, &text);
		break;
	case SDY_TENSOR_SHARDING:
	case SDY_TENSOR_SHARDING_UNREDUCED:
	case SDY_TENSOR_SHARDING_REDUCTION:
		add_sharding(b, &text, code);
		break;
	case SDY_TENSOR_SHARDING_PER_VALUE:
	case SDY_TENSOR_SHARDING_PER_VALUE_UNREDUCED:
		shlo_text_add(&text, "#sdy.sharding_per_value<[");
		add_parts(b, &text);
		shlo_text_add(&text, "]>");
		break;
	default:
		if (code >= SDY_COUNT)
			shlo_bytes_error(
				b,
				"sdy has no attribute %llu: the file is newer than this reader, or "
				"damaged",
				(unsigned long long)code);
		/* Rules of partitioners, which do not affect values. */
		shlo_text_add(&text, "#sdy.attribute");
	}
	attr->text = text.data;
	return attr;
}
