// SPDX-License-Identifier: MIT
/*
 * webnn-run transcribe: runs a Whisper model in three graphs: the encoder, what the decoder makes
 * of its result once (keys and values of each layer), and a step that takes a token. Tensors of the
 * device connect them.
 */
#include "whisper.h"

#include <stdlib.h>
#include <string.h>

#include "../half.h"
#include "mel.h"
#include "whisper_files.h"

#define HIDDEN "encoder_hidden_states"

static bool begins(WNNStringView name, const char *text)
{
	return name.length >= strlen(text) && !memcmp(name.data, text, strlen(text));
}

static bool contains(WNNStringView name, const char *text)
{
	return memmem(name.data, name.length, text, strlen(text)) != NULL;
}

/* ---- shapes */

/* Writes the shape that an input has to @shape and returns its rank; 0: the input is unknown. */
static size_t shape_of(const struct whisper *w, WNNStringView name, uint32_t shape[4])
{
	const struct whisper_sizes *s = &w->config.sizes;
	uint32_t heard = w->config.frames / 2;

	shape[0] = 1;
	if (same_text(name, WHISPER_POSITION) || same_text(name, "cache_position") ||
	    same_text(name, "use_cache_branch"))
		return 1;
	if (same_text(name, CHANGE_MASK)) {
		shape[0] = s->positions;
		return 1;
	}
	shape[1] = 1;
	if (same_text(name, "input_ids"))
		return 2;
	shape[1] = heard;
	shape[2] = s->width;
	if (same_text(name, HIDDEN))
		return 3;
	shape[1] = w->config.mels;
	shape[2] = w->config.frames;
	if (same_text(name, "input_features"))
		return 3;
	shape[1] = s->heads;
	shape[2] = same_text(name, CHANGE_ROWS) ? 1 :
		   contains(name, ".encoder.")	? heard :
						  s->positions;
	shape[3] = same_text(name, CHANGE_ROWS) ? 3 : s->width / s->heads;
	return same_text(name, CHANGE_ROWS) || begins(name, WHISPER_PAST) ? 4 : 0;
}

/* Sets the shapes of all inputs. Returns DONE, or an exit code after a message. */
static int set_shapes(const struct whisper *w, WNNOnnxModel model, const char *path)
{
	size_t count = wnnOnnxModelGetInputs(model).count;

	for (size_t i = 0; i < count; i++) {
		/* The list is valid until a shape is set. */
		WNNStringView name = wnnOnnxModelGetInputs(model).data[i].name;
		uint32_t shape[4];
		size_t rank = shape_of(w, name, shape);

		if (!rank)
			return complain(
				BAD_MODEL,
				"%s: its input \"%.*s\" is unknown; known are "
				"input_features, input_ids, encoder_hidden_states, "
				"cache_position, use_cache_branch and those that begin with "
				"\"past_key_values.\"",
				path, (int)name.length, name.data);
		if (wnnOnnxModelSetInputShape(model, name,
					      WNN_VALUE(WNNUint32Array, { rank, shape })) !=
		    WNNStatus_Success)
			return complain_wnn(BAD_MODEL, true, "%s", path);
	}
	return DONE;
}

static bool has_input(WNNOnnxModel model, const char *name)
{
	WNNOnnxValueInfoArray inputs = wnnOnnxModelGetInputs(model);

	for (size_t i = 0; i < inputs.count; i++)
		if (same_text(inputs.data[i].name, name))
			return true;
	return false;
}

/* ---- tensors */

/*
 * Returns the part of a name that an output and the input of the stage after it have in common: a
 * cache is past_key_values.0.decoder.key, present.0.decoder.key or
 * step/past_key_values.0.decoder.key.
 */
