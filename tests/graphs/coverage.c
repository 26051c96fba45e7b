// SPDX-License-Identifier: MIT
/*
 * Counts the pairs of features of an operator with which it has run. Features are type and rank of
 * its main operand, types of operands that have one of their own, and the values of options: each
 * value of an enumeration or boolean; for other options and optional operands, whether they are
 * given. The operator table and the limits of the context define the possible pairs.
 */
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "graph/operand.h"

#define MAX_DIMENSIONS 16
#define MAX_FEATURES   12

/* One feature of a call, with its possible values. */
struct dimension {
	char name[40];
	uint32_t count; /* number of possible values */
	uint32_t values[MAX_FEATURES];
	const struct wnn_enum *names;
	enum { TYPE_OF, RANK_OF, OPTION, ARGUMENT, PRESENCE } kind;
	uint32_t index;
};

/* The features of an operator's calls. */
struct space {
	uint32_t count;
	struct dimension dims[MAX_DIMENSIONS];
};

/* filled[op][a][i][b]: bit k says that a call has had value i of feature a and value k of b */
static uint64_t filled[WNN_OP_COUNT][MAX_DIMENSIONS][MAX_FEATURES][MAX_DIMENSIONS];
static uint64_t calls[WNN_OP_COUNT];

_Static_assert(MAX_FEATURES <= 64, "a bit for each value");

static struct dimension *add_dimension(struct space *space, const char *prefix, const char *name,
				       int kind, uint32_t index)
{
	struct dimension *dim = &space->dims[space->count];

	if (space->count == MAX_DIMENSIONS)
		abort();
	space->count++;
	snprintf(dim->name, sizeof(dim->name), "%s%s", prefix, name);
	dim->kind = kind;
	dim->index = index;
	return dim;
}

static void add_types(struct space *space, const char *name, uint32_t index,
		      WNNOperandDataTypeSet types)
{
	struct dimension *dim = add_dimension(space, name, "", TYPE_OF, index);

	dim->names = &wnn_enum_operand_data_type;
	for (uint32_t t = 1; t <= WNNOperandDataType_Uint4; t++)
		if (types & WNN_DATA_TYPE_BIT(t))
			dim->values[dim->count++] = t;
}

static WNNOperandDataTypeSet types_of(enum wnn_op op, const struct wnn_op_operand *operand,
				      graph_limits limits)
{
	return limits ? wnn_op_operand_limits(limits, op, operand)->dataTypes :
			operand->types | operand->extension_types;
}

static void add_attributes(struct space *space, enum wnn_op op, bool options, graph_limits limits)
{
	const struct wnn_op_info *info = &wnn_op_info[op];
	const struct wnn_attribute *rows = options ? info->options->members : info->arguments;
	uint32_t count = options ? info->options->member_count : info->argument_count;

	for (uint32_t i = 0; i < count; i++) {
		const struct wnn_attribute *row = &rows[i];
		struct dimension *dim;

		if (row->kind == WNN_ATTRIBUTE_OPERAND || row->kind == WNN_ATTRIBUTE_STRING)
			continue;
		/* Arguments other than enumerations are always given. */
		if (!options && row->kind != WNN_ATTRIBUTE_ENUM)
			continue;
		dim = add_dimension(space, "", row->name, options ? OPTION : ARGUMENT, i);
		if (row->values == &wnn_enum_operand_data_type) {
			space->count--;
			add_types(space, row->name, i, types_of(op, &info->outputs[0], limits));
			dim->kind = options ? OPTION : ARGUMENT;
		} else if (row->kind == WNN_ATTRIBUTE_ENUM) {
			dim->names = row->values;
			for (uint32_t v = 1; v < row->values->count; v++)
				if (row->values->names[v])
					dim->values[dim->count++] = v;
		} else {
			dim->count = 2; /* false and true, or absent and given */
			dim->values[1] = 1;
		}
	}
}

static void make_space(struct space *space, enum wnn_op op, graph_limits limits)
{
	const struct wnn_op_info *info = &wnn_op_info[op];
	uint32_t main = graph_main_operand(op);
	const struct wnn_op_operand *operand = &info->operands[main];
	uint32_t lo = operand->rank_min, hi = operand->rank_max;
	struct dimension *rank;

	memset(space, 0, sizeof(*space));
	add_types(space, "type", main, types_of(op, operand, limits));
	if (limits) {
		const WNNTensorLimits *own = wnn_op_operand_limits(limits, op, operand);

		lo = own->rankRange.min > lo ? own->rankRange.min : lo;
		hi = own->rankRange.max < hi ? own->rankRange.max : hi;
	}
	rank = add_dimension(space, "rank", "", RANK_OF, main);
	for (uint32_t r = lo; r <= hi && r <= IR_MAX_RANK; r++)
		rank->values[rank->count++] = r;
	for (uint32_t i = 0; i < info->operand_count; i++) {
		if (info->operands[i].flags & WNN_OPERAND_OPTIONAL) {
			struct dimension *dim =
				add_dimension(space, "", info->operands[i].name, PRESENCE, i);

			dim->count = 2;
			dim->values[1] = 1;
		} else if (i != main && info->operands[i].type_as < 0 &&
			   __builtin_popcount(info->operands[i].types) > 1) {
			add_types(space, info->operands[i].name, i,
				  types_of(op, &info->operands[i], limits));
		}
	}
	add_attributes(space, op, false, limits);
	add_attributes(space, op, true, limits);
}

