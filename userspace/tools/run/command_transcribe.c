// SPDX-License-Identifier: MIT
/* webnn-run transcribe: writes down speech with a Whisper model of ONNX, and tells how fast. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../device_name.h"
#include "mel.h"
#include "transcript.h"
#include "wav.h"

enum { KEY_TRANSLATE = 0x100, KEY_NPU_ONLY };

struct transcription {
	struct options options; /* its model is a folder */
	const char *audio;
	struct whisper whisper;
	struct transcript transcript;
	struct wav wav;
	uint64_t load_ns;
};

static const struct argp_option options[] = {
	{ "language", 'l', "CODE", 0,
	  "The language that is spoken, such as en (default: as the model hears)", 1 },
	{ "translate", KEY_TRANSLATE, NULL, 0, "Write in English what is said in another language",
	  1 },
	{ "max-tokens", 'n', "N", 0,
	  "Write at most so many tokens for each part of the recording (default: as many as the "
	  "model can)",
	  1 },
	{ NULL, 0, NULL, 0, "Device and result:", 2 },
	{ "device", 'd', "NAME", 0, "npu, npu:1, sim or cpu (default: as WEBNN_DEVICE says)", 2 },
	{ "threads", 't', "N", 0, "Threads of the CPU and of sim (default: one for each processor)",
	  2 },
	{ "npu-only", KEY_NPU_ONLY, NULL, 0, "Fail rather than use the CPU", 2 },
	{ "json", JSON_KEY, "FILE", 0, "Write the result as JSON; -: instead of text", 2 },
	{ 0 }
};

