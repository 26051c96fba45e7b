// SPDX-License-Identifier: MIT
/*
 * Runs a model: a prompt in blocks, then one token after the other. The caches stay on the device.
 */
#include "session.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../common/memory.h"

/* The number that is added to the score of a position that a token does not see. */
#define HIDDEN (-1e9f)

/* The numbers of inputs and of outputs that a graph has beside the caches. */
#define INPUTS	6
#define OUTPUTS 1

/* ---- tensors */

static int make(const struct gguf_session *s, WNNOperandDataType type, WNNUint32Array shape,
		bool readable, bool writable, WNNTensor *tensor, struct gguf_error *error)
{
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;

	descriptor.dataType = type;
	descriptor.shape = shape;
	descriptor.readable = readable;
	descriptor.writable = writable;
	if (wnnContextCreateTensorSync(s->context, &descriptor, WNN_WAIT_FOREVER, tensor) ==
	    WNNStatus_Success)
		return 0;
	return gguf_fail_last(error, "a tensor cannot be made");
}

#define SHAPE(...) WNN_UINT32_ARRAY(((uint32_t[]){ __VA_ARGS__ }))

static int open_step(struct gguf_session *s, struct gguf_step *step, uint32_t tokens,
		     struct gguf_error *error)
{
	const WNNOperandDataType real = WNNOperandDataType_Float32;
	uint32_t half = s->model->rotated / 2;

	step->tokens = tokens;
	if (gguf_llama_build(s->model, s->context, tokens, s->length, &step->graph, error))
		return -1;
	return make(s, real, SHAPE(tokens, s->model->width), false, true, &step->x, error) ||
			       make(s, real, SHAPE(1, tokens, half), false, true, &step->cosine,
				    error) ||
			       make(s, real, SHAPE(1, tokens, half), false, true, &step->sine,
				    error) ||
			       make(s, real, SHAPE(1, tokens, s->length), false, true, &step->mask,
				    error) ||
			       make(s, real, SHAPE(1, tokens), false, true, &step->pick, error) ||
			       make(s, WNNOperandDataType_Int32, SHAPE(s->model->key_heads, 2),
				    false, true, &step->place, error) ?
		       -1 :
		       0;
}

int gguf_caches_clear(struct gguf_caches *caches, const struct gguf_session *s,
		      struct gguf_error *error)
{
	const struct gguf_llama *m = s->model;
	size_t bytes = (size_t)m->key_heads * s->length * m->size * sizeof(float);
	void *zeros = import_alloc(bytes);
	int ret = zeros ? 0 : gguf_fail_memory(error);

	/* Positions that no token has written are masked, but must have finite numbers. */
	for (size_t i = 0; i < 2 * (size_t)m->layer_count && !ret; i++)
		if (wnnContextWriteTensor(s->context, caches->tensors[i], zeros, bytes) !=
		    WNNStatus_Success)
			ret = gguf_fail_last(error, "a cache cannot be written");
	import_free(zeros);
	caches->used = 0;
	return ret;
}

int gguf_caches_open(struct gguf_caches *caches, const struct gguf_session *s,
		     struct gguf_error *error)
{
	const struct gguf_llama *m = s->model;
	size_t count = 2 * (size_t)m->layer_count;

	*caches = (struct gguf_caches){ import_alloc(count * sizeof(*caches->tensors)), 0 };
	if (!caches->tensors)
		return gguf_fail_memory(error);
	for (size_t i = 0; i < count; i++)
		if (make(s, WNNOperandDataType_Float32, SHAPE(m->key_heads, s->length, m->size),
			 false, true, &caches->tensors[i], error))
			return -1;
	return gguf_caches_clear(caches, s, error);
}

void gguf_caches_close(struct gguf_caches *caches, const struct gguf_session *s)
{
	for (size_t i = 0; caches->tensors && i < 2 * (size_t)s->model->layer_count; i++)
		if (caches->tensors[i])
			wnnTensorRelease(caches->tensors[i]);
	import_free(caches->tensors);
	*caches = (struct gguf_caches){ 0 };
}

