// SPDX-License-Identifier: MIT
/*
 * webnn-run: loads a model, sets the shapes that its file leaves open, and reads the values of its
 * inputs.
 */
#include "subject.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../npz.h"
#include "../size_text.h"
#include "model_file.h"
#include "saved.h"
#include "tensors.h"

WNNOnnxValueInfoArray subject_inputs(const struct subject *subject)
{
	return subject->saved ? subject->saved_inputs : wnnOnnxModelGetInputs(subject->model);
}

static int view_length(WNNStringView view)
{
	return (int)view.length;
}

/* Returns whether an earlier dimension of the inputs has the name of dimension @dim of @input. */
static bool is_named_before(WNNOnnxValueInfoArray inputs, size_t input, size_t dim)
{
	WNNStringView name = inputs.data[input].dimensions[dim].name;

	for (size_t i = 0; i <= input; i++)
		for (size_t k = 0; inputs.data[i].rank != WNN_ONNX_RANK_UNKNOWN &&
				   k < (i < input ? inputs.data[i].rank : dim);
		     k++)
			if (same_view(inputs.data[i].dimensions[k].name, name))
				return true;
	return false;
}

/* Lists the names of the dimensions that can be set, for a message. */
static void list_dimensions(const struct subject *subject, char *text, size_t room)
{
	WNNOnnxValueInfoArray inputs = subject_inputs(subject);
	size_t used = 0;

	*text = 0;
	for (size_t i = 0; i < inputs.count; i++)
		for (size_t k = 0; inputs.data[i].rank != WNN_ONNX_RANK_UNKNOWN &&
				   k < inputs.data[i].rank && used < room;
		     k++) {
			WNNStringView name = inputs.data[i].dimensions[k].name;

			if (name.length && !is_named_before(inputs, i, k))
				used += (size_t)snprintf(text + used, room - used, "%s%.*s",
							 used ? ", " : "", view_length(name),
							 name.data);
		}
	if (!used)
		snprintf(text, room, "none; --shape sets those without a name");
}

/* Returns the number at the start of a text that parse_number() has checked. */
static uint32_t dimension_size(const char *text)
{
	uint64_t size = 0;
	const char *end;

	number_text_read(text, &size, &end);
	return (uint32_t)size;
}

static int set_dimensions(const struct subject *subject)
{
	const struct options *options = subject->options;
	char names[400];

	for (size_t i = 0; i < options->dims.count; i++) {
		const struct pair *dim = &options->dims.items[i];

		if (wnnOnnxModelSetDimension(subject->model, WNN_STR(dim->name),
					     dimension_size(dim->text)) == WNNStatus_Success)
			continue;
		list_dimensions(subject, names, sizeof(names));
		return complain_wnn(BAD_MODEL, true, "%s: --dim %s=%s (there are: %s)",
				    options->model, dim->name, dim->text, names);
	}
	for (size_t i = 0; i < options->ranges.count; i++) {
		const struct pair *range = &options->ranges.items[i];

		if (wnnOnnxModelSetDimensionRange(
			    subject->model, WNN_STR(range->name), dimension_size(range->text),
			    dimension_size(strstr(range->text, "..") + 2)) == WNNStatus_Success)
			continue;
		list_dimensions(subject, names, sizeof(names));
		return complain_wnn(BAD_MODEL, true, "%s: --dim %s=%s (there are: %s)",
				    options->model, range->name, range->text, names);
	}
	return DONE;
}

/*
 * Reports the first name of --outputs that does not exist, with similar names, or else what the
 * library says of them. Returns an exit code.
 */
