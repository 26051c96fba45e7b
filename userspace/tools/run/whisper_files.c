// SPDX-License-Identifier: MIT
/*
 * webnn-run transcribe: finds the files of a Whisper model, as Hugging Face's Optimum exports it,
 * and reads those that say how the model is used.
 */
#include "whisper_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mel.h"
#include "model_file.h"
#include "tokenizer.h"

/* Largest sizes that are taken; those of models that exist are far below. */
#define MAX_SIZE 65536

/* ---- paths */

/* Returns FOLDER/onnx/NAME if there is such a file, or FOLDER/NAME; NULL: memory is exhausted. */
static char *path_of(const char *folder, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/onnx/%s", folder, name) < 0)
		return NULL;
	if (!access(path, F_OK))
		return path;
	free(path);
	return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

/* Complains about a file that is missing, or that cannot be looked for. */
static int missing(const char *folder, const char *names)
{
	if (errno != ENOENT)
		return complain(BAD_MODEL, "%s: %s cannot be looked for: %s%s", folder, names,
				strerror(errno),
				errno == EACCES ? "; give this user access to the folder" : "");
	return complain(
		BAD_MODEL,
		"%s: neither this folder nor the folder \"onnx\" in it has %s; export the model "
		"with optimum-cli export onnx --task automatic-speech-recognition-with-past",
		folder, names);
}

static int find_models(struct whisper *w, const char *folder)
{
	struct stat stat_of;

	if (stat(folder, &stat_of))
		return complain(BAD_MODEL,
				"%s: this folder cannot be read: %s; give the one that has "
				"encoder_model.onnx",
				folder, strerror(errno));
	if (!S_ISDIR(stat_of.st_mode))
		return complain(BAD_MODEL,
				"%s: it is no folder: give the one that has encoder_model.onnx",
				folder);
	w->encoder_path = path_of(folder, "encoder_model.onnx");
	w->cross_path = path_of(folder, "decoder_model_merged.onnx");
	if (w->cross_path && access(w->cross_path, F_OK)) {
		free(w->cross_path);
		w->cross_path = path_of(folder, "decoder_model.onnx");
		w->step_path = path_of(folder, "decoder_with_past_model.onnx");
	} else if (w->cross_path) {
		w->step_path = strdup(w->cross_path);
	}
	if (!w->encoder_path || !w->cross_path || !w->step_path)
		return complain_memory(folder);
	if (access(w->encoder_path, F_OK))
		return missing(folder, "encoder_model.onnx");
	if (access(w->cross_path, F_OK))
		return missing(folder, "decoder_model_merged.onnx or decoder_model.onnx");
	if (access(w->step_path, F_OK))
		return missing(folder, "decoder_model_merged.onnx or decoder_with_past_model.onnx");
	return DONE;
}

/* ---- configurations */

/* Loads a file; *root is NULL if there is none. Returns DONE, or an exit code after a message. */
static int load(const struct whisper *w, const char *name, json_t **root)
{
	struct gguf_error error;

	*root = tokenizer_json(w->encoder_path, name, &error);
	return error.text[0] ? complain_model(w->encoder_path, &error) : DONE;
}

/* Reads a size, which is at least @least. Returns DONE, or an exit code after a message. */
static int read_size(const struct whisper *w, const json_t *root, const char *name, uint32_t least,
		     uint32_t *size)
{
	const json_t *item = json_object_get(root, name);
	json_int_t number = json_integer_value(item);

	if (!json_is_integer(item))
		return complain(BAD_MODEL, "%s: config.json beside it has no number \"%s\"",
				w->encoder_path, name);
	if (number < least || number > MAX_SIZE)
		return complain(BAD_MODEL,
				"%s: in config.json beside it, \"%s\" is %lld; %u to %d are "
				"possible",
				w->encoder_path, name, (long long)number, least, MAX_SIZE);
	*size = (uint32_t)number;
	return DONE;
}

static int read_sizes(struct whisper *w, const json_t *root)
{
	struct whisper_sizes *s = &w->config.sizes;
	int ret;

	if (read_size(w, root, "num_mel_bins", 1, &w->config.mels) ||
	    read_size(w, root, "max_source_positions", 1, &w->config.frames) ||
	    read_size(w, root, "max_target_positions", 8, &s->positions) ||
	    read_size(w, root, "d_model", 1, &s->width))
		return BAD_MODEL;
	/* The encoder halves the number of frames. */
	w->config.frames *= 2;
	ret = read_size(w, root, "decoder_attention_heads", 1, &s->heads);
	if (!ret && s->width % s->heads)
		ret = complain(BAD_MODEL,
			       "%s: in config.json beside it, \"decoder_attention_heads\" is %u, "
			       "which does not divide \"d_model\", %u",
			       w->encoder_path, s->heads, s->width);
	return ret;
}

static int read_config(struct whisper *w)
{
	json_t *root;
	int ret = load(w, "config.json", &root);

	if (ret)
		return ret;
	if (!root)
		return complain(BAD_MODEL,
				"%s: there is no config.json beside it or in the folder above: "
				"copy that of the model there",
				w->encoder_path);
	ret = read_sizes(w, root);
	/* Old exports have no generation_config.json: config.json has the lists. */
	w->config.multilingual = json_integer_value(json_object_get(root, "vocab_size")) >= 51865;
	w->config.suppressed = json_incref(json_object_get(root, "suppress_tokens"));
	w->config.first_suppressed = json_incref(json_object_get(root, "begin_suppress_tokens"));
	json_decref(root);
	return ret;
}

/* Takes an array of the file in place of *list, if it has one. */
static void take_list(const json_t *root, const char *name, json_t **list)
{
	json_t *item = json_object_get(root, name);

	if (!item)
		return;
	json_decref(*list);
	*list = json_incref(item);
}

static int read_generation(struct whisper *w)
{
	const json_t *flag;
	json_t *root;
	int ret = load(w, "generation_config.json", &root);

	if (ret || !root)
		return ret;
	flag = json_object_get(root, "is_multilingual");
	if (json_is_boolean(flag))
		w->config.multilingual = json_is_true(flag);
	take_list(root, "suppress_tokens", &w->config.suppressed);
	take_list(root, "begin_suppress_tokens", &w->config.first_suppressed);
	json_decref(root);
	return DONE;
}

/* Checks that the spectrogram of the model is the one that mel.h has. */
static int check_features(const struct whisper *w)
{
	const struct {
		const char *name;
		uint32_t value;
	} known[] = { { "sampling_rate", MEL_RATE },
		      { "n_fft", MEL_WINDOW },
		      { "hop_length", MEL_HOP },
		      { "feature_size", w->config.mels } };
	json_t *root;
	int ret = load(w, "preprocessor_config.json", &root);

	for (size_t i = 0; !ret && i < sizeof(known) / sizeof(known[0]); i++) {
		const json_t *item = json_object_get(root, known[i].name);

		if (json_is_integer(item) && json_integer_value(item) != known[i].value)
			ret = complain(BAD_MODEL,
				       "%s: in preprocessor_config.json beside it, \"%s\" is %lld; "
				       "%u is possible",
				       w->encoder_path, known[i].name,
				       (long long)json_integer_value(item), known[i].value);
	}
	json_decref(root);
	return ret;
}

/* ---- the tokenizer */

static int read_tokenizer(struct whisper *w)
{
	struct gguf_error error;
	size_t longest = 0;

	if (tokenizer_read(w->encoder_path, &w->keys, &error) ||
	    gguf_read(&w->gguf, w->keys.data, w->keys.size, &error) ||
	    gguf_vocabulary_init(&w->vocabulary, &w->gguf, &error))
		return complain_model(w->encoder_path, &error);
	for (size_t i = 0; i < w->vocabulary.count; i++)
		if (w->vocabulary.texts[i].size > longest)
			longest = w->vocabulary.texts[i].size;
	w->piece = malloc(longest + 1);
	if (!w->piece)
		return complain_memory(w->encoder_path);
	return DONE;
}

int whisper_files_read(struct whisper *w, const char *folder)
{
	int ret = find_models(w, folder);

	if (!ret)
		ret = read_config(w);
	if (!ret)
		ret = read_generation(w);
	if (!ret)
		ret = check_features(w);
	return ret ? ret : read_tokenizer(w);
}