static WNNStringView common_name(WNNStringView name)
{
	static const char *const fronts[] = { CHANGE_NEXT WHISPER_PAST, WHISPER_PAST, "present." };

	if (same_text(name, "last_hidden_state"))
		return WNN_VALUE(WNNStringView, { HIDDEN, strlen(HIDDEN) });
	for (size_t i = 0; i < sizeof(fronts) / sizeof(fronts[0]); i++) {
		size_t size = strlen(fronts[i]);

		if (begins(name, fronts[i]))
			return WNN_VALUE(WNNStringView, { name.data + size, name.length - size });
	}
	return name;
}

static struct whisper_tensor *find_tensor(const struct whisper *w, WNNStringView name)
{
	WNNStringView common = common_name(name);

	for (size_t i = 0; i < w->tensor_count; i++)
		if (same_text(common, w->tensors[i].name))
			return &w->tensors[i];
	return NULL;
}

static struct whisper_tensor *tensor_named(const struct whisper *w, const char *name)
{
	return find_tensor(w, WNN_VALUE(WNNStringView, { name, strlen(name) }));
}

static int make_tensor(struct whisper *w, const WNNNamedOperandDescriptor *d)
{
	struct whisper_tensor *list =
		realloc(w->tensors, (w->tensor_count + 1) * sizeof(*w->tensors));
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNStringView name = common_name(d->name);
	struct whisper_tensor *t;

	if (!list)
		return complain_memory(w->encoder_path);
	w->tensors = list;
	t = &list[w->tensor_count];
	*t = (struct whisper_tensor){ strndup(name.data, name.length), NULL, d->dataType, 1,
				      contains(name, ".decoder.") };
	if (!t->name)
		return complain_memory(w->encoder_path);
	w->tensor_count++;
	for (size_t i = 0; i < d->shape.count; i++)
		t->elements *= d->shape.data[i];
	descriptor.dataType = d->dataType;
	descriptor.shape = d->shape;
	descriptor.readable = descriptor.writable = WNN_TRUE;
	if (wnnContextCreateTensorSync(w->target.context, &descriptor, WNN_WAIT_FOREVER,
				       &t->tensor) != WNNStatus_Success)
		return complain_wnn(BAD_DEVICE, false, "%s: a tensor cannot be made",
				    w->encoder_path);
	return DONE;
}

/*
 * Gives each input or output of a graph the tensor of its name, which is made where there is none.
 * Returns DONE, or an exit code after a message.
 */
static int bind(struct whisper *w, const char *path, WNNNamedOperandDescriptorArray list,
		WNNNamedTensor **named, size_t *count)
{
	*named = calloc(list.count + 1, sizeof(**named));
	if (!*named)
		return complain_memory(path);
	for (size_t i = 0; i < list.count; i++) {
		const WNNNamedOperandDescriptor *d = &list.data[i];
		const struct whisper_tensor *t = find_tensor(w, d->name);
		size_t elements = 1;
		int ret = t ? DONE : make_tensor(w, d);

		if (ret)
			return ret;
		for (size_t k = 0; k < d->shape.count; k++)
			elements *= d->shape.data[k];
		if (!t)
			t = find_tensor(w, d->name);
		if (t->type != d->dataType || t->elements != elements)
			return complain(
				BAD_MODEL,
				"%s: tensor \"%.*s\" has type %s and %zu elements, but elsewhere "
				"in the model type %s and %zu elements; use files of one export, "
				"also its config.json",
				path, (int)d->name.length, d->name.data,
				wnnOperandDataTypeGetName(d->dataType).data, elements,
				wnnOperandDataTypeGetName(t->type).data, t->elements);
		(*named)[(*count)++] = (WNNNamedTensor){ d->name, t->tensor };
	}
	return DONE;
}

/* ---- stages */

