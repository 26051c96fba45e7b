// SPDX-License-Identifier: MIT
/*
 * webnn-run generate: runs a decoder of ONNX token by token. All shapes are fixed: the caches have
 * as many positions as a text can have, and the mask says which have tokens.
 *
 * A model whose outputs are caches as long as its inputs (GroupQueryAttention with one buffer for
 * past and present) takes one tensor for both, and a dispatch writes the rows of the token alone. A
 * model that appends the token to the past has it in the last row of its outputs; a second graph
 * copies that row to its place.
 */
#include "decoder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../half.h"
#include "run.h"

/* Inputs of a step beside the caches. */
#define INPUTS 3

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
	int used = snprintf(text, DESCRIPTION, "%.*s [",
			    value->elementType.length < 30 ? (int)value->elementType.length : 30,
			    value->elementType.data);

	for (size_t i = 0; i < value->rank && used < DESCRIPTION - 60; i++) {
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
	snprintf(text + used, DESCRIPTION - (size_t)used, "]");
	return text;
}

static int fail_onnx(struct gguf_error *error)
{
	WNNError last = WNN_ERROR_INIT;

	wnnOnnxGetLastError(&last);
	return gguf_fail(error, "%.*s", (int)last.message.length, last.message.data);
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
	char name[200], text[DESCRIPTION];

	snprintf(name, sizeof(name), "%s%.*s", present, (int)(input->name.length - strlen(past)),
		 input->name.data + strlen(past));
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
	for (size_t i = 0; i < INPUTS; i++) {
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

/*
 * Returns 0; fails when the model has an output that is neither logits nor a cache, because a step
 * gives it no tensor.
 */
static int check_outputs(const struct decoder *d, const char *present, struct gguf_error *error)
{
	WNNOnnxValueInfoArray outputs = wnnOnnxModelGetOutputs(d->model);

	for (size_t i = 0; i < outputs.count; i++) {
		WNNStringView name = outputs.data[i].name;
		bool known = same_text(name, "logits");

		for (size_t k = 0; !known && k < d->count; k++)
			known = same_view(name, d->caches[k].present);
		if (!known)
			return gguf_fail(
				error,
				"its output \"%.*s\" is unknown; known are logits, and an "
				"output that begins with \"%s\" (--present) for each cache: "
				"webnn-run extract makes a model without it",
				(int)name.length, name.data, present);
	}
	return 0;
}

int decoder_read(struct decoder *d, const char *path, const char *past, const char *present,
		 struct gguf_error *error)
{
	const WNNOnnxValueInfo *logits;
	WNNOnnxValueInfoArray inputs;
	const char *missing;
	char text[DESCRIPTION];

	*d = (struct decoder){ 0 };
	if (wnnOnnxLoadFile(WNN_STR(path), NULL, &d->model) != WNNStatus_Success)
		return fail_onnx(error);
	inputs = wnnOnnxModelGetInputs(d->model);
	d->caches = calloc(inputs.count + 1, sizeof(*d->caches));
	if (!d->caches)
		return gguf_fail_memory(error);
	for (size_t i = 0; i < inputs.count; i++)
		if (read_input(d, &inputs.data[i], past, present, error))
			return -1;
	d->has_positions = find(inputs, "position_ids") != NULL;
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
	if (check_outputs(d, present, error))
		return -1;
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

static int set_shapes(struct decoder *d, uint32_t masked, struct gguf_error *error)
{
	if (set_shape(d, WNN_STR("input_ids"), SHAPE(1, 1), error) ||
	    set_shape(d, WNN_STR("attention_mask"), SHAPE(1, masked), error) ||
	    (d->has_positions && set_shape(d, WNN_STR("position_ids"), SHAPE(1, 1), error)))
		return -1;
	for (size_t i = 0; i < d->count; i++)
		if (set_shape(d, d->caches[i].past,
			      SHAPE(1, d->caches[i].heads, d->length, d->caches[i].size), error))
			return -1;
	return 0;
}

/*
 * Builds the graph of a token, for a mask of @masked positions. Returns 0; else fails, also when
 * the caches that come out do not have @masked positions.
 */
static int build_step(struct decoder *d, uint32_t masked, struct gguf_error *error)
{
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(d->context);
	WNNNamedOperand const *outputs;
	size_t count;
	int ret = 0;

	if (!builder)
		return gguf_fail_last(error, "its graph cannot be built");
	if (set_shapes(d, masked, error))
		ret = -1;
	else if (wnnOnnxModelAddToBuilder(d->model, builder, &count, &outputs) != WNNStatus_Success)
		ret = fail_onnx(error);
	for (size_t i = 0; !ret && i < d->count; i++)
		for (size_t k = 0; k < count; k++) {
			WNNUint32Array shape = wnnOperandGetShape(outputs[k].operand);

			if (same_view(outputs[k].name, d->caches[i].present) &&
			    (shape.count != 4 || shape.data[2] != masked))
				ret = gguf_fail(
					error,
					"its output \"%.*s\" has %u positions, its input %u: "
					"as many or one more are allowed",
					(int)outputs[k].name.length, outputs[k].name.data,
					shape.count > 2 ? shape.data[2] : 0, d->length);
		}
	if (!ret && wnnGraphBuilderBuildSync(builder, count, outputs, WNN_WAIT_FOREVER, &d->step) !=
			    WNNStatus_Success)
		ret = gguf_fail_last(error, "its graph cannot be built");
	wnnGraphBuilderRelease(builder);
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
 * Builds the graph that copies the new rows of all caches. Returns 0; else fails, as for a cache
 * with another number of heads than the first one.
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

static int make_tensors(struct decoder *d, struct gguf_error *error)
{
	size_t most = d->length + 1 > 2 * d->caches[0].heads ? d->length + 1 :
							       2 * d->caches[0].heads;
	uint32_t masked = d->length + (d->move != NULL);

	d->presents = calloc(d->count, sizeof(WNNTensor));
	d->inputs = calloc(2 * d->count + INPUTS, sizeof(*d->inputs));
	d->outputs = calloc(d->count + 1, sizeof(*d->outputs));
	d->scratch = calloc(most > d->rows ? most : d->rows, sizeof(int64_t));
	if (!d->presents || !d->inputs || !d->outputs || !d->scratch)
		return gguf_fail_memory(error);
	for (size_t i = 0; d->move && i < d->count; i++)
		if (make(d, d->caches[i].type,
			 SHAPE(1, d->caches[i].heads, masked, d->caches[i].size), &d->presents[i],
			 error))
			return -1;
	if (make(d, d->id_type, SHAPE(1, 1), &d->ids, error) ||
	    make(d, d->mask_type, SHAPE(1, masked), &d->mask, error) ||
	    (d->has_positions && make(d, d->position_type, SHAPE(1, 1), &d->positions, error)) ||
	    (d->move &&
	     make(d, WNNOperandDataType_Int32, SHAPE(d->caches[0].heads, 2), &d->place, error)) ||
	    make(d, d->logit_type, SHAPE(1, 1, d->rows), &d->logits, error))
		return -1;
	return 0;
}

int decoder_open(struct decoder *d, WNNContext context, uint32_t length, struct gguf_error *error)
{
	if (length < 1 || length > INT32_MAX / 2)
		return gguf_fail(error,
				 "caches of %u tokens are larger than a tensor can be: give a "
				 "smaller --context",
				 length);
	d->context = context;
	d->length = length;
	/* One buffer for past and present; else a model that appends to the past. */
	if (build_step(d, length, error) &&
	    (build_step(d, length + 1, error) || build_move(d, error)))
		return -1;
	return make_tensors(d, error);
}

void decoder_close(struct decoder *d)
{
	WNNTensor tensors[] = { d->ids, d->mask, d->positions, d->logits, d->place };

	for (size_t i = 0; i < sizeof(tensors) / sizeof(tensors[0]); i++)
		if (tensors[i])
			wnnTensorRelease(tensors[i]);
	for (size_t i = 0; d->presents && i < d->count; i++)
		if (d->presents[i])
			wnnTensorRelease(d->presents[i]);
	if (d->step)
		wnnGraphRelease(d->step);
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
	if (wnnContextWriteTensor(d->context, tensor, d->scratch, count * size) ==
	    WNNStatus_Success)
		return 0;
	return gguf_fail_last(error, "an input cannot be written");
}

static int write_inputs(const struct decoder *d, uint32_t used, uint32_t token,
			struct gguf_error *error)
{
	uint32_t masked = d->length + (d->move != NULL);
	int64_t *numbers = d->scratch;

	numbers[0] = token;
	if (write(d, d->ids, d->id_type, 1, error))
		return -1;
	numbers[0] = used;
	if (d->has_positions && write(d, d->positions, d->position_type, 1, error))
		return -1;
	/*
	 * The token sees the positions in use and itself; it is at the next position or, in a
	 * longer cache, at the last.
	 */
	for (uint32_t i = 0; i < masked; i++)
		numbers[i] = i < used || i == (d->move ? d->length : used);
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

static int run_step(struct decoder *d, const struct gguf_caches *text, struct gguf_error *error)
{
	const struct {
		const char *name;
		WNNTensor tensor;
	} fixed[INPUTS] = { { "input_ids", d->ids },
			    { "attention_mask", d->mask },
			    { "position_ids", d->positions } };
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
	return dispatch(d, d->step, inputs, d->count + 1, error);
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

int decoder_feed(struct decoder *d, struct gguf_caches *text, const uint32_t *tokens, size_t count,
		 float *logits, struct gguf_error *error)
{
	if (!count || count > d->length - text->used)
		return gguf_fail(error,
				 "the caches have room for %u tokens and hold %u: %zu more cannot "
				 "be added",
				 d->length, text->used, count);
	for (size_t i = 0; i < count; i++) {
		if (tokens[i] >= d->rows)
			return gguf_fail(error, "the model has no token %u; it has 0 to %u",
					 tokens[i], d->rows - 1);
		if (write_inputs(d, text->used, tokens[i], error) || run_step(d, text, error) ||
		    (d->move && run_move(d, text, error)))
			return -1;
		text->used++;
	}
	return logits ? read_logits(d, logits, error) : 0;
}
