// SPDX-License-Identifier: MIT
/*
 * Writes and reads graphs as text, one value or call a line:
 *
 * 	graph 1
 * 	v0 = input float32 [2,3] uniform -1 1 seed 7
 * 	v1 v2 = split v0 axis=1 splits=[1,2]
 * 	output v1 v2
 *
 * "-" is an operand that is absent; "equal" makes split cut equal slices; an option's number
 * follows its kind: d:0.5, i:-3, u:7.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

static const char *const fill_names[] = { "uniform", "bits", "special", "steps" };

_Static_assert(ARRAY_SIZE(fill_names) == GRAPH_FILL_COUNT, "a name for every fill");

/* --- Writing --- */

static void print_leaf(const struct graph_value *value, uint32_t id, FILE *to)
{
	fprintf(to, "v%" PRIu32 " = %s %s [", id, value->kind == GRAPH_INPUT ? "input" : "constant",
		wnn_enum_name(&wnn_enum_operand_data_type, value->type));
	for (uint32_t i = 0; i < value->rank; i++)
		fprintf(to, "%s%" PRIu32, i ? "," : "", value->dims[i]);
	fprintf(to, "] %s %.17g %.17g seed %" PRIu64 "\n", fill_names[value->fill], value->lo,
		value->hi, value->seed);
}

static void print_number(const WNNNumber *number, FILE *to)
{
	if (number->kind == WNNNumberKind_Double)
		fprintf(to, "d:%.17g", number->doubleValue);
	else if (number->kind == WNNNumberKind_Int64)
		fprintf(to, "i:%" PRId64, number->int64Value);
	else
		fprintf(to, "u:%" PRIu64, number->uint64Value);
}

static void print_item(const struct wnn_attribute *row, const struct graph_attr *attr, uint32_t i,
		       FILE *to)
{
	if (row->values)
		fprintf(to, "%s", wnn_enum_name(row->values, attr->word[i]));
	else if (row->kind == WNN_ATTRIBUTE_I32)
		fprintf(to, "%" PRId32, (int32_t)attr->word[i]);
	else if (row->kind == WNN_ATTRIBUTE_F32_ARRAY)
		fprintf(to, "%.9g", (double)attr->real[i]);
	else
		fprintf(to, "%" PRIu32, attr->word[i]);
}

static bool is_list(const struct wnn_attribute *row)
{
	return row->kind == WNN_ATTRIBUTE_U32_ARRAY || row->kind == WNN_ATTRIBUTE_F32_ARRAY ||
	       row->kind == WNN_ATTRIBUTE_ENUM_ARRAY;
}

static void print_attrs(const struct wnn_attribute *rows, uint32_t count,
			const struct graph_attr *attrs, FILE *to)
{
	for (uint32_t a = 0; a < count; a++) {
		if (!attrs[a].set)
			continue;
		fprintf(to, " %s=", rows[a].name);
		if (rows[a].kind == WNN_ATTRIBUTE_F64) {
			fprintf(to, "%.17g", attrs[a].f64);
		} else if (rows[a].kind == WNN_ATTRIBUTE_NUMBER) {
			print_number(&attrs[a].number, to);
		} else if (is_list(&rows[a])) {
			fputc('[', to);
			for (uint32_t i = 0; i < attrs[a].count; i++) {
				if (i)
					fputc(',', to);
				print_item(&rows[a], &attrs[a], i, to);
			}
			fputc(']', to);
		} else {
			print_item(&rows[a], &attrs[a], 0, to);
		}
	}
}

static void print_node(const struct graph_node *node, FILE *to)
{
	const struct wnn_op_info *info = &wnn_op_info[node->op];

	for (uint32_t i = 0; i < node->num_results; i++)
		fprintf(to, "v%d ", node->results[i]);
	fprintf(to, "= %s", info->name);
	for (uint32_t i = 0; i < node->num_operands; i++)
		if (node->operands[i] < 0)
			fprintf(to, " -");
		else
			fprintf(to, " v%d", node->operands[i]);
	if (node->equal_split)
		fprintf(to, " equal");
	print_attrs(info->arguments, info->argument_count, node->arguments, to);
	print_attrs(info->options->members, info->options->member_count, node->options, to);
	fputc('\n', to);
}

