// SPDX-License-Identifier: MIT
/*
 * webnn-run: finds the first operator of a model that two devices compute differently. The model is
 * cut after one of its nodes, and all values that cross the cut become outputs: a difference that
 * arises before the cut shows in one of them, in any branch, so that a binary search over cuts
 * finds it.
 */
#include "bisect.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_file.h"
#include "recorded.h"

enum verdict { SAME, DIFFERS, UNKNOWN };

/* The output of a node. The list of all outputs is sorted by name. */
struct made {
	const char *name;
	size_t by; /* index of the node that computes it */
	/* index of the last node that reads it, or 0; the number of nodes: an output of the model */
	size_t last_use;
	bool from_inputs; /* whether it depends on values of inputs; else all devices agree on it */
	bool recorded;	  /* whether there is a recorded value for it */
};

struct search {
	struct subject *subject;
	struct target *targets[2]; /* the second is NULL when recorded values are compared */
	const char *recorded;
	struct tolerance tolerance;
	Onnx__ModelProto *model;
	size_t node_count;
	struct made *made;
	size_t made_count;
	/* of all differing values so far, the one that is computed first */
	struct bisected *result;
};

/* ---- which values cross a cut */

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct made *)a)->name, ((const struct made *)b)->name);
}

static struct made *find(const struct search *search, const char *name)
{
	const struct made key = { .name = name ? name : "" };

	return search->made_count ?
		       bsearch(&key, search->made, search->made_count, sizeof(key), compare_names) :
		       NULL;
}

/*
 * Notes that node @at is the last to read its inputs and those of nodes in its attributes' graphs.
 * Returns whether one of these values depends on the model's inputs.
 */
static bool read_values(const struct search *search, const Onnx__NodeProto *node, size_t at)
{
	const Onnx__GraphProto *graph = search->model->graph;
	bool from_inputs = false;

	for (size_t i = 0; i < node->n_input; i++) {
		struct made *made = find(search, node->input[i]);

		if (made) {
			made->last_use = at;
			from_inputs |= made->from_inputs;
		}
		for (size_t k = 0; !made && k < graph->n_input; k++)
			from_inputs |= !strcmp(graph->input[k]->name, node->input[i]);
	}
	for (size_t i = 0; i < node->n_attribute; i++)
		for (size_t k = 0; node->attribute[i]->g && k < node->attribute[i]->g->n_node; k++)
			from_inputs |= read_values(search, node->attribute[i]->g->node[k], at);
	return from_inputs;
}

static int learn(struct search *search)
{
	const Onnx__GraphProto *graph = search->model->graph;
	size_t room = 0;

	search->node_count = graph->n_node;
	for (size_t i = 0; i < graph->n_node; i++)
		room += graph->node[i]->n_output;
	search->made = calloc(room + 1, sizeof(*search->made));
	if (!search->made)
		return complain(
			BAD_DEVICE,
			"--bisect: too little memory is free for the list of the model's tensors; "
			"end other programs, or raise the limit (ulimit -v)");
	for (size_t i = 0; i < graph->n_node; i++)
		for (size_t k = 0; k < graph->node[i]->n_output; k++)
			if (*graph->node[i]->output[k])
				search->made[search->made_count++] =
					(struct made){ .name = graph->node[i]->output[k], .by = i };
	if (search->made_count)
		qsort(search->made, search->made_count, sizeof(*search->made), compare_names);
	for (size_t i = 0; i < graph->n_node; i++) {
		const Onnx__NodeProto *node = graph->node[i];
		bool from_inputs = read_values(search, node, i);

		/* Shapes are equal on all devices. */
		if (!strcmp(node->op_type, "Shape") || !strcmp(node->op_type, "Size"))
			from_inputs = false;
		for (size_t k = 0; k < node->n_output; k++) {
			struct made *made = find(search, node->output[k]);

			if (!made)
				continue;
			made->from_inputs = from_inputs;
			made->recorded = search->recorded && from_inputs &&
					 recorded_has(search->recorded, made->name);
		}
	}
	for (size_t i = 0; i < graph->n_output; i++) {
		struct made *made = find(search, graph->output[i]->name);

		if (made)
			made->last_use = graph->n_node;
	}
	return DONE;
}

