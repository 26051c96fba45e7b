// SPDX-License-Identifier: MIT
/*
 * webnn-run generate: runs a decoder of ONNX, a block of a prompt or a token at a time. All shapes
 * are fixed: the caches have as many positions as a text can have, and masks say which have tokens.
 *
 * A model that appends to the past is changed when it is loaded (change.c); one with one buffer for
 * past and present (GroupQueryAttention) need not be. Both take one tensor for past and present,
 * and a dispatch writes the rows of its tokens alone. Any other model takes a token at a time: the
 * row of the token is the last one of each cache that comes out, and another graph copies that row
 * to its place.
 */
#include "decoder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../half.h"
#include "change.h"
#include "run.h"

/* Inputs of a step beside the caches; the first three are those of the file. */
#define INPUTS 6
#define KNOWN  3

static const WNNOnnxValueInfo *find(WNNOnnxValueInfoArray values, const char *name)
{
	for (size_t i = 0; i < values.count; i++)
		if (same_text(values.data[i].name, name))
			return &values.data[i];
	return NULL;
}

#define DESCRIPTION 256

/*
 * Writes the type and shape of a value for a message, such as "float [1, 8, past, 64]", to @text
 * and returns @text.
 */
static const char *describe(const WNNOnnxValueInfo *value, char text[DESCRIPTION])
{
	const bool unknown = value->rank == WNN_ONNX_RANK_UNKNOWN;
	int used = snprintf(text, DESCRIPTION, unknown ? "%.*s of unknown shape" : "%.*s [",
			    value->elementType.length < 30 ? (int)value->elementType.length : 30,
			    value->elementType.data);

	for (size_t i = 0; !unknown && i < value->rank && used < DESCRIPTION - 60; i++) {
		const WNNOnnxDimension *dimension = &value->dimensions[i];
		int length = dimension->name.length < 40 ? (int)dimension->name.length : 40;
		const char *between = i ? ", " : "";

		if (dimension->size >= 0)
			used += snprintf(text + used, DESCRIPTION - (size_t)used, "%s%" PRId64,
					 between, dimension->size);
		else
			used += snprintf(text + used, DESCRIPTION - (size_t)used, "%s%.*s", between,
					 length ? length : 1, length ? dimension->name.data : "?");
	}
	snprintf(text + used, DESCRIPTION - (size_t)used, "%s", unknown ? "" : "]");
	return text;
}

static int fail_onnx(struct gguf_error *error)
{
	WNNError last = WNN_ERROR_INIT;

	wnnOnnxGetLastError(&last);
	gguf_fail(error, "%.*s", (int)last.message.length, last.message.data);
	error->machine = last.status == WNNStatus_UnknownError;
	return -1;
}

static bool begins(WNNStringView name, const char *text)
{
	return name.length > strlen(text) && !memcmp(name.data, text, strlen(text));
}

/* ---- the model */

/*
 * Adds the cache of an input to d->caches. Returns 0; else fails, when the model has no such output
 * or the input has another shape or type than a cache.
 */
static int add_cache(struct decoder *d, const WNNOnnxValueInfo *input, const char *past,
		     const char *present, struct gguf_error *error)
{
	WNNOnnxValueInfoArray outputs = wnnOnnxModelGetOutputs(d->model);
	struct decoder_cache *cache = &d->caches[d->count];
	const WNNOnnxValueInfo *output = NULL;
	char name[CHANGE_NAME_SIZE], text[DESCRIPTION];

	if (d->change.in_place)
		snprintf(name, sizeof(name), CHANGE_NEXT "%.*s", (int)input->name.length,
			 input->name.data);
	else
		snprintf(name, sizeof(name), "%s%.*s", present,
			 (int)(input->name.length - strlen(past)), input->name.data + strlen(past));
	output = find(outputs, name);
	if (!output)
		return gguf_fail(error, "its input \"%.*s\" has no output \"%s\": give --present",
				 (int)input->name.length, input->name.data, name);
	if (input->rank != 4 || input->dimensions[1].size < 1 || input->dimensions[3].size < 1 ||
	    (input->dataType != WNNOperandDataType_Float32 &&
	     input->dataType != WNNOperandDataType_Float16))
		return gguf_fail(error,
				 "its input \"%.*s\" is %s; it has to be [batch, heads, positions, "
				 "size] of float or float16, with known heads and size",
				 (int)input->name.length, input->name.data, describe(input, text));
	*cache = (struct decoder_cache){ .past = input->name,
					 .present = output->name,
					 .type = input->dataType,
					 .heads = (uint32_t)input->dimensions[1].size,
					 .size = (uint32_t)input->dimensions[3].size };
	snprintf(cache->moved, sizeof(cache->moved), "moved/%zu", d->count);
	d->count++;
	return 0;
}