static int bad_outputs(const struct subject *subject, size_t count, const WNNStringView *names)
{
	const struct options *options = subject->options;
	struct tensors tensors = { 0 };
	Onnx__ModelProto *model = NULL;
	char similar[400] = "";
	int ret = model_file_load(options->model, &model);

	if (!ret && tensors_init(&tensors, model->graph))
		ret = complain(
			BAD_DEVICE,
			"too little memory is free for the names of --outputs: end other programs, "
			"or raise the limit (ulimit -v)");
	for (size_t i = 0; !ret && i < count; i++) {
		char *name = strndup(names[i].data, names[i].length);

		if (!name) {
			ret = complain(
				BAD_DEVICE,
				"too little memory is free for the names of --outputs: end other "
				"programs, or raise the limit (ulimit -v)");
		} else if (!tensors_find(&tensors, name)) {
			tensors_similar(&tensors, name, similar, sizeof(similar));
			ret = complain(
				BAD_MODEL,
				"%s: the model has no tensor \"%s\", which --outputs names%s",
				options->model, name, similar);
		}
		free(name);
	}
	tensors_exit(&tensors);
	model_file_free(model);
	return ret ? ret : complain_wnn(BAD_MODEL, true, "%s: --outputs", options->model);
}

/*
 * Appends to @names, and counts in *count, the text if it is a tensor's name, or else its parts
 * between commas.
 */
static void split_outputs(const struct subject *subject, const char *text, WNNStringView *names,
			  size_t *count)
{
	WNNStringView whole = { text, strlen(text) };

	if (wnnOnnxModelSetOutputs(subject->model, 1, &whole) == WNNStatus_Success) {
		names[(*count)++] = whole;
		return;
	}
	for (;; text++) {
		names[(*count)++] = (WNNStringView){ text, strcspn(text, ",") };
		text += strcspn(text, ",");
		if (!*text)
			return;
	}
}

static int set_outputs(const struct subject *subject)
{
	const struct pairs *cuts = &subject->options->cuts;
	size_t room = 0, count = 0;
	WNNStringView *names;
	int ret = DONE;

	if (!cuts->count)
		return DONE;
	for (size_t i = 0; i < cuts->count; i++)
		room += strlen(cuts->items[i].text) + 1;
	names = calloc(room, sizeof(*names));
	if (!names)
		return complain(
			BAD_DEVICE,
			"too little memory is free for the names of --outputs: end other programs, "
			"or raise the limit (ulimit -v)");
	for (size_t i = 0; i < cuts->count; i++)
		split_outputs(subject, cuts->items[i].text, names, &count);
	if (wnnOnnxModelSetOutputs(subject->model, count, names) != WNNStatus_Success)
		ret = bad_outputs(subject, count, names);
	free(names);
	return ret;
}

static int set_shape(const struct subject *subject, const struct pair *shape)
{
	uint32_t sizes[VALUE_MAX_RANK], rank = 0;
	const char *at = shape->text;
	char *end;

	/* An empty text is the shape of a scalar. */
	while (*at) {
		unsigned long size = strtoul(at, &end, 10);

		if (end == at || (*end && *end != ',') || size > INT32_MAX ||
		    rank == VALUE_MAX_RANK)
			return complain(
				BAD_MODEL,
				"--shape %s=%s: this is not a shape; give at most 8 numbers from 0 "
				"to 2147483647 with commas between, such as 1,3,224,224",
				shape->name, shape->text);
		sizes[rank++] = (uint32_t)size;
		at = *end ? end + 1 : end;
	}
	if (wnnOnnxModelSetInputShape(subject->model, WNN_STR(shape->name),
				      (WNNUint32Array){ rank, sizes }) != WNNStatus_Success)
		return complain_wnn(BAD_MODEL, true, "%s: --shape %s=%s", subject->options->model,
				    shape->name, shape->text);
	return DONE;
}

int subject_open(struct subject *subject, const struct options *options)
{
	uint64_t begin = nanoseconds();
	int ret;

	*subject = (struct subject){ .options = options };
	if (saved_is(options->model))
		return saved_open(subject);
	if (wnnOnnxLoadFile(WNN_STR(options->model), NULL, &subject->model) != WNNStatus_Success)
		return complain_wnn(BAD_MODEL, true, "%s", options->model);
	subject->load_ns = nanoseconds() - begin;
	ret = set_outputs(subject);
	if (!ret)
		ret = set_dimensions(subject);
	for (size_t i = 0; !ret && i < options->shapes.count; i++)
		ret = set_shape(subject, &options->shapes.items[i]);
	return ret;
}

