// SPDX-License-Identifier: MIT
/*
 * webnn-run transcribe: changes the graph of a decoder with a past. Its caches are updated in place
 * (change.c), and the position of the token, which was the length of the past, becomes an input.
 */
#include "whisper_step.h"

#include <stdlib.h>
#include <string.h>

#include "model_file.h"
#include "run.h"

static bool is_cache(const Onnx__ValueInfoProto *input)
{
	return input->name && !strncmp(input->name, WHISPER_PAST, strlen(WHISPER_PAST)) &&
	       strstr(input->name, ".decoder.");
}

/* Makes the graph take the position of the token from an input. */
static int change_position(struct change *c, const struct whisper_sizes *s)
{
	Onnx__NodeProto *reader = NULL;
	size_t readers = 0;

	for (size_t i = 0; i < c->graph->n_initializer; i++) {
		const Onnx__TensorProto *t = c->graph->initializer[i];

		if (t->n_dims != 2 || t->dims[0] != s->positions || t->dims[1] != s->width)
			continue;
		for (size_t n = 0; n < c->graph->n_node; n++) {
			Onnx__NodeProto *node = c->graph->node[n];

			if (!node->n_input || !change_same(t->name, node->input[0]) ||
			    (!change_same(node->op_type, "Gather") &&
			     !change_same(node->op_type, "Slice")))
				continue;
			reader = node;
			readers++;
		}
	}
	if (readers != 1)
		return gguf_fail(
			c->error,
			"%zu nodes read rows of the weights of positions [max_target_positions "
			"%u, d_model %u], but exactly one must; use the config.json of this model, "
			"or export the model with optimum-cli",
			readers, s->positions, s->width);
	change_node(c, reader, "Gather", 2,
		    (const char *const[]){ reader->input[0], WHISPER_POSITION });
	return DONE;
}

static int change_caches(struct change *c)
{
	const Onnx__GraphProto *graph = c->graph;
	const char **names = calloc(graph->n_input + 1, sizeof(*names));
	size_t count = 0;
	int ret = names ? 0 : gguf_fail_memory(c->error);

	for (size_t i = 0; !ret && i < graph->n_input; i++)
		if (is_cache(graph->input[i]))
			names[count++] = graph->input[i]->name;
	if (!ret && !count)
		ret = gguf_fail(c->error,
				"it has no input \"past_key_values.0.decoder.key\": a decoder "
				"with a past is needed, which the task "
				"automatic-speech-recognition-with-past exports");
	for (size_t i = 0; !ret && i < count; i++)
		ret = change_cache(c, names[i]);
	if (!ret)
		ret = change_outputs(c, count, names);
	free(names);
	return ret;
}

int whisper_step_load(const char *path, const struct whisper_sizes *sizes, WNNOnnxModel *model)
{
	struct gguf_error error;
	struct change c;
	int ret;

	/* When the file is damaged, the library has the better message: it loads the file first. */
	if (wnnOnnxLoadFile(WNN_STR(path), NULL, model) != WNNStatus_Success)
		return complain_wnn(BAD_MODEL, true, "%s", path);
	wnnOnnxModelRelease(*model);
	*model = NULL;
	ret = change_init(&c, path, &error);
	if (!ret)
		ret = change_caches(&c);
	if (!ret)
		ret = change_position(&c, sizes);
	if (!ret) {
		change_add_input(&c, WHISPER_POSITION, ONNX__TENSOR_PROTO__DATA_TYPE__INT32);
		ret = change_load(&c, model);
	}
	change_exit(&c);
	if (!ret)
		return DONE;
	error.machine |= c.full;
	return complain_model(path, &error);
}