static int read_input(struct decoder *d, const WNNOnnxValueInfo *input, const char *past,
		      const char *present, struct gguf_error *error)
{
	static const struct {
		const char *name;
		size_t type;
	} known[] = {
		{ "input_ids", offsetof(struct decoder, id_type) },
		{ "attention_mask", offsetof(struct decoder, mask_type) },
		{ "position_ids", offsetof(struct decoder, position_type) },
	};

	if (begins(input->name, past))
		return add_cache(d, input, past, present, error);
	if (begins(input->name, CHANGE_NEXT))
		return 0;
	for (size_t i = 0; i < KNOWN; i++) {
		if (!same_text(input->name, known[i].name))
			continue;
		if (input->dataType != WNNOperandDataType_Int64 &&
		    input->dataType != WNNOperandDataType_Int32)
			return gguf_fail(error,
					 "its input \"%s\" has elements '%.*s'; they have to be "
					 "int64 or int32",
					 known[i].name, (int)input->elementType.length,
					 input->elementType.data);
		memcpy((char *)d + known[i].type, &input->dataType, sizeof(input->dataType));
		return 0;
	}
	return gguf_fail(error,
			 "its input \"%.*s\" is unknown; known are input_ids, attention_mask, "
			 "position_ids and those that begin with \"%s\" (--past)",
			 (int)input->name.length, input->name.data, past);
}

/* Reads the inputs of the model, and finds its caches. Returns 0 or fails. */
static int read_inputs(struct decoder *d, const char *past, const char *present,
		       struct gguf_error *error)
{
	WNNOnnxValueInfoArray inputs = wnnOnnxModelGetInputs(d->model);

	free(d->caches);
	d->count = 0;
	d->caches = calloc(inputs.count + 1, sizeof(*d->caches));
	if (!d->caches)
		return gguf_fail_memory(error);
	for (size_t i = 0; i < inputs.count; i++)
		if (read_input(d, &inputs.data[i], past, present, error))
			return -1;
	d->has_positions = find(inputs, "position_ids") != NULL;
	return 0;
}

/* Returns whether the caches have different numbers of heads. */
static bool differ(const struct decoder *d)
{
	for (size_t i = 1; i < d->count; i++)
		if (d->caches[i].heads != d->caches[0].heads)
			return true;
	return false;
}

static int load(struct decoder *d, const char *path, const char *past, const char *present,
		bool in_place, struct gguf_error *error)
{
	if (d->model)
		wnnOnnxModelRelease(d->model);
	d->model = NULL;
	if (decoder_change_load(&d->change, path, past, present, in_place, error))
		return -1;
	d->model = d->change.model;
	return read_inputs(d, past, present, error);
}

int decoder_read(struct decoder *d, const char *path, const char *past, const char *present,
		 struct gguf_error *error)
{
	const WNNOnnxValueInfo *logits;
	WNNOnnxValueInfoArray inputs;
	const char *missing;
	char text[DESCRIPTION];