static void take_argument(struct transcription *t, const char *arg, struct argp_state *state)
{
	if (t->audio)
		argp_error(state, "only one recording can be given; '%s' is a second one", arg);
	if (t->options.model)
		t->audio = arg;
	else
		t->options.model = arg;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct transcription *t = state->input;

	switch (key) {
	case 'l':
		t->transcript.language = arg;
		return 0;
	case KEY_TRANSLATE:
		t->transcript.translate = true;
		return 0;
	case 'n':
		t->transcript.most = parse_number(arg, 1, INT32_MAX, "--max-tokens", state);
		return 0;
	case 'd':
		if (!device_name_is(arg))
			argp_error(state, "there is no device '%s'; there are " DEVICE_NAMES, arg);
		t->options.device = arg;
		return 0;
	case 't':
		t->options.threads = (uint32_t)parse_number(arg, 1, 1024, "--threads", state);
		return 0;
	case KEY_NPU_ONLY:
		t->options.npu_only = true;
		return 0;
	case JSON_KEY:
		t->options.json = arg;
		return 0;
	case ARGP_KEY_ARG:
		take_argument(t, arg, state);
		return 0;
	case ARGP_KEY_END:
		if (!t->audio)
			argp_error(state, "the folder of a model and a WAV file are needed");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- the report */

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

static double rate(const struct transcript *t)
{
	return t->ns ? (double)t->fed / seconds(t->ns) : 0;
}

static void print_report(const struct transcription *t, const WNNGraphPlacement *placement)
{
	const struct transcript *text = &t->transcript;

	fprintf(stderr,
		"%s on %s: %.1f s of audio heard in %.3f s; %zu tokens, and with those of prompts "
		"%.1f a second",
		t->options.model, t->whisper.target.device_name, (double)t->wav.count / MEL_RATE,
		seconds(text->listen_ns), text->tokens, rate(text));
	if (text->cycles)
		fprintf(stderr, ", %" PRIu64 " cycles of the NPU each", text->cycles / text->fed);
	fprintf(stderr,
		"\nfor one token %zu operators on the NPU, %zu on the CPU; loaded and built in "
		"%.3f s\n",
		placement->npuCount, placement->cpuCount, seconds(t->load_ns));
}

static json_t *text_json(const struct transcript *t, size_t begin, size_t end)
{
	return json_text(WNN_VALUE(WNNStringView, { t->text.bytes.data + begin, end - begin }));
}

static json_t *part_json(const struct transcription *t, size_t index)
{
	const struct transcript *all = &t->transcript;
	const struct transcript_part *part = &all->parts[index];
	const struct gguf_vocabulary *v = &t->whisper.vocabulary;
	size_t end = index + 1 < all->part_count ? part[1].text : all->text.bytes.size;
	json_t *root = json_pack("{s:f, s:f, s:I, s:o}", "begin", (double)part->begin / MEL_RATE,
				 "end", (double)part->end / MEL_RATE, "tokens",
				 (json_int_t)part->tokens, "text", text_json(all, part->text, end));

	/* The text of a language is its code in <| and |>. */
	if (root && part->language < v->count)
		json_object_set_new(root, "language",
				    json_stringn(v->texts[part->language].data + 2,
						 v->texts[part->language].size - 4));
	return root;
}

static json_t *to_json(const struct transcription *t, const WNNGraphPlacement *placement)
{
	const struct transcript *text = &t->transcript;
	json_t *parts = json_array(), *root;

	for (size_t i = 0; i < text->part_count; i++)
		json_array_append_new(parts, part_json(t, i));
	root = json_pack("{s:o, s:s, s:o, s:f, s:o, s:o, s:I, s:f, s:f, s:f, s:I, s:I}", "model",
			 json_text(WNN_STR(t->options.model)), "device",
			 t->whisper.target.device_name, "audio", json_text(WNN_STR(t->audio)),
			 "seconds", (double)t->wav.count / MEL_RATE, "text",
			 text_json(text, 0, text->text.bytes.size), "parts", parts, "tokens",
			 (json_int_t)text->tokens, "load_ms", (double)t->load_ns / 1e6, "listen_ms",
			 (double)text->listen_ns / 1e6, "per_second", rate(text), "npu_operators",
			 (json_int_t)placement->npuCount, "cpu_operators",
			 (json_int_t)placement->cpuCount);
	if (root && text->cycles)
		json_object_set_new(root, "cycles_per_token",
				    json_integer((json_int_t)(text->cycles / text->fed)));
	return root;
}

static int report(const struct transcription *t)
{
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;

	wnnGraphGetPlacement(t->whisper.step.graph, &placement);
	if (text_wanted(&t->options))
		print_report(t, &placement);
	return t->options.json ? write_json(&t->options, to_json(t, &placement)) : DONE;
}

/* ---- the command */

static int transcribe(struct transcription *t)
{
	uint64_t begin = nanoseconds();
	int ret = wav_read(t->audio, MEL_RATE, &t->wav);

	if (!ret)
		ret = whisper_build(&t->whisper, &t->options);
	if (!ret)
		ret = transcript_begin(&t->transcript);
	t->load_ns = nanoseconds() - begin;
	if (!ret)
		ret = transcript_add(&t->transcript, t->wav.samples, t->wav.count);
	if (ret)
		return ret;
	if (text_wanted(&t->options))
		putchar('\n');
	if (fflush(stdout) || ferror(stdout))
		return complain_unwritten("standard output", errno);
	return report(t);
}

int command_transcribe(int argc, char **argv)
{
	static const struct argp argp = {
		options,
		parse,
		"FOLDER RECORDING.wav",
		"Writes down the speech of a recording with a Whisper model.",
		NULL,
		NULL,
		NULL
	};
	struct transcription t = { 0 };
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &t);
	t.transcript.stream = text_wanted(&t.options);
	t.transcript.whisper = &t.whisper;
	ret = whisper_read(&t.whisper, t.options.model);
	if (!ret)
		ret = transcribe(&t);
	transcript_exit(&t.transcript);
	whisper_close(&t.whisper);
	options_free(&t.options);
	free(t.wav.samples);
	return ret;
}
