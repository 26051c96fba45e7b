// SPDX-License-Identifier: MIT
/* webnn-run: finds the shapes of tensors inside of a model by building graphs of it. */
#include "trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Sizes for open dimensions in two builds. The first dimension is mostly the batch; others are
 * lengths of sequences or pictures, which networks reduce.
 */
static const uint32_t first_sizes[] = { 2, 3 }, other_sizes[] = { 64, 96 };

/* Options of one build that set all open dimensions of the inputs. */
struct closing {
	struct pairs dims, shapes;
	char *texts[2]; /* sizes as text: for a first dimension, and for each other dimension */
	/* for each input, its shape as text, if an open dimension has no name; else NULL */
	char **shape_texts;
};

static int no_memory(void)
{
	return complain(BAD_DEVICE,
			"too little memory is free to find the shapes inside the model: end other "
			"programs, or raise the limit (ulimit -v)");
}

static int add(struct pairs *pairs, const char *name, size_t length, const char *text)
{
	struct pair *items = realloc(pairs->items, (pairs->count + 1) * sizeof(*items));

	if (items)
		pairs->items = items;
	if (!items || !(items[pairs->count].name = strndup(name, length)))
		return no_memory();
	items[pairs->count++].text = text;
	return DONE;
}

static int copy_pairs(struct pairs *to, const struct pairs *from)
{
	int ret = DONE;

	for (size_t i = 0; !ret && i < from->count; i++)
		ret = add(to, from->items[i].name, strlen(from->items[i].name),
			  from->items[i].text);
	return ret;
}

static uint32_t size_of(size_t dimension, int turn)
{
	return dimension ? other_sizes[turn] : first_sizes[turn];
}

/*
 * Writes the whole shape of an input, one dimension of which is open and has no name. Returns DONE
 * or an exit code.
 */
static int close_shape(struct closing *closing, const WNNOnnxValueInfo *input, int turn,
		       char **text)
{
	size_t used = 0, room = input->rank * 22 + 1;

	*text = calloc(1, room);
	if (!*text)
		return no_memory();
	for (size_t i = 0; i < input->rank; i++) {
		const WNNOnnxDimension *dimension = &input->dimensions[i];
		long long size = dimension->size != WNN_ONNX_DIMENSION_UNKNOWN ?
					 (long long)dimension->size :
					 size_of(i, turn);

		used += (size_t)snprintf(*text + used, room - used, "%s%lld", i ? "," : "", size);
	}
	return add(&closing->shapes, input->name.data, input->name.length, *text);
}

/*
 * Sets what the options leave open for an input; an unknown rank stays open. Returns DONE or an
 * exit code.
 */
static int close_input(struct closing *closing, const WNNOnnxValueInfo *input, int turn,
		       char **text)
{
	int ret = DONE;

	for (size_t i = 0; !ret && input->rank != WNN_ONNX_RANK_UNKNOWN && i < input->rank; i++) {
		const WNNOnnxDimension *dimension = &input->dimensions[i];

		if (dimension->size != WNN_ONNX_DIMENSION_UNKNOWN)
			continue;
		if (!dimension->name.length)
			return close_shape(closing, input, turn, text);
		if (!pairs_find(&closing->dims, dimension->name))
			ret = add(&closing->dims, dimension->name.data, dimension->name.length,
				  closing->texts[i != 0]);
	}
	return ret;
}

/*
 * Copies the options, with sizes of build @turn for all that is open in @subject. Returns DONE or
 * an exit code.
 */
static int close_all(struct closing *closing, const struct subject *subject, int turn)
{
	WNNOnnxValueInfoArray inputs = subject_inputs(subject);
	int ret = copy_pairs(&closing->dims, &subject->options->dims);

	if (!ret)
		ret = copy_pairs(&closing->shapes, &subject->options->shapes);
	closing->shape_texts = calloc(inputs.count + 1, sizeof(char *));
	for (int i = 0; i < 2; i++)
		if (asprintf(&closing->texts[i], "%u", size_of((size_t)i, turn)) < 0)
			closing->texts[i] = NULL;
	if (!ret && (!closing->shape_texts || !closing->texts[0] || !closing->texts[1]))
		ret = no_memory();
	for (size_t i = 0; !ret && i < inputs.count; i++)
		ret = close_input(closing, &inputs.data[i], turn, &closing->shape_texts[i]);
	return ret;
}

static void closing_exit(struct closing *closing, size_t input_count)
{
	pairs_free(&closing->dims);
	pairs_free(&closing->shapes);
	for (size_t i = 0; closing->shape_texts && i < input_count; i++)
		free(closing->shape_texts[i]);
	free(closing->shape_texts);
	free(closing->texts[0]);
	free(closing->texts[1]);
}

/* ---- graphs */