	*d = (struct decoder){ 0 };
	/* When the file is damaged, the library has the better message: it loads the file first. */
	if (wnnOnnxLoadFile(WNN_STR(path), NULL, &d->model) != WNNStatus_Success)
		return fail_onnx(error);
	if (load(d, path, past, present, true, error))
		return -1;
	/* Caches that are updated in place share CHANGE_ROWS, which has one number of heads. */
	if (d->change.in_place && differ(d)) {
		gguf_fail(&d->change.reason, "the model's caches have different numbers of heads");
		if (load(d, path, past, present, false, error))
			return -1;
	}
	inputs = wnnOnnxModelGetInputs(d->model);
	missing = !find(inputs, "input_ids")	  ? "input_ids" :
		  !find(inputs, "attention_mask") ? "attention_mask" :
		  !d->count			  ? past :
						    NULL;
	if (missing)
		return gguf_fail(
			error,
			"it is no decoder of texts: it has no input \"%s%s\"; needed are "
			"input_ids, attention_mask and inputs that begin with \"%s\" (--past)",
			missing, missing == past ? "\xe2\x80\xa6" : "", past);
	logits = find(wnnOnnxModelGetOutputs(d->model), "logits");
	if (!logits || logits->rank != 3 || logits->dimensions[2].size < 1 ||
	    logits->dimensions[2].size > INT32_MAX ||
	    (logits->dataType != WNNOperandDataType_Float32 &&
	     logits->dataType != WNNOperandDataType_Float16))
		return gguf_fail(error,
				 "its output \"logits\" %s%s; it has to be [batch, tokens, "
				 "vocabulary] of float or float16, with a known vocabulary",
				 logits ? "is " : "is missing",
				 logits ? describe(logits, text) : "");
	d->rows = (uint32_t)logits->dimensions[2].size;
	d->logit_type = logits->dataType;
	return 0;
}

/* ---- graphs */

#define SHAPE(...) WNN_UINT32_ARRAY(((uint32_t[]){ __VA_ARGS__ }))

static int set_shape(struct decoder *d, WNNStringView name, WNNUint32Array shape,
		     struct gguf_error *error)
{
	if (wnnOnnxModelSetInputShape(d->model, name, shape) == WNNStatus_Success)
		return 0;
	return fail_onnx(error);
}

static int set_shapes(struct decoder *d, uint32_t tokens, uint32_t masked, struct gguf_error *error)
{
	uint32_t heads = d->caches[0].heads;

	if (set_shape(d, WNN_STR("input_ids"), SHAPE(1, tokens), error) ||
	    (!d->change.in_place &&
	     set_shape(d, WNN_STR("attention_mask"), SHAPE(1, masked), error)) ||
	    (d->has_positions && set_shape(d, WNN_STR("position_ids"), SHAPE(1, tokens), error)) ||
	    (d->change.in_place &&
	     (set_shape(d, WNN_STR(CHANGE_ROWS), SHAPE(1, heads, tokens, 3), error) ||
	      set_shape(d, WNN_STR(CHANGE_MASK), SHAPE(tokens, d->length), error))) ||
	    set_shape(d, WNN_STR(DECODER_PICK), SHAPE(1), error))
		return -1;
	for (size_t i = 0; i < d->count; i++)
		if (set_shape(d, d->caches[i].past,
			      SHAPE(1, d->caches[i].heads, d->length, d->caches[i].size), error))
			return -1;
	return 0;
}

/* Returns 0; fails unless the caches that come out have @masked positions. */
static int check_presents(const struct decoder *d, uint32_t masked, size_t count,
			  const WNNNamedOperand *outputs, struct gguf_error *error)
{
	for (size_t i = 0; i < d->count; i++)
		for (size_t k = 0; k < count; k++) {
			WNNUint32Array shape = wnnOperandGetShape(outputs[k].operand);

			if (same_view(outputs[k].name, d->caches[i].present) &&
			    (shape.count != 4 || shape.data[2] != masked))
				return gguf_fail(
					error,
					"its output \"%.*s\" has %u positions, its input %u: "
					"it has to have 4 dimensions, and as many or one more",
					(int)outputs[k].name.length, outputs[k].name.data,
					shape.count > 2 ? shape.data[2] : 0, d->length);
		}
	return 0;
}

/* Returns 0; fails when the model is known to give logits of another number of tokens. */
static int check_logits(const struct decoder *d, uint32_t tokens, struct gguf_error *error)
{
	const WNNOnnxValueInfo *all = find(wnnOnnxModelGetValues(d->model), d->change.from);

	if (!all || all->rank != 3 || all->dimensions[1].size == tokens)
		return 0;
	return gguf_fail(error, "it has logits of the last token alone; logits of each token are "
				"needed");
}