void subject_close(struct subject *subject)
{
	for (size_t i = 0; i < subject->value_count; i++)
		value_exit(&subject->values[i]);
	free(subject->values);
	wnnOnnxModelRelease(subject->model);
	saved_close(subject);
	*subject = (struct subject){ 0 };
}

/* ---- values */

/* Lists the inputs' names, for a message. */
static void list_inputs(WNNOnnxValueInfoArray inputs, char *text, size_t room)
{
	size_t used = 0;

	*text = 0;
	for (size_t i = 0; i < inputs.count && used < room; i++)
		used += (size_t)snprintf(text + used, room - used, "%s%.*s", i ? ", " : "",
					 view_length(inputs.data[i].name),
					 inputs.data[i].name.data);
}

/*
 * Checks that every NAME of @pairs is an input; "" stands for the only input, or for all inputs if
 * the file is a .npz. Returns DONE or an exit code.
 */
static int check_names(const struct subject *subject, const struct pairs *pairs, const char *option)
{
	WNNOnnxValueInfoArray inputs = subject_inputs(subject);
	char names[600];

	list_inputs(inputs, names, sizeof(names));
	for (size_t i = 0; i < pairs->count; i++) {
		const struct pair *pair = &pairs->items[i];
		bool found = !*pair->name && (inputs.count == 1 || npz_is(pair->text));

		for (size_t k = 0; k < inputs.count && !found; k++)
			found = same_text(inputs.data[k].name, pair->name);
		if (!found && !inputs.count)
			return complain(BAD_FILE,
					"%s: the model has no inputs: leave out this option",
					option);
		if (!found && !*pair->name)
			return complain(
				BAD_FILE,
				"%s: the model has %zu inputs, so say which one takes this file: "
				"INPUT=%s (inputs: %s)",
				pair->text, inputs.count, pair->text, names);
		if (!found)
			return complain(
				BAD_FILE,
				"%s %s=%s: the model has no input of this name; its inputs are: %s",
				option, pair->name, pair->text, names);
	}
	return DONE;
}

static const struct pair *find_input(const struct subject *subject, WNNStringView name)
{
	const struct pairs *inputs = &subject->options->inputs;
	const struct pair *pair = pairs_find(inputs, name);
	char text[300];

	snprintf(text, sizeof(text), "%.*s", view_length(name), name.data);
	/* An archive given without a name provides all inputs that it has an array for. */
	for (size_t i = 0; !pair && i < inputs->count; i++)
		if (!*inputs->items[i].name &&
		    (!npz_is(inputs->items[i].text) || npz_has(inputs->items[i].text, text) ||
		     subject_inputs(subject).count == 1))
			pair = &inputs->items[i];
	return pair;
}

static bool shape_is_known(const WNNOnnxValueInfo *info)
{
	if (info->rank == WNN_ONNX_RANK_UNKNOWN)
		return false;
	for (size_t i = 0; i < info->rank; i++)
		if (info->dimensions[i].size == WNN_ONNX_DIMENSION_UNKNOWN)
			return false;
	return true;
}

/*
 * Loads files that contain a shape, and sets that shape for inputs whose own is open. Returns DONE
 * or an exit code.
 */
static int load_files(struct subject *subject)
{
	for (size_t i = 0; i < subject->value_count; i++) {
		WNNOnnxValueInfo info = subject_inputs(subject).data[i];
		const struct pair *pair = find_input(subject, info.name);
		struct value *value = &subject->values[i];
		char name[300];
		int ret;

		if (!pair || !value_file_has_shape(pair->text))
			continue;
		snprintf(name, sizeof(name), "%.*s", view_length(info.name), info.name.data);
		ret = value_load(pair->text, name, value);
		if (ret)
			return ret;
		if (shape_is_known(&info))
			continue;
		if (wnnOnnxModelSetInputShape(subject->model, info.name,
					      (WNNUint32Array){ value->rank, value->shape }) !=
		    WNNStatus_Success)
			return complain_wnn(BAD_FILE, true, "%s", pair->text);
	}
	return DONE;
}