static int make_names(struct gguf_session *s, struct gguf_error *error)
{
	size_t count = 2 * (size_t)s->model->layer_count;

	s->inputs = import_alloc((count + INPUTS) * sizeof(*s->inputs));
	s->outputs = import_alloc((count + OUTPUTS) * sizeof(*s->outputs));
	s->names = import_alloc(2 * count * sizeof(*s->names));
	if (!s->inputs || !s->outputs || !s->names)
		return gguf_fail_memory(error);
	for (size_t i = 0; i < count; i++) {
		snprintf(s->names[i], sizeof(s->names[i]), "%c%zu", i % 2 ? 'v' : 'k', i / 2);
		snprintf(s->names[count + i], sizeof(s->names[i]), "%c%zu", i % 2 ? 'V' : 'K',
			 i / 2);
		s->inputs[INPUTS + i].name = WNN_STR(s->names[i]);
		s->outputs[OUTPUTS + i].name = WNN_STR(s->names[count + i]);
	}
	return 0;
}

/* Returns the number of floats of the largest input of a step. */
static size_t largest_input(const struct gguf_session *s)
{
	size_t columns = s->length;

	if (columns < s->model->width)
		columns = s->model->width;
	if (columns < s->model->rotated)
		columns = s->model->rotated;
	if (columns < 2 * (size_t)s->model->key_heads)
		columns = 2 * (size_t)s->model->key_heads;
	return columns * s->block.tokens;
}

int gguf_session_open(struct gguf_session *s, const struct gguf_llama *model, WNNContext context,
		      uint32_t length, uint32_t block, struct gguf_error *error)
{
	uint32_t vocabulary[] = { 1, model->vocabulary };

	*s = (struct gguf_session){ .model = model, .context = context };
	/* Shapes have at most 2^31 - 1 elements. */
	if (block < 1 || length < 1 || block > length || length > INT32_MAX / 2 ||
	    (uint64_t)(length + block) * model->key_heads * model->size > INT32_MAX)
		return gguf_fail(error,
				 "caches of %u tokens are larger than a tensor can be: give a "
				 "smaller --context",
				 length);
	s->length = (length + block - 1) / block * block;
	if (open_step(s, &s->one, 1, error) ||
	    (block > 1 && open_step(s, &s->block, block, error)) ||
	    make(s, WNNOperandDataType_Float32, WNN_UINT32_ARRAY(vocabulary), true, false,
		 &s->logits, error) ||
	    make_names(s, error))
		return -1;
	if (block == 1)
		s->block.tokens = 1;
	s->scratch = import_alloc(largest_input(s) * sizeof(*s->scratch));
	return s->scratch ? 0 : gguf_fail_memory(error);
}

static void close_step(struct gguf_step *step)
{
	WNNTensor tensors[] = { step->x,    step->cosine, step->sine,
				step->mask, step->pick,	  step->place };

	for (size_t i = 0; i < sizeof(tensors) / sizeof(tensors[0]); i++)
		if (tensors[i])
			wnnTensorRelease(tensors[i]);
	if (step->graph)
		wnnGraphRelease(step->graph);
}

void gguf_session_close(struct gguf_session *s)
{
	close_step(&s->one);
	close_step(&s->block);
	if (s->logits)
		wnnTensorRelease(s->logits);
	import_free(s->inputs);
	import_free(s->outputs);
	import_free(s->names);
	import_free(s->scratch);
	*s = (struct gguf_session){ 0 };
}

/* ---- steps */

static int write(const struct gguf_session *s, WNNTensor tensor, size_t size,
		 struct gguf_error *error)
{
	if (wnnContextWriteTensor(s->context, tensor, s->scratch, size) == WNNStatus_Success)
		return 0;
	return gguf_fail_last(error, "an input cannot be written");
}

/*
 * Writes the vectors of the tokens to the step's input; the last token is repeated until the block
 * is full. Returns what write() does.
 */
static int write_vectors(const struct gguf_session *s, const struct gguf_step *step,
			 const uint32_t *tokens, uint32_t count, struct gguf_error *error)
{
	size_t width = s->model->width;

	for (uint32_t i = 0; i < step->tokens; i++)
		gguf_llama_embed(s->model, tokens[i < count ? i : count - 1],
				 s->scratch + i * width);
	return write(s, step->x, step->tokens * width * sizeof(float), error);
}

static int write_angles(const struct gguf_session *s, const struct gguf_step *step, uint32_t used,
			struct gguf_error *error)
{
	size_t half = s->model->rotated / 2, size = step->tokens * half;

	for (int sine = 0; sine < 2; sine++) {
		for (size_t i = 0; i < size; i++) {
			double angle = (double)(used + i / half) * s->model->frequencies[i % half];

			s->scratch[i] = (float)(sine ? sin(angle) : cos(angle));
		}
		if (write(s, sine ? step->sine : step->cosine, size * sizeof(float), error))
			return -1;
	}
	return 0;
}