/* Builds the graph of @tokens tokens, for a mask of @masked positions. Returns 0 or fails. */
static int build_step(struct decoder *d, struct decoder_step *step, uint32_t tokens,
		      uint32_t masked, struct gguf_error *error)
{
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(d->context);
	WNNNamedOperand const *outputs;
	size_t count;
	int ret = 0;

	if (!builder)
		return gguf_fail_last(error, "its graph cannot be built");
	if (set_shapes(d, tokens, masked, error))
		ret = -1;
	else if (wnnOnnxModelAddToBuilder(d->model, builder, &count, &outputs) != WNNStatus_Success)
		ret = fail_onnx(error);
	if (!ret)
		ret = check_presents(d, masked, count, outputs, error);
	d->fits = !ret;
	if (!ret)
		ret = check_logits(d, tokens, error);
	if (!ret && wnnGraphBuilderBuildSync(builder, count, outputs, WNN_WAIT_FOREVER,
					     &step->graph) != WNNStatus_Success)
		ret = gguf_fail_last(error, "its graph cannot be built");
	wnnGraphBuilderRelease(builder);
	step->tokens = tokens;
	return ret;
}

static WNNOperand add_input(WNNGraphBuilder builder, WNNStringView name, WNNOperandDataType type,
			    WNNUint32Array shape)
{
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;

	descriptor.dataType = type;
	descriptor.shape = shape;
	return wnnGraphBuilderInput(builder, name, &descriptor);
}

/*
 * Returns a cache into which the last position of the longer cache is copied, for each head to the
 * indices [head, position] in @place; NULL on failure.
 */
static WNNOperand move_row(const struct decoder *d, WNNGraphBuilder b,
			   const struct decoder_cache *c, WNNOperand place)
{
	WNNOperand cache = add_input(b, c->past, c->type, SHAPE(1, c->heads, d->length, c->size));
	WNNOperand longer =
		add_input(b, c->present, c->type, SHAPE(1, c->heads, d->length + 1, c->size));
	WNNOperand row, x;

	if (!cache || !longer)
		return NULL;
	row = wnnGraphBuilderSlice(b, longer, SHAPE(0, 0, d->length, 0),
				   SHAPE(1, c->heads, 1, c->size), NULL);
	row = row ? wnnGraphBuilderReshape(b, row, SHAPE(c->heads, c->size), NULL) : NULL;
	x = wnnGraphBuilderReshape(b, cache, SHAPE(c->heads, d->length, c->size), NULL);
	x = x && row ? wnnGraphBuilderScatterND(b, x, place, row, NULL) : NULL;
	x = x ? wnnGraphBuilderReshape(b, x, SHAPE(1, c->heads, d->length, c->size), NULL) : NULL;
	if (x && wnnGraphBuilderUpdateInput(b, cache, x) != WNNStatus_Success)
		return NULL;
	return x;
}

/*
 * Builds the graph that copies the new rows of all caches. Returns 0; else fails, for example when
 * a cache has another number of heads than the first one.
 */
static int build_move(struct decoder *d, struct gguf_error *error)
{
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(d->context);
	WNNNamedOperand *outputs = calloc(d->count, sizeof(*outputs));
	uint32_t heads = d->caches[0].heads;
	WNNOperand place = NULL;
	int ret = 0;

	if (builder)
		place = add_input(builder, WNN_STR("place"), WNNOperandDataType_Int32,
				  SHAPE(heads, 2));
	if (!place || !outputs)
		ret = gguf_fail_memory(error);
	for (size_t i = 0; !ret && i < d->count; i++) {
		if (d->caches[i].heads != heads)
			ret = gguf_fail(error,
					"its caches have %u and %u heads; all caches that a model "
					"appends to must have equally many",
					heads, d->caches[i].heads);
		else
			outputs[i] =
				(WNNNamedOperand){ WNN_STR(d->caches[i].moved),
						   move_row(d, builder, &d->caches[i], place) };
		if (!ret && !outputs[i].operand)
			ret = gguf_fail_last(
				error, "the graph that stores keys and values cannot be built");
	}
	if (!ret && wnnGraphBuilderBuildSync(builder, d->count, outputs, WNN_WAIT_FOREVER,
					     &d->move) != WNNStatus_Success)
		ret = gguf_fail_last(error,
				     "the graph that stores keys and values cannot be built");
	free(outputs);
	if (builder)
		wnnGraphBuilderRelease(builder);
	return ret;
}