/* Describes an open shape of known rank, with the names of its dimensions. */
static void describe_shape(const WNNOnnxValueInfo *info, char *text, size_t room)
{
	size_t used = (size_t)snprintf(text, room, "[");

	for (size_t i = 0; i < info->rank && used < room; i++) {
		const WNNOnnxDimension *dim = &info->dimensions[i];
		const char *comma = i ? ", " : "";

		if (dim->size != WNN_ONNX_DIMENSION_UNKNOWN)
			used += (size_t)snprintf(text + used, room - used, "%s%lld", comma,
						 (long long)dim->size);
		else
			used += (size_t)snprintf(text + used, room - used, "%s%.*s", comma,
						 dim->name.length ? view_length(dim->name) : 1,
						 dim->name.length ? dim->name.data : "?");
	}
	if (used < room)
		snprintf(text + used, room - used, "]");
}

static int shape_is_open(const struct subject *subject, const WNNOnnxValueInfo *info)
{
	char shape[400];

	if (info->rank == WNN_ONNX_RANK_UNKNOWN)
		return complain(
			BAD_MODEL,
			"%s: input \"%.*s\" may have any number of dimensions: set its shape with "
			"--shape %.*s=N,N,...",
			subject->options->model, view_length(info->name), info->name.data,
			view_length(info->name), info->name.data);
	describe_shape(info, shape, sizeof(shape));
	return complain(
		BAD_MODEL,
		"%s: the shape of input \"%.*s\" has dimensions without a size, %s: set them with "
		"--dim NAME=N (those that have a name) or --shape %.*s=N,N,...",
		subject->options->model, view_length(info->name), info->name.data, shape,
		view_length(info->name), info->name.data);
}

bool subject_is_open(const struct subject *subject, char *text, size_t room)
{
	WNNOnnxValueInfoArray inputs = subject_inputs(subject);

	for (size_t i = 0; i < inputs.count; i++) {
		const WNNOnnxValueInfo *info = &inputs.data[i];
		char shape[400];

		if (info->kind != WNNOnnxKind_Tensor || shape_is_known(info))
			continue;
		if (info->rank == WNN_ONNX_RANK_UNKNOWN) {
			snprintf(text, room,
				 "input \"%.*s\" may have any number of dimensions: set its shape "
				 "with --shape %.*s=N,N,...",
				 view_length(info->name), info->name.data, view_length(info->name),
				 info->name.data);
			return true;
		}
		describe_shape(info, shape, sizeof(shape));
		snprintf(text, room,
			 "the shape of input \"%.*s\" has dimensions without a size, %s: set them "
			 "with --dim NAME=N (those that have a name) or --shape %.*s=N,N,...",
			 view_length(info->name), info->name.data, shape, view_length(info->name),
			 info->name.data);
		return true;
	}
	return false;
}

/* Returns whether two shapes are equal apart from dimensions of 1. */
static bool shapes_fit(const struct value *a, const struct value *b)
{
	uint32_t i = 0, k = 0;

	for (;;) {
		while (i < a->rank && a->shape[i] == 1)
			i++;
		while (k < b->rank && b->shape[k] == 1)
			k++;
		if (i == a->rank || k == b->rank)
			return i == a->rank && k == b->rank;
		if (a->shape[i++] != b->shape[k++])
			return false;
	}
}

/* Returns the bits of an integer type, negative for signed ones; 0: another type, or 4 bits. */
static int integer_bits(WNNOperandDataType type)
{
	switch (type) {
	case WNNOperandDataType_Int8:
		return -8;
	case WNNOperandDataType_Uint8:
		return 8;
	case WNNOperandDataType_Int32:
		return -32;
	case WNNOperandDataType_Uint32:
		return 32;
	case WNNOperandDataType_Int64:
		return -64;
	case WNNOperandDataType_Uint64:
		return 64;
	default:
		return 0;
	}
}