/* Prints all inputs and constants, then the calls, then the outputs. */
void graph_print(const struct graph *graph, FILE *to)
{
	fprintf(to, "graph 1\n");
	for (uint32_t v = 0; v < graph->num_values; v++)
		if (graph->values[v].kind != GRAPH_RESULT)
			print_leaf(&graph->values[v], v, to);
	for (uint32_t n = 0; n < graph->num_nodes; n++)
		print_node(&graph->nodes[n], to);
	fprintf(to, "output");
	for (uint32_t v = 0; v < graph->num_values; v++)
		if (graph->values[v].output)
			fprintf(to, " v%" PRIu32, v);
	fputc('\n', to);
}

/* --- Reading --- */

struct reader {
	struct graph *graph;
	char *message;
	size_t size;
	int line;
};

__attribute__((format(printf, 2, 3))) static int wrong(struct reader *r, const char *format, ...)
{
	va_list ap;
	int used = snprintf(r->message, r->size, "line %d: ", r->line);

	va_start(ap, format);
	vsnprintf(r->message + used, r->size - (size_t)used, format, ap);
	va_end(ap);
	return -1;
}

static int read_value(struct reader *r, const char *word)
{
	char *end;
	long id = word && word[0] == 'v' ? strtol(word + 1, &end, 10) : -1;

	if (id < 0 || id >= GRAPH_MAX_VALUES || *end)
		return wrong(r, "'%s' is no value: v0 to v%d", word ? word : "",
			     GRAPH_MAX_VALUES - 1);
	if (r->graph->num_values <= (uint32_t)id)
		r->graph->num_values = (uint32_t)id + 1;
	return (int)id;
}

/*
 * Cuts the items of "[1,2]" apart in place; leaves out those after GRAPH_MAX_LIST. Returns their
 * number, or -1 when the text is no list.
 */
static int split_list(char *text, char *items[GRAPH_MAX_LIST])
{
	size_t length = strlen(text);
	int n = 0;

	if (length < 2 || text[0] != '[' || text[length - 1] != ']')
		return -1;
	text[length - 1] = '\0';
	for (char *item = strtok(text + 1, ","); item && n < GRAPH_MAX_LIST;
	     item = strtok(NULL, ","))
		items[n++] = item;
	return n;
}

static int read_leaf(struct reader *r, int id, enum graph_kind kind, char **words, int count)
{
	struct graph_value *value = &r->graph->values[id];
	char *items[GRAPH_MAX_LIST];
	int rank;

	if (count != 7)
		return wrong(r, "an input or constant is: type [shape] fill lo hi seed number");
	value->kind = kind;
	value->type = (WNNOperandDataType)wnn_enum_find(&wnn_enum_operand_data_type, words[0]);
	rank = split_list(words[1], items);
	if (!value->type || rank < 0)
		return wrong(r, "'%s' is no data type or '%s' no shape", words[0], words[1]);
	value->rank = (uint32_t)rank;
	for (int i = 0; i < rank; i++)
		value->dims[i] = (uint32_t)strtoul(items[i], NULL, 10);
	for (value->fill = 0; value->fill < GRAPH_FILL_COUNT; value->fill++)
		if (!strcmp(words[2], fill_names[value->fill]))
			break;
	if (value->fill == GRAPH_FILL_COUNT)
		return wrong(r, "'%s' is no way to fill a tensor", words[2]);
	value->lo = strtod(words[3], NULL);
	value->hi = strtod(words[4], NULL);
	value->seed = strtoull(words[6], NULL, 10);
	return 0;
}

static int read_item(struct reader *r, const struct wnn_attribute *row, const char *text,
		     struct graph_attr *attr, uint32_t i)
{
	if (row->values) {
		attr->word[i] = wnn_enum_find(row->values, text);
		if (!attr->word[i])
			return wrong(r, "%s has no value '%s'", row->name, text);
	} else if (row->kind == WNN_ATTRIBUTE_F32_ARRAY) {
		attr->real[i] = strtof(text, NULL);
	} else {
		attr->word[i] = (uint32_t)strtoll(text, NULL, 10);
	}
	return 0;
}

static int read_attr(struct reader *r, const struct wnn_attribute *row, char *text,
		     struct graph_attr *attr)
{
	char *items[GRAPH_MAX_LIST];
	int n = 1;