/* ---- tensors */

static int make(const struct decoder *d, WNNOperandDataType type, WNNUint32Array shape,
		WNNTensor *tensor, struct gguf_error *error)
{
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;

	descriptor.dataType = type;
	descriptor.shape = shape;
	descriptor.readable = descriptor.writable = WNN_TRUE;
	if (wnnContextCreateTensorSync(d->context, &descriptor, WNN_WAIT_FOREVER, tensor) ==
	    WNNStatus_Success)
		return 0;
	return gguf_fail_last(error, "a tensor cannot be made");
}

static int make_step(const struct decoder *d, struct decoder_step *step, struct gguf_error *error)
{
	uint32_t tokens = step->tokens;

	if (make(d, d->id_type, SHAPE(1, tokens), &step->ids, error) ||
	    make(d, WNNOperandDataType_Int32, SHAPE(1), &step->pick, error) ||
	    (d->has_positions &&
	     make(d, d->position_type, SHAPE(1, tokens), &step->positions, error)))
		return -1;
	if (!d->change.in_place)
		return 0;
	return make(d, WNNOperandDataType_Int32, SHAPE(1, d->caches[0].heads, tokens, 3),
		    &step->rows, error) ||
			       make(d, d->caches[0].type, SHAPE(tokens, d->length), &step->bias,
				    error) ?
		       -1 :
		       0;
}

static int make_tensors(struct decoder *d, struct gguf_error *error)
{
	uint32_t masked = d->length + (d->move != NULL), heads = d->caches[0].heads;
	size_t row = 3 * (size_t)heads > masked ? 3 * (size_t)heads : masked;
	size_t most = row * d->block.tokens > d->rows ? row * d->block.tokens : d->rows;

	d->presents = calloc(d->count, sizeof(WNNTensor));
	d->inputs = calloc(2 * d->count + INPUTS, sizeof(*d->inputs));
	d->outputs = calloc(d->count + 1, sizeof(*d->outputs));
	d->scratch = calloc(most, sizeof(int64_t));
	if (!d->presents || !d->inputs || !d->outputs || !d->scratch)
		return gguf_fail_memory(error);
	for (size_t i = 0; d->move && i < d->count; i++)
		if (make(d, d->caches[i].type,
			 SHAPE(1, d->caches[i].heads, masked, d->caches[i].size), &d->presents[i],
			 error))
			return -1;
	if (make_step(d, &d->one, error) || (d->block.graph && make_step(d, &d->block, error)) ||
	    (!d->change.in_place && make(d, d->mask_type, SHAPE(1, masked), &d->mask, error)) ||
	    (d->move && make(d, WNNOperandDataType_Int32, SHAPE(heads, 2), &d->place, error)) ||
	    make(d, d->logit_type, SHAPE(1, 1, d->rows), &d->logits, error))
		return -1;
	return 0;
}

/* Makes attention_mask a constant of ones: CHANGE_MASK takes its place. Returns 0 or fails. */
static int see_all(struct decoder *d, struct gguf_error *error)
{
	size_t size = d->mask_type == WNNOperandDataType_Int64 ? 8 : 4;
	uint8_t *ones = calloc(d->length, size);
	int ret = ones ? set_shape(d, WNN_STR("attention_mask"), SHAPE(1, d->length), error) :
			 gguf_fail_memory(error);

	for (size_t i = 0; ones && i < d->length; i++)
		ones[i * size + (__BYTE_ORDER == __BIG_ENDIAN ? size - 1 : 0)] = 1;
	if (!ret && wnnOnnxModelSetInputValue(d->model, WNN_STR("attention_mask"), ones,
					      d->length * size) != WNNStatus_Success)
		ret = fail_onnx(error);
	free(ones);
	return ret;
}