static int build(struct whisper *w, struct whisper_stage *stage, const char *path)
{
	int ret = set_shapes(w, stage->model, path);

	if (ret)
		return ret;
	if (wnnOnnxModelBuildSync(stage->model, w->target.context, WNN_WAIT_FOREVER,
				  &stage->graph) != WNNStatus_Success)
		return complain_wnn(BAD_MODEL, true, "%s", path);
	ret = bind(w, path, wnnGraphGetInputs(stage->graph), &stage->inputs, &stage->input_count);
	return ret ? ret :
		     bind(w, path, wnnGraphGetOutputs(stage->graph), &stage->outputs,
			  &stage->output_count);
}

static int open_encoder(struct whisper *w)
{
	if (wnnOnnxLoadFile(WNN_STR(w->encoder_path), NULL, &w->encoder.model) != WNNStatus_Success)
		return complain_wnn(BAD_MODEL, true, "%s", w->encoder_path);
	return build(w, &w->encoder, w->encoder_path);
}

/* Makes an input, if the model has it, a constant with @size bytes. Returns a status. */
static WNNStatus fix_input(const struct whisper *w, WNNOnnxModel model, const char *name,
			   const void *data, size_t size)
{
	uint32_t shape[4];
	size_t rank = shape_of(w, WNN_VALUE(WNNStringView, { name, strlen(name) }), shape);
	WNNStatus status;

	if (!has_input(model, name))
		return WNNStatus_Success;
	status = wnnOnnxModelSetInputShape(model, WNN_STR(name),
					   WNN_VALUE(WNNUint32Array, { rank, shape }));
	return status == WNNStatus_Success ?
		       wnnOnnxModelSetInputValue(model, WNN_STR(name), data, size) :
		       status;
}

/*
 * Builds the part of the decoder that depends on the audio alone: its outputs
 * present.N.encoder.key and .value. Returns DONE, or an exit code after a message.
 */
static int open_cross(struct whisper *w)
{
	WNNOnnxModel *model = &w->cross.model;
	const uint8_t no = 0;
	WNNOnnxValueInfoArray all;
	WNNStringView *chosen;
	size_t count = 0;
	int ret = DONE;

	if (wnnOnnxLoadFile(WNN_STR(w->cross_path), NULL, model) != WNNStatus_Success)
		return complain_wnn(BAD_MODEL, true, "%s", w->cross_path);
	all = wnnOnnxModelGetOutputs(*model);
	chosen = calloc(all.count + 1, sizeof(*chosen));
	if (!chosen)
		return complain_memory(w->cross_path);
	for (size_t i = 0; i < all.count; i++)
		if (begins(all.data[i].name, "present.") && contains(all.data[i].name, ".encoder."))
			chosen[count++] = all.data[i].name;
	if (!count)
		ret = complain(BAD_MODEL,
			       "%s: it has no output present.0.encoder.key: a decoder that gives "
			       "keys and values is needed, which the task "
			       "automatic-speech-recognition-with-past exports",
			       w->cross_path);
	else if (wnnOnnxModelSetOutputs(*model, count, chosen) != WNNStatus_Success ||
		 fix_input(w, *model, "use_cache_branch", &no, sizeof(no)) != WNNStatus_Success)
		ret = complain_wnn(BAD_MODEL, true, "%s", w->cross_path);
	free(chosen);
	return ret ? ret : build(w, &w->cross, w->cross_path);
}

static int open_step(struct whisper *w)
{
	int ret = whisper_step_load(w->step_path, &w->config.sizes, &w->step.model);
	/*
	 * The graph uses cache_position only for a mask that hides later positions: with the last
	 * position it hides none. CHANGE_MASK hides them instead.
	 */
	const int64_t last = (int64_t)w->config.sizes.positions - 1;

	if (ret)
		return ret;
	if (fix_input(w, w->step.model, "cache_position", &last, sizeof(last)) != WNNStatus_Success)
		return complain_wnn(BAD_MODEL, true, "%s", w->step_path);
	return build(w, &w->step, w->step_path);
}