static void note(const WNNNamedOperandDescriptor *output, struct trial *trial)
{
	if (output->shape.count > VALUE_MAX_RANK)
		return;
	trial->known = true;
	trial->type = output->dataType;
	trial->rank = output->shape.count;
	for (size_t i = 0; i < trial->rank; i++)
		trial->sizes[i] = output->shape.data[i];
}

static int build(const struct options *options, const char *const *names, size_t count,
		 struct trial *trials)
{
	WNNStringView *views = calloc(count + 1, sizeof(*views));
	WNNNamedOperandDescriptorArray outputs = { 0 };
	struct subject subject = { 0 };
	struct target target = { 0 };
	int ret = views ? subject_open(&subject, options) : no_memory();

	for (size_t i = 0; views && i < count; i++)
		views[i] = WNN_STR(names[i]);
	/* Notices of this build do not concern the model that the user runs. */
	subject.told = true;
	if (!ret)
		ret = target_open(&target, options, "cpu");
	if (!ret && wnnOnnxModelSetOutputs(subject.model, count, views) == WNNStatus_Success &&
	    target_try_build(&target, &subject) == WNNStatus_Success && target.graph)
		outputs = wnnGraphGetOutputs(target.graph);
	else if (!ret)
		complain_wnn(DONE, true, "%s: shapes of the part stay unknown", options->model);
	for (size_t i = 0; i < outputs.count; i++)
		for (size_t k = 0; k < count; k++)
			if (same_text(outputs.data[i].name, names[k]))
				note(&outputs.data[i], &trials[k]);
	target_close(&target);
	subject_close(&subject);
	free(views);
	return ret;
}

static bool same_name(WNNStringView a, WNNStringView b)
{
	return a.length == b.length && !memcmp(a.data, b.data, a.length);
}

/*
 * Returns the name of the inputs' dimension that had these sizes in the two builds; NULL: no
 * dimension had them, or one without a name, or several of different names, or memory is exhausted.
 */
static char *name_of(WNNOnnxValueInfoArray inputs, int64_t first, int64_t second)
{
	WNNStringView found = { 0 };

	for (size_t i = 0; i < inputs.count; i++)
		for (size_t k = 0;
		     inputs.data[i].rank != WNN_ONNX_RANK_UNKNOWN && k < inputs.data[i].rank; k++) {
			const WNNOnnxDimension *dimension = &inputs.data[i].dimensions[k];

			if (dimension->size != WNN_ONNX_DIMENSION_UNKNOWN ||
			    size_of(k, 0) != first || size_of(k, 1) != second)
				continue;
			if (!dimension->name.length ||
			    (found.length && !same_name(found, dimension->name)))
				return NULL;
			found = dimension->name;
		}
	return found.length ? strndup(found.data, found.length) : NULL;
}

/*
 * Merges the results of a second build into @trials: a size that differs depends on an open
 * dimension.
 */
static void merge(const struct subject *subject, struct trial *trials, const struct trial *second,
		  size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct trial *trial = &trials[i];

		trial->known = trial->known && second[i].known && trial->rank == second[i].rank;
		for (size_t k = 0; trial->known && k < trial->rank; k++) {
			if (trial->sizes[k] == second[i].sizes[k])
				continue;
			trial->names[k] = name_of(subject_inputs(subject), trial->sizes[k],
						  second[i].sizes[k]);
			trial->sizes[k] = -1;
		}
	}
}

int trial_run(const struct options *options, const char *const *names, size_t count,
	      struct trial *trials)
{
	struct trial *second = calloc(count + 1, sizeof(*second));
	struct subject subject = { 0 };
	size_t input_count;
	char text[600];
	int ret = second ? subject_open(&subject, options) : no_memory();
	bool open = !ret && subject_is_open(&subject, text, sizeof(text));

	input_count = ret ? 0 : subject_inputs(&subject).count;
	if (!ret && !open)
		ret = build(options, names, count, trials);
	for (int turn = 0; !ret && open && turn < 2; turn++) {
		struct closing closing = { 0 };
		struct options closed = *options;

		ret = close_all(&closing, &subject, turn);
		closed.dims = closing.dims;
		closed.shapes = closing.shapes;
		if (!ret)
			ret = build(&closed, names, count, turn ? second : trials);
		closing_exit(&closing, input_count);
		if (!ret && turn)
			merge(&subject, trials, second, count);
		else if (!ret && count && !trials[0].known)
			break;
	}
	subject_close(&subject);
	free(second);
	return ret;
}

void trial_exit(struct trial *trials, size_t count)
{
	for (size_t i = 0; trials && i < count; i++)
		for (size_t k = 0; k < VALUE_MAX_RANK; k++)
			free(trials[i].names[k]);
	free(trials);
}