/* Builds the graph for @block tokens of a prompt at once, or leaves it out if the model cannot. */
static void build_block(struct decoder *d, uint32_t block)
{
	struct gguf_error error;

	d->block.tokens = 1;
	if (block < 2 || block >= d->length || d->move || (d->change.sums && !d->has_positions))
		return;
	if (build_step(d, &d->block, block, d->length, &error))
		d->block.tokens = 1;
}

int decoder_open(struct decoder *d, WNNContext context, uint32_t length, uint32_t block,
		 struct gguf_error *error)
{
	if (length < 1 || length > INT32_MAX / 2)
		return gguf_fail(error,
				 "caches of %u tokens are larger than a tensor can be: give a "
				 "smaller --context",
				 length);
	d->context = context;
	d->length = length;
	if (d->change.in_place && see_all(d, error))
		return -1;
	/* The caches that come out are tried with the same length first, then with one more. */
	if (build_step(d, &d->one, 1, length, error) &&
	    (d->change.in_place || d->fits || build_step(d, &d->one, 1, length + 1, error) ||
	     build_move(d, error)))
		return -1;
	build_block(d, block);
	return make_tensors(d, error);
}

static void close_step(struct decoder_step *step)
{
	WNNTensor tensors[] = { step->ids, step->positions, step->rows, step->bias, step->pick };

	for (size_t i = 0; i < sizeof(tensors) / sizeof(tensors[0]); i++)
		if (tensors[i])
			wnnTensorRelease(tensors[i]);
	if (step->graph)
		wnnGraphRelease(step->graph);
}

void decoder_close(struct decoder *d)
{
	WNNTensor tensors[] = { d->mask, d->logits, d->place };

	for (size_t i = 0; i < sizeof(tensors) / sizeof(tensors[0]); i++)
		if (tensors[i])
			wnnTensorRelease(tensors[i]);
	for (size_t i = 0; d->presents && i < d->count; i++)
		if (d->presents[i])
			wnnTensorRelease(d->presents[i]);
	close_step(&d->one);
	close_step(&d->block);
	if (d->move)
		wnnGraphRelease(d->move);
	if (d->model)
		wnnOnnxModelRelease(d->model);
	free(d->presents);
	free(d->inputs);
	free(d->outputs);
	free(d->scratch);
	free(d->caches);
	*d = (struct decoder){ 0 };
}

int decoder_caches_clear(struct gguf_caches *caches, const struct decoder *d,
			 struct gguf_error *error)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < d->count; i++) {
		const struct decoder_cache *c = &d->caches[i];
		size_t bytes = (size_t)c->heads * d->length * c->size *
			       (c->type == WNNOperandDataType_Float32 ? 4 : 2);
		void *zeros = calloc(1, bytes);

		if (!zeros)
			ret = gguf_fail_memory(error);
		else if (wnnContextWriteTensor(d->context, caches->tensors[i], zeros, bytes) !=
			 WNNStatus_Success)
			ret = gguf_fail_last(error, "a cache cannot be written");
		free(zeros);
	}
	caches->used = 0;
	return ret;
}

int decoder_caches_open(struct gguf_caches *caches, const struct decoder *d,
			struct gguf_error *error)
{
	*caches = (struct gguf_caches){ calloc(d->count, sizeof(WNNTensor)), 0 };
	if (!caches->tensors)
		return gguf_fail_memory(error);
	for (size_t i = 0; i < d->count; i++)
		if (make(d, d->caches[i].type,
			 SHAPE(1, d->caches[i].heads, d->length, d->caches[i].size),
			 &caches->tensors[i], error))
			return -1;
	return decoder_caches_clear(caches, d, error);
}

void decoder_caches_close(struct gguf_caches *caches, const struct decoder *d)
{
	for (size_t i = 0; caches->tensors && i < d->count; i++)
		if (caches->tensors[i])
			wnnTensorRelease(caches->tensors[i]);
	free(caches->tensors);
	*caches = (struct gguf_caches){ 0 };
}

/* ---- steps */

static int write_bytes(const struct decoder *d, WNNTensor tensor, size_t size,
		       struct gguf_error *error)
{
	if (wnnContextWriteTensor(d->context, tensor, d->scratch, size) == WNNStatus_Success)
		return 0;
	return gguf_fail_last(error, "an input cannot be written");
}