/* Makes room for what is written to and read from tensors. */
static int make_room(struct whisper *w)
{
	const struct whisper_tensor *logits = tensor_named(w, "logits");
	const struct whisper_tensor *token = tensor_named(w, "input_ids");
	const struct whisper_tensor *position = tensor_named(w, WHISPER_POSITION);
	size_t most = (size_t)w->config.mels * w->config.frames;

	/*
	 * In a damaged export, an output may have the name of one of these inputs, with another
	 * size.
	 */
	if (!tensor_named(w, "input_features") || !token || token->elements != 1 ||
	    (position && position->elements != 1))
		return complain(BAD_MODEL,
				"%s: the encoder needs an input input_features, and the decoder an "
				"input input_ids, and no output may have such a name; export the "
				"model again",
				w->encoder_path);
	if (logits->type != WNNOperandDataType_Float32 &&
	    logits->type != WNNOperandDataType_Float16)
		return complain(
			BAD_MODEL,
			"%s: its output \"logits\" has the type %s; it has to be float32 or "
			"float16",
			w->step_path, wnnOperandDataTypeGetName(logits->type).data);
	if (w->vocabulary.count > logits->elements)
		return complain(BAD_MODEL,
				"%s: the tokenizer has %zu tokens, but the model only %zu: use the "
				"tokenizer of this model",
				w->step_path, w->vocabulary.count, logits->elements);
	w->rows = (uint32_t)logits->elements;
	for (size_t i = 0; i < w->tensor_count; i++)
		if (w->tensors[i].elements > most)
			most = w->tensors[i].elements;
	w->input = calloc(most, sizeof(*w->input));
	w->logits = calloc(w->rows, sizeof(*w->logits));
	w->scratch = calloc(most, sizeof(int64_t));
	if (w->input && w->logits && w->scratch)
		return DONE;
	return complain_memory(w->encoder_path);
}

int whisper_read(struct whisper *w, const char *folder)
{
	*w = (struct whisper){ 0 };
	return whisper_files_read(w, folder);
}

int whisper_build(struct whisper *w, const struct options *options)
{
	int ret = target_open(&w->target, options, options->device);

	if (!ret)
		ret = open_encoder(w);
	if (!ret)
		ret = open_cross(w);
	if (!ret)
		ret = open_step(w);
	return ret ? ret : make_room(w);
}

static void close_stage(struct whisper_stage *stage)
{
	if (stage->graph)
		wnnGraphRelease(stage->graph);
	if (stage->model)
		wnnOnnxModelRelease(stage->model);
	free(stage->inputs);
	free(stage->outputs);
}

void whisper_close(struct whisper *w)
{
	for (size_t i = 0; i < w->tensor_count; i++) {
		if (w->tensors[i].tensor)
			wnnTensorRelease(w->tensors[i].tensor);
		free(w->tensors[i].name);
	}
	free(w->tensors);
	close_stage(&w->encoder);
	close_stage(&w->cross);
	close_stage(&w->step);
	target_close(&w->target);
	gguf_vocabulary_exit(&w->vocabulary);
	gguf_close(&w->gguf);
	json_decref(w->config.suppressed);
	json_decref(w->config.first_suppressed);
	free(w->keys.data);
	free(w->piece);
	free(w->logits);
	free(w->input);
	free(w->scratch);
	free(w->encoder_path);
	free(w->cross_path);
	free(w->step_path);
}

/* ---- running */

/*
 * Writes @values, as many as a tensor has elements, in its type: float16, int64, int32, or else as
 * float32. Does nothing when @t is NULL. Returns DONE, or an exit code after a message.
 */