/* Returns whether the value's type is wider and holds all integers that the file's type has. */
static bool holds_all(const struct value *value, const struct value *loaded)
{
	int own = integer_bits(value->type), from = integer_bits(loaded->type);

	/* Integers that were converted from another type had 16 bits. */
	if (loaded->was && from)
		from = from < 0 ? -16 : 16;
	if (!own || !from)
		return false;
	if (own < 0 && from > 0)
		return -own > from;
	return (own < 0) == (from < 0) && abs(own) > abs(from);
}

/*
 * Moves or converts the elements of @loaded, from a file with a shape, to @value, which has the
 * input's type and shape. Returns DONE or an exit code.
 */
static int take_loaded(const char *path, struct value *value, struct value *loaded)
{
	bool rounds = loaded->was && value_is_float(loaded) && value_is_float(value);
	char has[300], takes[300];
	void *data;

	if (shapes_fit(value, loaded) && (rounds || holds_all(value, loaded))) {
		WNNStringView type = wnnOperandDataTypeGetName(loaded->type);

		complain(
			DONE,
			"%s: the elements of this file are %.*s and are converted (%s) to the type "
			"of input \"%s\"",
			path, loaded->was ? (int)strlen(loaded->was) : view_length(type),
			loaded->was ? loaded->was : type.data, rounds ? "rounded" : "widened",
			value->name);
		for (size_t i = 0; i < value->count; i++)
			value_set(value, i, value_get(loaded, i));
		return DONE;
	}
	if (value->type != loaded->type || !shapes_fit(value, loaded)) {
		WNNStringView type = wnnOperandDataTypeGetName(value->type);
		/* numpy has no integers of 4 bits. */
		bool convert = shapes_fit(value, loaded) &&
			       (value_is_float(value) || integer_bits(value->type));

		value_describe(loaded, has, sizeof(has));
		value_describe(value, takes, sizeof(takes));
		return complain(BAD_FILE, "%s: the file has %s, but input \"%s\" takes %s%s%.*s%s",
				path, has, value->name, takes,
				convert ? ": in Python, x.astype(numpy." : "",
				convert ? view_length(type) : 0, type.data, convert ? ")" : "");
	}
	data = value->data;
	value->data = loaded->data;
	loaded->data = data;
	return DONE;
}

static int read_bytes(const char *path, struct value *value)
{
	struct stat stat;
	int ret = DONE;
	FILE *file;

	errno = 0;
	file = fopen(path, "rb");
	if (!file || fstat(fileno(file), &stat))
		ret = complain_unread(path, errno);
	else if (!S_ISREG(stat.st_mode))
		ret = complain(BAD_FILE,
			       "%s: this is a pipe or a device: save its bytes to a file, and give "
			       "that for input \"%s\"",
			       path, value->name);
	else if ((uint64_t)stat.st_size != value->size)
		ret = complain(
			BAD_FILE,
			"%s: the file has %lld bytes, but input \"%s\" takes %zu; give its numbers "
			"in the input's type and shape, or a .npy file",
			path, (long long)stat.st_size, value->name, value->size);
	else if (fread(value->data, 1, value->size, file) != value->size)
		ret = complain_unread(path, errno);
	if (file)
		fclose(file);
	return ret;
}

static int read_file(const struct subject *subject, const char *path, struct value *value,
		     struct value *loaded)
{
	uint8_t head[4] = { 0 };
	FILE *file;
	size_t got;
	int error;

	if (loaded->data)
		return take_loaded(path, value, loaded);
	file = fopen(path, "rb");
	if (!file)
		return complain_unread(path, errno);
	got = fread(head, 1, sizeof(head), file);
	error = ferror(file) ? errno : 0;
	fclose(file);
	if (error)
		return complain_unread(path, error);
	if (picture_is(head, got))
		return picture_read(path, &subject->options->picture, value);
	return read_bytes(path, value);
}