/*
 * Writes @count integers, which are in scratch as int64, to a tensor of @type, which has 64 or 32
 * bits. Returns 0 or fails.
 */
static int write(const struct decoder *d, WNNTensor tensor, WNNOperandDataType type, size_t count,
		 struct gguf_error *error)
{
	size_t size = type == WNNOperandDataType_Int64 ? 8 : 4;
	int64_t *wide = d->scratch;
	int32_t *narrow = d->scratch;

	for (size_t i = 0; size == 4 && i < count; i++)
		narrow[i] = (int32_t)wide[i];
	return write_bytes(d, tensor, count * size, error);
}

/*
 * Writes the tokens, their positions, and which of them gets logits, the last one; that token is
 * repeated until the block is full. Returns 0 or fails, as do the functions below.
 */
static int write_tokens(const struct decoder *d, const struct decoder_step *step, uint32_t used,
			const uint32_t *tokens, uint32_t count, struct gguf_error *error)
{
	int64_t *numbers = d->scratch;

	for (uint32_t i = 0; i < step->tokens; i++)
		numbers[i] = tokens[i < count ? i : count - 1];
	if (write(d, step->ids, d->id_type, step->tokens, error))
		return -1;
	for (uint32_t i = 0; i < step->tokens; i++)
		numbers[i] = used + i;
	if (d->has_positions && write(d, step->positions, d->position_type, step->tokens, error))
		return -1;
	numbers[0] = count - 1;
	return write(d, step->pick, WNNOperandDataType_Int32, 1, error);
}

/* Writes where the rows of the tokens go, and the mask by which each sees itself and the past. */
static int write_rows(const struct decoder *d, const struct decoder_step *step, uint32_t used,
		      struct gguf_error *error)
{
	uint32_t heads = d->caches[0].heads, tokens = step->tokens;
	bool half = d->caches[0].type == WNNOperandDataType_Float16;
	size_t size = (size_t)tokens * d->length;
	int64_t *numbers = d->scratch;
	uint16_t *halves = d->scratch;
	float *floats = d->scratch;

	for (uint32_t i = 0; i < heads * tokens; i++) {
		numbers[3 * (size_t)i] = 0;
		numbers[3 * (size_t)i + 1] = i / tokens;
		numbers[3 * (size_t)i + 2] = used + i % tokens;
	}
	if (write(d, step->rows, WNNOperandDataType_Int32, 3 * (size_t)heads * tokens, error))
		return -1;
	for (size_t i = 0; i < size; i++) {
		float number = i % d->length <= used + i / d->length ? 0 : CHANGE_HIDDEN;

		if (half)
			halves[i] = half_from_double(number);
		else
			floats[i] = number;
	}
	return write_bytes(d, step->bias, size * (half ? 2 : 4), error);
}

/* Writes attention_mask of a graph that is not changed, and the place for run_move(). */
static int write_mask(const struct decoder *d, const struct decoder_step *step, uint32_t used,
		      struct gguf_error *error)
{
	uint32_t masked = d->length + (d->move != NULL);
	int64_t *numbers = d->scratch;

	/* New tokens are at the next positions; in a longer cache, the token is at the last one. */
	for (uint32_t i = 0; i < masked; i++)
		numbers[i] = d->move ? i < used || i == d->length : i < used + step->tokens;
	if (write(d, d->mask, d->mask_type, masked, error))
		return -1;
	for (uint32_t i = 0; d->move && i < d->caches[0].heads; i++) {
		numbers[2 * i] = i;
		numbers[2 * i + 1] = used;
	}
	return d->move ? write(d, d->place, WNNOperandDataType_Int32,
			       2 * (size_t)d->caches[0].heads, error) :
			 0;
}

static int dispatch(struct decoder *d, WNNGraph graph, size_t inputs, size_t outputs,
		    struct gguf_error *error)
{
	if (wnnContextDispatch(d->context, graph, inputs, d->inputs, outputs, d->outputs) ==
	    WNNStatus_Success)
		return 0;
	return gguf_fail_last(error, "the model did not run");
}