static int write(const struct whisper *w, const struct whisper_tensor *t, const float *values)
{
	bool wide = t && t->type == WNNOperandDataType_Int64;
	bool half = t && t->type == WNNOperandDataType_Float16;
	size_t size = wide ? 8 : half ? 2 : 4;

	for (size_t i = 0; t && i < t->elements; i++)
		if (wide)
			((int64_t *)w->scratch)[i] = (int64_t)values[i];
		else if (half)
			((uint16_t *)w->scratch)[i] = half_from_double((double)values[i]);
		else if (t->type == WNNOperandDataType_Int32)
			((int32_t *)w->scratch)[i] = (int32_t)values[i];
		else
			((float *)w->scratch)[i] = values[i];
	if (!t || wnnContextWriteTensor(w->target.context, t->tensor, w->scratch,
					t->elements * size) == WNNStatus_Success)
		return DONE;
	return complain_wnn(BAD_DEVICE, false, "%s: \"%s\" cannot be written", w->encoder_path,
			    t->name);
}

static int dispatch(const struct whisper *w, const struct whisper_stage *stage, const char *path)
{
	if (wnnContextDispatch(w->target.context, stage->graph, stage->input_count, stage->inputs,
			       stage->output_count, stage->outputs) == WNNStatus_Success)
		return DONE;
	return complain_wnn(BAD_DEVICE, false, "%s: the model did not run", path);
}

int whisper_listen(struct whisper *w, const float *samples, size_t count)
{
	int ret;

	if (mel_compute(samples, count, w->config.mels, w->config.frames, w->input))
		return complain_memory(w->encoder_path);
	ret = write(w, tensor_named(w, "input_features"), w->input);
	if (!ret)
		ret = dispatch(w, &w->encoder, w->encoder_path);
	if (!ret)
		ret = dispatch(w, &w->cross, w->cross_path);
	/* The time for the audio is measured apart from that for the tokens. */
	if (!ret && wnnContextWaitIdle(w->target.context, WNN_WAIT_FOREVER) != WNNStatus_Success)
		ret = complain_wnn(BAD_DEVICE, false, "%s: the model did not run", w->encoder_path);
	/* Rows without tokens are masked, but a NaN in them would pass the mask. */
	for (size_t i = 0; !ret && i < w->tensor_count; i++)
		if (w->tensors[i].cache) {
			memset(w->input, 0, w->tensors[i].elements * sizeof(*w->input));
			ret = write(w, &w->tensors[i], w->input);
		}
	w->used = 0;
	return ret;
}

static int read_logits(struct whisper *w)
{
	const struct whisper_tensor *t = tensor_named(w, "logits");
	bool half = t->type == WNNOperandDataType_Float16;
	const uint16_t *halves = w->scratch;

	if (wnnContextReadTensorIntoSync(
		    w->target.context, t->tensor, half ? w->scratch : w->logits,
		    (size_t)w->rows * (half ? 2 : 4), WNN_WAIT_FOREVER) != WNNStatus_Success)
		return complain_wnn(BAD_DEVICE, false, "%s: the logits cannot be read",
				    w->step_path);
	for (size_t i = 0; half && i < w->rows; i++)
		w->logits[i] = (float)half_to_double(halves[i]);
	return DONE;
}

int whisper_feed(struct whisper *w, uint32_t token)
{
	const struct whisper_sizes *s = &w->config.sizes;
	float number = (float)token, position = (float)w->used;
	int ret = write(w, tensor_named(w, "input_ids"), &number);

	if (!ret)
		ret = write(w, tensor_named(w, WHISPER_POSITION), &position);
	for (uint32_t i = 0; i < s->heads; i++) {
		w->input[3 * i] = 0;
		w->input[3 * i + 1] = (float)i;
		w->input[3 * i + 2] = position;
	}
	if (!ret)
		ret = write(w, tensor_named(w, CHANGE_ROWS), w->input);
	for (uint32_t i = 0; i < s->positions; i++)
		w->input[i] = i <= w->used ? 0 : CHANGE_HIDDEN;
	if (!ret)
		ret = write(w, tensor_named(w, CHANGE_MASK), w->input);
	if (!ret)
		ret = dispatch(w, &w->step, w->step_path);
	w->used++;
	return ret ? ret : read_logits(w);
}