/* --- A call --- */

static uint32_t attr_value(const struct wnn_attribute *row, const struct graph_attr *attr)
{
	if (row->kind == WNN_ATTRIBUTE_ENUM)
		return attr->set ? attr->word[0] : row->undefined;
	/* An absent boolean counts as its default, which is true for these two. */
	if (row->kind == WNN_ATTRIBUTE_BOOL && attr->set)
		return attr->word[0] != 0;
	if (row->kind == WNN_ATTRIBUTE_BOOL)
		return !strcmp(row->name, "resetAfter") || !strcmp(row->name, "upper");
	return attr->set;
}

static int feature_of(const struct graph *graph, const struct graph_node *node,
		      const struct dimension *dim)
{
	const struct wnn_op_info *info = &wnn_op_info[node->op];
	int operand = dim->index < GRAPH_MAX_OPERANDS ? node->operands[dim->index] : GRAPH_ABSENT;
	uint32_t value = 0;

	switch (dim->kind) {
	case TYPE_OF:
		value = (uint32_t)graph->values[operand].type;
		break;
	case RANK_OF:
		value = graph->values[operand].rank;
		break;
	case PRESENCE:
		value = operand >= 0;
		break;
	case OPTION:
		value = attr_value(&info->options->members[dim->index], &node->options[dim->index]);
		break;
	case ARGUMENT:
		value = attr_value(&info->arguments[dim->index], &node->arguments[dim->index]);
		break;
	}
	for (uint32_t i = 0; i < dim->count; i++)
		if (dim->values[i] == value)
			return (int)i;
	return -1;
}

static void add_node(const struct graph *graph, const struct graph_node *node)
{
	int feature[MAX_DIMENSIONS];
	struct space space;

	make_space(&space, node->op, NULL);
	calls[node->op]++;
	for (uint32_t i = 0; i < space.count; i++)
		feature[i] = feature_of(graph, node, &space.dims[i]);
	for (uint32_t i = 0; i < space.count; i++)
		for (uint32_t k = 0; k < space.count; k++)
			if (i != k && feature[i] >= 0 && feature[k] >= 0)
				filled[node->op][i][feature[i]][k] |= UINT64_C(1) << feature[k];
}

void coverage_add(const struct graph *graph)
{
	for (uint32_t n = 0; n < graph->num_nodes; n++)
		add_node(graph, &graph->nodes[n]);
}

/* --- The table --- */

static int index_in(const struct dimension *dim, uint32_t value)
{
	for (uint32_t i = 0; i < dim->count; i++)
		if (dim->values[i] == value)
			return (int)i;
	return -1;
}

static void print_feature(const struct dimension *dim, uint32_t i)
{
	const char *name = dim->names ? wnn_enum_name(dim->names, dim->values[i]) : NULL;

	if (name)
		printf("%s=%s", dim->name, name);
	else
		printf("%s=%u", dim->name, (unsigned int)dim->values[i]);
}

struct tally {
	uint64_t pairs, filled;
};

/*
 * Adds to @tally the pairs of values of the features @a and @b that @allowed has, and the number of
 * these with which the operator has run. With @list, prints the other pairs. @full is the space
 * that indexes `filled`.
 */
static void count_pairs(enum wnn_op op, const struct space *full, const struct space *allowed,
			uint32_t a, uint32_t b, bool list, struct tally *tally)
{
	const struct dimension *x = &allowed->dims[a], *y = &allowed->dims[b];

	for (uint32_t i = 0; i < x->count; i++)
		for (uint32_t k = 0; k < y->count; k++) {
			int fi = index_in(&full->dims[a], x->values[i]);
			int fk = index_in(&full->dims[b], y->values[k]);
			bool is = fi >= 0 && fk >= 0 && filled[op][a][fi][b] >> fk & 1;

			tally->pairs++;
			tally->filled += is;
			if (is || !list)
				continue;
			printf("unfilled: %s ", wnn_op_info[op].name);
			print_feature(x, i);
			printf(" ");
			print_feature(y, k);
			printf("\n");
		}
}

double coverage_print(graph_limits limits, bool list_unfilled)
{
	struct tally all = { 0 };

	printf("%-24s %8s %8s %8s\n", "operator", "calls", "pairs", "filled");
	for (uint32_t op = 0; op < WNN_OP_COUNT; op++) {
		struct space full, allowed;
		struct tally own = { 0 };

		make_space(&full, (enum wnn_op)op, NULL);
		make_space(&allowed, (enum wnn_op)op, limits);
		for (uint32_t a = 0; allowed.dims[0].count && a < full.count; a++)
			for (uint32_t b = a + 1; b < full.count; b++)
				count_pairs((enum wnn_op)op, &full, &allowed, a, b, list_unfilled,
					    &own);
		printf("%-24s %8llu %8llu %8llu\n", wnn_op_info[op].name,
		       (unsigned long long)calls[op], (unsigned long long)own.pairs,
		       (unsigned long long)own.filled);
		all.pairs += own.pairs;
		all.filled += own.filled;
	}
	printf("coverage: %llu of %llu pairs of operator x type, rank and option (%.2f %%)\n",
	       (unsigned long long)all.filled, (unsigned long long)all.pairs,
	       all.pairs ? 100.0 * (double)all.filled / (double)all.pairs : 0.0);
	return all.pairs ? (double)all.filled / (double)all.pairs : 0;
}