static int fill_value(const struct subject *subject, struct value *value, struct value *loaded,
		      size_t index, const uint64_t *otherwise)
{
	const struct options *options = subject->options;
	const WNNStringView name = { value->name, strlen(value->name) };
	const struct pair *input = find_input(subject, name);
	const struct pair *number = pairs_find(&options->fills, name);
	char text[300];

	value->given = true;
	if (input)
		return read_file(subject, input->text, value, loaded);
	if (number) {
		for (size_t i = 0; i < value->count; i++)
			value_set(value, i, strtod(number->text, NULL));
		return DONE;
	}
	value->given = false;
	value_describe(value, text, sizeof(text));
	/* A cut model may not need the input: its value is not demanded here. */
	value->missing = options->cuts.count && !options->random && !otherwise;
	if (value->missing)
		return DONE;
	if (!options->random && !otherwise)
		return complain(
			BAD_FILE,
			"input \"%s\", %s, has no value: give --input %s=FILE, --fill %s=NUMBER or "
			"--random SEED",
			value->name, text, value->name, value->name);
	/* The seeds differ, so that inputs of one type and shape do not get equal values. */
	value_randomise(value, (options->random ? options->seed : *otherwise) + index * 1000003);
	return DONE;
}

static int make_value(const struct subject *subject, size_t index, const uint64_t *otherwise)
{
	WNNOnnxValueInfo info = subject_inputs(subject).data[index];
	struct value loaded = subject->values[index];
	struct value *value = &subject->values[index];
	uint32_t shape[VALUE_MAX_RANK];
	char about[1000];
	int ret;

	*value = (struct value){ 0 };
	snprintf(about, sizeof(about), "%s: input \"%.*s\"", subject->options->model,
		 view_length(info.name), info.name.data);
	if ((info.kind != WNNOnnxKind_Tensor || info.dataType == WNNOperandDataType_Undefined) &&
	    subject->options->cuts.count)
		ret = value_make(value, BAD_DEVICE, about, info.name, WNNOperandDataType_Float32, 0,
				 NULL);
	else if (info.kind != WNNOnnxKind_Tensor)
		ret = complain(BAD_MODEL,
			       "%s: input \"%.*s\" is a sequence, map or optional value, but only "
			       "tensors can be given; export the model with tensors",
			       subject->options->model, view_length(info.name), info.name.data);
	else if (info.dataType == WNNOperandDataType_Undefined)
		ret = complain(
			BAD_MODEL,
			"%s: input \"%.*s\" has elements of %.*s, which WebNN has not; export "
			"the model with float32, float16 or integers of 4, 8, 32 or 64 bits",
			subject->options->model, view_length(info.name), info.name.data,
			view_length(info.elementType), info.elementType.data);
	else if (!shape_is_known(&info) && subject->options->cuts.count)
		ret = value_make(value, BAD_DEVICE, about, info.name, info.dataType, 0, NULL);
	else if (!shape_is_known(&info))
		ret = shape_is_open(subject, &info);
	else {
		for (size_t i = 0; i < info.rank && i < VALUE_MAX_RANK; i++)
			shape[i] = (uint32_t)info.dimensions[i].size;
		ret = value_make(value, BAD_DEVICE, about, info.name, info.dataType,
				 (uint32_t)info.rank, shape);
		if (!ret)
			ret = fill_value(subject, value, &loaded, index, otherwise);
	}
	value_exit(&loaded);
	return ret;
}

int values_read(struct subject *subject, const uint64_t *otherwise)
{
	WNNOnnxValueInfoArray inputs = subject_inputs(subject);
	int ret = check_names(subject, &subject->options->inputs, "--input");

	if (!ret)
		ret = check_names(subject, &subject->options->fills, "--fill");
	if (ret)
		return ret;
	subject->values = calloc(inputs.count + 1, sizeof(*subject->values));
	if (!subject->values)
		return complain(
			BAD_DEVICE,
			"too little memory is free for the model's inputs: end other programs, or "
			"set smaller dimensions");
	subject->value_count = inputs.count;
	ret = load_files(subject);
	for (size_t i = 0; !ret && i < subject->value_count; i++)
		ret = make_value(subject, i, otherwise);
	return ret;
}