/* ---- one cut */

/*
 * Returns the model up to the node before @cut, as bytes that the caller frees, and sets *size;
 * NULL when memory is exhausted, or no value that can be compared crosses the cut. *all is set to
 * whether all values that cross can be compared.
 */
static uint8_t *pack(const struct search *search, size_t cut, size_t *size, bool *all)
{
	Onnx__GraphProto *graph = search->model->graph;
	Onnx__ValueInfoProto *infos = calloc(search->made_count + 1, sizeof(*infos));
	Onnx__ValueInfoProto **outputs =
		calloc(search->made_count + 1, sizeof(Onnx__ValueInfoProto *));
	Onnx__GraphProto whole = *graph;
	uint8_t *bytes = NULL;
	size_t count = 0;

	*all = true;
	for (size_t i = 0; infos && outputs && i < search->made_count; i++) {
		const struct made *made = &search->made[i];

		if (made->by >= cut || made->last_use < cut || !made->from_inputs)
			continue;
		*all &= !search->recorded || made->recorded;
		if (search->recorded && !made->recorded)
			continue;
		onnx__value_info_proto__init(&infos[count]);
		infos[count].name = (char *)made->name;
		outputs[count] = &infos[count];
		count++;
	}
	if (count) {
		graph->n_node = cut;
		graph->n_output = count;
		graph->output = outputs;
		*size = onnx__model_proto__get_packed_size(search->model);
		bytes = malloc(*size);
		if (bytes)
			onnx__model_proto__pack(search->model, bytes);
		*graph = whole;
	}
	free(infos);
	free(outputs);
	return bytes;
}

/*
 * Sets *model to the cut model with the shapes of all inputs; its external data is beside the
 * original file. Returns the status of libwebnn-onnx; the caller releases *model in any case.
 */
static WNNStatus load(const struct search *search, const uint8_t *bytes, size_t size,
		      WNNOnnxModel *model)
{
	WNNOnnxLoadOptions options = WNN_ONNX_LOAD_OPTIONS_INIT;
	char *path = strdup(search->subject->options->model);
	WNNStatus status = WNNStatus_UnknownError;

	*model = NULL;
	if (path) {
		options.folder = WNN_STR(dirname(path));
		status = wnnOnnxLoadMemory(bytes, size, &options, model);
	}
	free(path);
	for (size_t i = 0; status == WNNStatus_Success && i < search->subject->value_count; i++) {
		const struct value *value = &search->subject->values[i];

		status = wnnOnnxModelSetInputShape(*model, WNN_STR(value->name),
						   (WNNUint32Array){ value->rank, value->shape });
	}
	return status;
}

static char *copy_text(const char *text)
{
	return strdup(text ? text : "");
}

/* Notes a value that differs; the result is the value that is computed first. */
static void note(struct search *search, const char *name, const struct difference *difference)
{
	struct bisected *result = search->result;
	const struct made *made = find(search, name), *before;
	const Onnx__NodeProto *node;

	before = result->value ? find(search, result->value) : NULL;
	if (!made || (before && before->by <= made->by))
		return;
	node = search->model->graph->node[made->by];
	bisect_free(result);
	*result = (struct bisected){ copy_text(node_label(node)), copy_text(node->op_type),
				     copy_text(name), *difference, 1 };
}

/*
 * Compares the first target's outputs with the second target's or, without a second target, with
 * recorded values. Returns DONE or an exit code.
 */