	attr->set = true;
	if (row->kind == WNN_ATTRIBUTE_F64) {
		attr->f64 = strtod(text, NULL);
		return 0;
	}
	if (row->kind == WNN_ATTRIBUTE_NUMBER) {
		attr->number = text[0] == 'd' ? WNN_NUMBER_DOUBLE(strtod(text + 2, NULL)) :
			       text[0] == 'i' ? WNN_NUMBER_INT64(strtoll(text + 2, NULL, 10)) :
						WNN_NUMBER_UINT64(strtoull(text + 2, NULL, 10));
		return 0;
	}
	items[0] = text;
	if (is_list(row))
		n = split_list(text, items);
	if (n < 0)
		return wrong(r, "%s is no list", row->name);
	attr->count = (uint32_t)n;
	for (int i = 0; i < n; i++)
		if (read_item(r, row, items[i], attr, (uint32_t)i))
			return -1;
	return 0;
}

static int read_setting(struct reader *r, struct graph_node *node, char *word)
{
	const struct wnn_op_info *info = &wnn_op_info[node->op];
	char *text = strchr(word, '=');

	*text++ = '\0';
	for (uint32_t i = 0; i < info->argument_count; i++)
		if (!strcmp(info->arguments[i].name, word))
			return read_attr(r, &info->arguments[i], text, &node->arguments[i]);
	for (uint32_t i = 0; i < info->options->member_count; i++)
		if (!strcmp(info->options->members[i].name, word))
			return read_attr(r, &info->options->members[i], text, &node->options[i]);
	return wrong(r, "%s has neither an argument nor an option '%s'", info->name, word);
}

static int read_node(struct reader *r, char **results, int num_results, char **words, int count)
{
	struct graph_node *node = &r->graph->nodes[r->graph->num_nodes];

	if (r->graph->num_nodes == GRAPH_MAX_NODES || num_results > GRAPH_MAX_RESULTS)
		return wrong(r, "too many calls or results");
	node->op = wnn_op_find(words[0]);
	if (node->op == WNN_OP_COUNT)
		return wrong(r, "there is no operator '%s'", words[0]);
	for (int i = 0; i < num_results; i++) {
		node->results[i] = read_value(r, results[i]);
		if (node->results[i] < 0)
			return -1;
		r->graph->values[node->results[i]].kind = GRAPH_RESULT;
	}
	node->num_results = (uint32_t)num_results;
	for (int i = 1; i < count; i++) {
		if (!strcmp(words[i], "equal")) {
			node->equal_split = true;
			continue;
		}
		if (strchr(words[i], '=')) {
			if (read_setting(r, node, words[i]))
				return -1;
			continue;
		}
		if (node->num_operands == GRAPH_MAX_OPERANDS)
			return wrong(r, "too many operands");
		node->operands[node->num_operands] =
			strcmp(words[i], "-") ? read_value(r, words[i]) : GRAPH_ABSENT;
		if (node->operands[node->num_operands++] < 0 && strcmp(words[i], "-"))
			return -1;
	}
	r->graph->num_nodes++;
	return 0;
}

static int read_line(struct reader *r, char **words, int count)
{
	int equals = 0;

	if (!strcmp(words[0], "graph"))
		return 0;
	if (!strcmp(words[0], "output")) {
		for (int i = 1; i < count; i++) {
			int id = read_value(r, words[i]);

			if (id < 0)
				return -1;
			r->graph->values[id].output = true;
		}
		return 0;
	}
	while (equals < count && strcmp(words[equals], "="))
		equals++;
	if (!equals || equals + 1 >= count)
		return wrong(r, "expected values, '=' and what they are");
	if (!strcmp(words[equals + 1], "input") || !strcmp(words[equals + 1], "constant")) {
		int id = read_value(r, words[0]);

		if (id < 0)
			return -1;
		return read_leaf(r, id, words[equals + 1][0] == 'i' ? GRAPH_INPUT : GRAPH_CONSTANT,
				 words + equals + 2, count - equals - 2);
	}
	return read_node(r, words, equals, words + equals + 1, count - equals - 1);
}

int graph_parse(struct graph *graph, FILE *from, char *message, size_t size)
{
	struct reader r = { graph, message, size, 0 };
	struct wnn_error err = { 0 };
	char line[2000], *words[64];

	memset(graph, 0, sizeof(*graph));
	while (fgets(line, sizeof(line), from)) {
		int count = 0;
		char *rest;

		r.line++;
		line[strcspn(line, "#\n")] = '\0';
		for (char *word = strtok_r(line, " \t", &rest); word && count < 64;
		     word = strtok_r(NULL, " \t", &rest))
			words[count++] = word;
		if (count && read_line(&r, words, count))
			return -1;
	}
	if (graph_infer(graph, &err)) {
		snprintf(message, size, "%s", err.message);
		return -1;
	}
	return 0;
}