/*
 * Writes the mask, by which a token sees itself and all tokens before it. Returns what write()
 * does.
 */
static int write_mask(const struct gguf_session *s, const struct gguf_step *step, uint32_t used,
		      struct gguf_error *error)
{
	size_t size = (size_t)step->tokens * s->length;

	for (size_t i = 0; i < size; i++)
		s->scratch[i] = i % s->length <= used + i / s->length ? 0 : HIDDEN;
	return write(s, step->mask, size * sizeof(float), error);
}

static int write_choices(const struct gguf_session *s, const struct gguf_step *step, uint32_t used,
			 uint32_t count, struct gguf_error *error)
{
	int32_t *places = (int32_t *)s->scratch;
	uint32_t heads = s->model->key_heads;

	for (uint32_t i = 0; i < step->tokens; i++)
		s->scratch[i] = i == count - 1;
	if (write(s, step->pick, step->tokens * sizeof(float), error))
		return -1;
	for (uint32_t i = 0; i < heads; i++) {
		places[2 * i] = (int32_t)i;
		places[2 * i + 1] = (int32_t)(used / step->tokens);
	}
	return write(s, step->place, 2 * (size_t)heads * sizeof(*places), error);
}

static int dispatch(struct gguf_session *s, const struct gguf_caches *text,
		    const struct gguf_step *step, struct gguf_error *error)
{
	size_t caches = 2 * (size_t)s->model->layer_count;
	const WNNNamedTensor fixed[INPUTS] = {
		{ WNN_STR("x"), step->x },	   { WNN_STR("cos"), step->cosine },
		{ WNN_STR("sin"), step->sine },	   { WNN_STR("mask"), step->mask },
		{ WNN_STR("place"), step->place }, { WNN_STR("pick"), step->pick },
	};
	const WNNNamedTensor logits = { WNN_STR("logits"), s->logits };

	memcpy(s->inputs, fixed, sizeof(fixed));
	s->outputs[0] = logits;
	for (size_t i = 0; i < caches; i++)
		s->inputs[INPUTS + i].tensor = s->outputs[OUTPUTS + i].tensor = text->tensors[i];
	if (wnnContextDispatch(s->context, step->graph, INPUTS + caches, s->inputs,
			       OUTPUTS + caches, s->outputs) != WNNStatus_Success)
		return gguf_fail_last(error, "the model did not run");
	return 0;
}

/*
 * Runs a step with @count tokens, at most those of its graph, and adds them to text->used. Returns
 * 0; -1: an error, and text->used stays.
 */
static int run(struct gguf_session *s, struct gguf_caches *text, const struct gguf_step *step,
	       const uint32_t *tokens, uint32_t count, struct gguf_error *error)
{
	if (write_vectors(s, step, tokens, count, error) ||
	    write_angles(s, step, text->used, error) || write_mask(s, step, text->used, error) ||
	    write_choices(s, step, text->used, count, error) || dispatch(s, text, step, error))
		return -1;
	text->used += count;
	return 0;
}

int gguf_session_feed(struct gguf_session *s, struct gguf_caches *text, const uint32_t *tokens,
		      size_t count, float *logits, struct gguf_error *error)
{
	if (!count || count > s->length - text->used)
		return gguf_fail(error,
				 "the caches have room for %u tokens and hold %u: %zu more cannot "
				 "be added",
				 s->length, text->used, count);
	for (size_t i = 0; i < count; i++)
		if (tokens[i] >= s->model->vocabulary)
			return gguf_fail(error, "the model has no token %u; it has 0 to %u",
					 tokens[i], s->model->vocabulary - 1);
	while (count) {
		/*
		 * A block is stored at a position that is a multiple of its size. Positions after
		 * its tokens are masked until later tokens overwrite them.
		 */
		bool block = s->block.graph && count > 1 && text->used % s->block.tokens == 0;
		const struct gguf_step *step = block ? &s->block : &s->one;
		uint32_t now = count < step->tokens ? (uint32_t)count : step->tokens;

		if (run(s, text, step, tokens, now, error))
			return -1;
		tokens += now;
		count -= now;
	}
	if (logits && wnnContextReadTensorIntoSync(s->context, s->logits, logits,
						   s->model->vocabulary * sizeof(*logits),
						   WNN_WAIT_FOREVER) != WNNStatus_Success)
		return gguf_fail_last(error, "the logits cannot be read");
	return 0;
}