static int compare(struct search *search, enum verdict *verdict)
{
	const struct target *got = search->targets[0], *expected = search->targets[1];
	int ret = DONE;

	*verdict = SAME;
	for (size_t i = 0; i < got->output_count; i++) {
		const struct value *one = &got->results[i], *other;
		struct value recorded = { 0 };
		struct difference difference;

		if (!expected)
			ret = recorded_load(search->recorded, one->name, &recorded);
		if (ret)
			return ret;
		other = expected ? &expected->results[i] : &recorded;
		if (one->count != other->count) {
			*verdict = UNKNOWN;
			value_exit(&recorded);
			return DONE;
		}
		difference = difference_of(one, other, search->tolerance);
		value_exit(&recorded);
		if (!difference.differs)
			continue;
		*verdict = DIFFERS;
		note(search, one->name, &difference);
	}
	return DONE;
}

/*
 * Tries a cut. The verdict is UNKNOWN when no graph can be built for the cut, for example because
 * a sequence or a value without a type of WebNN crosses it; also when two values have different
 * numbers of elements, or when a value without a record crosses the cut and all others agree.
 * Returns DONE, or an exit code after a message.
 */
static int try_cut(struct search *search, size_t cut, enum verdict *verdict)
{
	struct subject part = *search->subject;
	size_t size = 0;
	bool all;
	uint8_t *bytes = pack(search, cut, &size, &all);
	int ret = DONE;

	*verdict = bytes || !all ? UNKNOWN : SAME;
	part.model = NULL;
	if (!bytes || load(search, bytes, size, &part.model) != WNNStatus_Success)
		goto out;
	for (int i = 0; i < 2 && search->targets[i]; i++) {
		struct target *target = search->targets[i];

		target_clear(target);
		if (target_try_build(target, &part) != WNNStatus_Success)
			goto out;
		ret = target_prepare(target, &part);
		if (!ret)
			ret = target_dispatch(target);
		if (!ret)
			ret = target_read(target);
		if (ret)
			goto out;
	}
	ret = compare(search, verdict);
	/* Values that are not recorded might still differ. */
	if (!all && *verdict == SAME)
		*verdict = UNKNOWN;
out:
	wnnOnnxModelRelease(part.model);
	free(bytes);
	return ret;
}

/* ---- the search */

/*
 * Tries cuts between @low and @high, from the middle outwards, until a verdict is known; *cut is
 * @low when there is none.
 */
static int try_middle(struct search *search, size_t low, size_t high, size_t *cut,
		      enum verdict *verdict)
{
	size_t middle = low + (high - low) / 2;
	int ret = DONE;

	*verdict = UNKNOWN;
	for (*cut = middle; !ret && *cut < high; (*cut)++) {
		ret = try_cut(search, *cut, verdict);
		if (ret || *verdict != UNKNOWN)
			return ret;
	}
	for (*cut = middle - 1; !ret && *cut > low; (*cut)--) {
		ret = try_cut(search, *cut, verdict);
		if (ret || *verdict != UNKNOWN)
			return ret;
	}
	*cut = low;
	return ret;
}

static int halve(struct search *search)
{
	size_t low = 0, high = search->node_count, cut;
	enum verdict verdict;
	int ret;

	ret = try_cut(search, high, &verdict);
	while (!ret && high - low > 1) {
		ret = try_middle(search, low, high, &cut, &verdict);
		if (ret || cut == low)
			break;
		if (verdict == DIFFERS)
			high = cut;
		else
			low = cut;
	}
	search->result->candidates = high - low;
	return ret;
}

int bisect(struct subject *subject, struct target *got, struct target *expected,
	   const char *recorded, struct tolerance tolerance, struct bisected *result)
{
	struct search search = { .subject = subject,
				 .targets = { got, expected },
				 .recorded = expected ? NULL : recorded,
				 .tolerance = tolerance,
				 .result = result };
	int ret = model_file_load(subject->options->model, &search.model);

	*result = (struct bisected){ 0 };
	if (!ret)
		ret = learn(&search);
	if (!ret)
		ret = halve(&search);
	free(search.made);
	model_file_free(search.model);
	return ret;
}

void bisect_free(struct bisected *result)
{
	free(result->node);
	free(result->kind);
	free(result->value);
	*result = (struct bisected){ 0 };
}