static int run_step(struct decoder *d, const struct decoder_step *step,
		    const struct gguf_caches *text, struct gguf_error *error)
{
	const struct {
		const char *name;
		WNNTensor tensor;
	} fixed[INPUTS] = {
		{ "input_ids", step->ids },	     { "attention_mask", d->mask },
		{ "position_ids", step->positions }, { CHANGE_ROWS, step->rows },
		{ CHANGE_MASK, step->bias },	     { DECODER_PICK, step->pick },
	};
	size_t inputs = 0;

	for (size_t i = 0; i < INPUTS; i++)
		if (fixed[i].tensor)
			d->inputs[inputs++] =
				(WNNNamedTensor){ WNN_STR(fixed[i].name), fixed[i].tensor };
	for (size_t i = 0; i < d->count; i++) {
		d->inputs[inputs++] = (WNNNamedTensor){ d->caches[i].past, text->tensors[i] };
		d->outputs[1 + i] = (WNNNamedTensor){ d->caches[i].present,
						      d->move ? d->presents[i] : text->tensors[i] };
	}
	d->outputs[0] = (WNNNamedTensor){ WNN_STR("logits"), d->logits };
	return dispatch(d, step->graph, inputs, d->count + 1, error);
}

static int run_move(struct decoder *d, const struct gguf_caches *text, struct gguf_error *error)
{
	size_t inputs = 0;

	d->inputs[inputs++] = (WNNNamedTensor){ WNN_STR("place"), d->place };
	for (size_t i = 0; i < d->count; i++) {
		d->inputs[inputs++] = (WNNNamedTensor){ d->caches[i].past, text->tensors[i] };
		d->inputs[inputs++] = (WNNNamedTensor){ d->caches[i].present, d->presents[i] };
		d->outputs[i] = (WNNNamedTensor){ WNN_STR(d->caches[i].moved), text->tensors[i] };
	}
	return dispatch(d, d->move, inputs, d->count, error);
}

static int read_logits(struct decoder *d, float *logits, struct gguf_error *error)
{
	bool half = d->logit_type == WNNOperandDataType_Float16;
	const uint16_t *halves = d->scratch;

	if (wnnContextReadTensorIntoSync(d->context, d->logits, half ? d->scratch : logits,
					 (size_t)d->rows * (half ? 2 : 4),
					 WNN_WAIT_FOREVER) != WNNStatus_Success)
		return gguf_fail_last(error, "the logits cannot be read");
	for (size_t i = 0; half && i < d->rows; i++)
		logits[i] = (float)half_to_double(halves[i]);
	return 0;
}

/*
 * Runs a step with @count tokens, at most those of its graph, and adds @count to text->used.
 * Returns 0; -1: an error, and text->used stays.
 */
static int run(struct decoder *d, const struct decoder_step *step, struct gguf_caches *text,
	       const uint32_t *tokens, uint32_t count, struct gguf_error *error)
{
	if (write_tokens(d, step, text->used, tokens, count, error) ||
	    (d->change.in_place ? write_rows(d, step, text->used, error) :
				  write_mask(d, step, text->used, error)) ||
	    run_step(d, step, text, error) || (d->move && run_move(d, text, error)))
		return -1;
	text->used += count;
	return 0;
}

int decoder_feed(struct decoder *d, struct gguf_caches *text, const uint32_t *tokens, size_t count,
		 float *logits, struct gguf_error *error)
{
	if (!count || count > d->length - text->used)
		return gguf_fail(error,
				 "the caches have room for %u tokens and hold %u: %zu more cannot "
				 "be added",
				 d->length, text->used, count);
	for (size_t i = 0; i < count; i++)
		if (tokens[i] >= d->rows)
			return gguf_fail(error, "the model has no token %u; it has 0 to %u",
					 tokens[i], d->rows - 1);
	while (count) {
		/*
		 * Positions after the tokens of a block are masked until later tokens overwrite
		 * them.
		 */
		bool block = d->block.graph && count > 1 &&
			     d->block.tokens <= d->length - text->used;
		const struct decoder_step *step = block ? &d->block : &d->one;
		uint32_t now = count < step->tokens ? (uint32_t)count : step->tokens;

		if (run(d, step, text, tokens, now, error))
			return -1;
		tokens += now;
		count -= now;
	}
	return logits ? read_logits(d, logits, error) : 0;
}
