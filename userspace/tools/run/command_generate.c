// SPDX-License-Identifier: MIT
/*
 * webnn-run generate: continues a text with a language model in a file of GGUF, and tells how fast.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gguf/chat.h>
#include <gguf/sample.h>
#include <gguf/session.h>
#include <gguf/vocabulary.h>

#include "../device_name.h"
#include "generated.h"
#include "subject.h"

/* Tokens of a prompt that are read at once. */
#define BLOCK 32

enum {
	KEY_TEMPERATURE = 0x100,
	KEY_TOP_K,
	KEY_TOP_P,
	KEY_MIN_P,
	KEY_SEED,
	KEY_STOP,
	KEY_CHAT,
	KEY_RAW,
	KEY_NPU_ONLY,
	KEY_CONTEXT,
};

/* The values of options. NAN, -1 and for the context 0 stand for an option that is not given. */
struct wishes {
	double temperature, top_p, min_p;
	int64_t top_k;
	uint64_t seed, max_tokens, context;
	bool seeded, chat;
};

struct generation {
	struct options options;
	struct wishes wishes;
	const char *prompt;
	char *read_prompt; /* from standard input */
	struct pairs stops;
	struct gguf gguf;
	struct gguf_vocabulary vocabulary;
	struct gguf_llama model;
	struct gguf_sampler sampler;
	struct gguf_session session;
	struct gguf_tokens tokens;
	struct target target;
	struct generated text;
	float *logits;
	char *piece; /* room for the text of any token */
	/* The result. */
	size_t prompt_count, count, evaluated;
	uint64_t load_ns, prompt_ns, ns, cycles, bytes_read, bytes_written;
	const char *end;
};

static const struct argp_option options[] = {
	{ "prompt", 'p', "TEXT", 0, "The text to go on with (default: standard input)", 1 },
	{ "max-tokens", 'n', "N", 0, "Generate at most so many tokens (default 256)", 1 },
	{ "context", KEY_CONTEXT, "N", 0,
	  "Most tokens of prompt and answer together (default: as many as the model knows)", 1 },
	{ "stop", KEY_STOP, "TEXT", 0, "End before this text; may be given several times", 1 },
	{ "raw", KEY_RAW, NULL, 0, "Go on with the prompt as it is (the default)", 1 },
	{ "chat", KEY_CHAT, NULL, 0, "Answer the prompt, by the model's template of conversations",
	  1 },
	{ NULL, 0, NULL, 0, "Choice of tokens (defaults: those of the file, else these):", 2 },
	{ "temperature", KEY_TEMPERATURE, "X", 0,
	  "How even the chances are (0.8); 0: always the likeliest token", 2 },
	{ "top-k", KEY_TOP_K, "N", 0, "Draw from so many tokens (40); 0: from all", 2 },
	{ "top-p", KEY_TOP_P, "X", 0, "Draw from the likeliest of this probability together (0.95)",
	  2 },
	{ "min-p", KEY_MIN_P, "X", 0,
	  "Draw from those with this share of the likeliest one's probability (0.05)", 2 },
	{ "seed", KEY_SEED, "N", 0, "Seed of the random numbers (default: the time)", 2 },
	{ NULL, 0, NULL, 0, "Device and result:", 3 },
	{ "device", 'd', "NAME", 0, "npu, npu:1, sim or cpu (default: as WEBNN_DEVICE says)", 3 },
	{ "threads", 't', "N", 0, "Threads of the CPU and of sim (default: one for each processor)",
	  3 },
	{ "npu-only", KEY_NPU_ONLY, NULL, 0, "Fail rather than use the CPU", 3 },
	{ "json", JSON_KEY, "FILE", 0, "Write the result as JSON; -: instead of text", 3 },
	{ 0 }
};

static double parse_share(const char *text, const char *option, struct argp_state *state)
{
	double share = parse_real(text, option, state);

	if (share < 0 || share > 1)
		argp_error(state, "%s takes a number from 0 to 1, not '%s'", option, text);
	return share;
}

static error_t parse_choice(int key, char *arg, struct argp_state *state)
{
	struct wishes *wishes = &((struct generation *)state->input)->wishes;

	switch (key) {
	case KEY_TEMPERATURE:
		wishes->temperature = parse_real(arg, "--temperature", state);
		if (wishes->temperature < 0)
			argp_error(state, "--temperature takes a number from 0 on, not '%s'", arg);
		return 0;
	case KEY_TOP_K:
		wishes->top_k = (int64_t)parse_number(arg, 0, INT32_MAX, "--top-k", state);
		return 0;
	case KEY_TOP_P:
		wishes->top_p = parse_share(arg, "--top-p", state);
		return 0;
	case KEY_MIN_P:
		wishes->min_p = parse_share(arg, "--min-p", state);
		return 0;
	case KEY_SEED:
		wishes->seed = parse_number(arg, 0, INT64_MAX, "--seed", state);
		wishes->seeded = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_device(int key, char *arg, struct argp_state *state)
{
	struct options *common = &((struct generation *)state->input)->options;

	switch (key) {
	case 'd':
		if (!device_name_is(arg))
			argp_error(state, "there is no device '%s'; there are " DEVICE_NAMES, arg);
		common->device = arg;
		return 0;
	case 't':
		common->threads = (uint32_t)parse_number(arg, 1, 1024, "--threads", state);
		return 0;
	case KEY_NPU_ONLY:
		common->npu_only = true;
		return 0;
	case JSON_KEY:
		common->json = arg;
		return 0;
	default:
		return parse_choice(key, arg, state);
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct generation *g = state->input;

	switch (key) {
	case 'p':
		g->prompt = arg;
		return 0;
	case 'n':
		g->wishes.max_tokens = parse_number(arg, 1, INT32_MAX, "--max-tokens", state);
		return 0;
	case KEY_CONTEXT:
		g->wishes.context = parse_number(arg, 2, INT32_MAX, "--context", state);
		return 0;
	case KEY_STOP:
		if (!*arg)
			argp_error(state, "--stop takes a text that is not empty");
		pairs_add(&g->stops, "", false, "--stop", state);
		g->stops.items[g->stops.count - 1].text = arg;
		return 0;
	case KEY_CHAT:
	case KEY_RAW:
		g->wishes.chat = key == KEY_CHAT;
		return 0;
	case ARGP_KEY_ARG:
		if (g->options.model)
			argp_error(state, "only one model can be given; '%s' is a second one", arg);
		g->options.model = arg;
		return 0;
	case ARGP_KEY_END:
		if (!g->options.model)
			argp_error(state, "a model is needed: give its file");
		return 0;
	default:
		return parse_device(key, arg, state);
	}
}

/* ---- the prompt */

static int fail_model(const struct generation *g, const struct gguf_error *error)
{
	return complain(BAD_MODEL, "%s: %s", g->options.model, error->text);
}

static int read_prompt(struct generation *g, struct gguf_text *text)
{
	size_t room = 0, size = 0;

	if (g->prompt) {
		*text = (struct gguf_text){ g->prompt, strlen(g->prompt) };
		return DONE;
	}
	while (!feof(stdin)) {
		if (size == room) {
			char *larger = realloc(g->read_prompt, room = room ? 2 * room : 4096);

			if (!larger)
				return complain(BAD_DEVICE, "prompt: memory is exhausted");
			g->read_prompt = larger;
		}
		size += fread(g->read_prompt + size, 1, room - size, stdin);
		if (ferror(stdin))
			return complain_unread("standard input", errno);
	}
	*text = (struct gguf_text){ g->read_prompt, size };
	return DONE;
}

static int encode_prompt(struct generation *g)
{
	struct gguf_error error;
	struct gguf_text text;
	char *chat = NULL;
	int ret = read_prompt(g, &text);

	if (ret)
		return ret;
	if (g->wishes.chat) {
		size_t size;

		chat = gguf_chat(&g->gguf, text, &size, &error);
		if (!chat)
			return fail_model(g, &error);
		text = (struct gguf_text){ chat, size };
	}
	if (gguf_encode(&g->vocabulary, text, true, true, &g->tokens, &error))
		ret = complain(BAD_FILE, "prompt: %s", error.text);
	gguf_free(chat);
	if (!ret && !g->tokens.count)
		ret = complain(BAD_FILE, "the prompt is empty, and the model has no token to begin "
					 "with: give a text with --prompt");
	g->prompt_count = g->tokens.count;
	return ret;
}

/* ---- the model */

static void choose_sampling(struct generation *g)
{
	const struct wishes *wishes = &g->wishes;
	struct timespec now;

	if (!isnan(wishes->temperature))
		g->sampler.temperature = wishes->temperature;
	if (!isnan(wishes->top_p))
		g->sampler.top_p = wishes->top_p;
	if (!isnan(wishes->min_p))
		g->sampler.min_p = wishes->min_p;
	if (wishes->top_k >= 0)
		g->sampler.top_k = (uint32_t)wishes->top_k;
	if (!wishes->seeded) {
		clock_gettime(CLOCK_REALTIME, &now);
		g->wishes.seed = (uint64_t)now.tv_sec ^ (uint64_t)now.tv_nsec << 20;
	}
	g->sampler.state = g->wishes.seed;
}

static int load(struct generation *g)
{
	struct gguf_error error;
	size_t longest = 0;

	if (gguf_open(&g->gguf, g->options.model, &error) ||
	    gguf_vocabulary_init(&g->vocabulary, &g->gguf, &error) ||
	    gguf_llama_init(&g->model, &g->gguf, &error) ||
	    gguf_sampler_init(&g->sampler, &g->gguf, &error))
		return fail_model(g, &error);
	if (g->vocabulary.count > g->model.vocabulary)
		return complain(BAD_MODEL, "%s: its tokenizer has %zu tokens, its model only %u",
				g->options.model, g->vocabulary.count, g->model.vocabulary);
	choose_sampling(g);
	for (size_t i = 0; i < g->vocabulary.count; i++)
		if (g->vocabulary.texts[i].size > longest)
			longest = g->vocabulary.texts[i].size;
	g->piece = malloc(longest + 1);
	g->logits = calloc(g->model.vocabulary, sizeof(*g->logits));
	if (!g->piece || !g->logits)
		return complain(BAD_DEVICE, "%s: memory is exhausted", g->options.model);
	return DONE;
}

/* Opens the device, with caches for the prompt and the answer. */
static int open_session(struct generation *g)
{
	uint64_t most = g->wishes.context ? g->wishes.context : g->model.context;
	uint64_t length = g->prompt_count + g->wishes.max_tokens;
	struct gguf_error error;
	int ret;

	if (g->prompt_count >= most)
		return complain(BAD_FILE,
				"the prompt has %zu tokens, which leaves no room for an answer: at "
				"most %" PRIu64 " are possible together",
				g->prompt_count, most);
	ret = target_open(&g->target, &g->options, g->options.device);
	if (ret)
		return ret;
	if (gguf_session_open(&g->session, &g->model, g->target.context,
			      (uint32_t)(length < most ? length : most),
			      (uint32_t)(g->prompt_count < BLOCK ? g->prompt_count : BLOCK),
			      &error))
		return fail_model(g, &error);
	/* The caches are whole blocks, which may have room for more than was asked for. */
	if (g->wishes.max_tokens > most - g->prompt_count)
		g->wishes.max_tokens = most - g->prompt_count;
	return DONE;
}

/* ---- the answer */

/* Computes the logits after the last tokens, and adds the time. */
static int feed(struct generation *g, const uint32_t *tokens, size_t count, uint64_t *ns)
{
	WNNGraphStatistics statistics = WNN_GRAPH_STATISTICS_INIT;
	uint64_t begin = nanoseconds();
	struct gguf_error error;

	if (gguf_session_feed(&g->session, tokens, count, g->logits, &error))
		return complain(BAD_DEVICE, "%s: %s", g->options.model, error.text);
	*ns += nanoseconds() - begin;
	if (tokens == g->tokens.items)
		return DONE;
	g->evaluated++;
	if (wnnGraphGetLastStatistics(g->session.one.graph, &statistics) == WNNStatus_Success) {
		g->cycles += statistics.npuCycles;
		g->bytes_read += statistics.bytesRead;
		g->bytes_written += statistics.bytesWritten;
	}
	return DONE;
}

/* Adds a token's text. Returns DONE or an exit code; g->end says whether the answer ends. */
static int take(struct generation *g, uint32_t token)
{
	size_t size;

	if (token < g->vocabulary.count && g->vocabulary.ends[token]) {
		g->end = "end";
		return DONE;
	}
	g->count++;
	if (g->count == g->wishes.max_tokens)
		g->end = "length";
	/* Some models have more rows than the tokenizer has tokens, to make a rounder number. */
	if (token >= g->vocabulary.count)
		return DONE;
	size = gguf_piece(&g->vocabulary, token, false, g->piece);
	if (generated_add(&g->text, g->piece, size, &g->stops))
		return complain(BAD_DEVICE, "answer: memory is exhausted");
	if (g->text.stopped)
		g->end = "stop";
	if (text_wanted(&g->options))
		generated_print(&g->text, g->end != NULL, &g->stops);
	return ferror(stdout) ? complain_unwritten("standard output", errno) : DONE;
}

static int generate(struct generation *g)
{
	int ret = feed(g, g->tokens.items, g->tokens.count, &g->prompt_ns);
	struct gguf_error error;

	while (!ret && !g->end) {
		uint32_t token;

		if (gguf_sample(&g->sampler, g->logits, g->model.vocabulary, &token, &error))
			return complain(BAD_DEVICE, "%s: %s", g->options.model, error.text);
		ret = take(g, token);
		if (!ret && !g->end)
			ret = feed(g, &token, 1, &g->ns);
	}
	if (!ret && text_wanted(&g->options)) {
		generated_print(&g->text, true, &g->stops);
		putchar('\n');
	}
	if (!ret && (fflush(stdout) || ferror(stdout)))
		ret = complain_unwritten("standard output", errno);
	return ret;
}

/* ---- the report */

static double rate(size_t count, uint64_t ns)
{
	return ns ? (double)count * 1e9 / (double)ns : 0;
}

static void print_report(const struct generation *g, const WNNGraphPlacement *placement)
{
	fprintf(stderr,
		"%s on %s: prompt of %zu token%s, %.1f a second; %zu generated, %.1f a second",
		g->options.model, g->target.device_name, g->prompt_count,
		g->prompt_count == 1 ? "" : "s", rate(g->prompt_count, g->prompt_ns), g->count,
		rate(g->evaluated, g->ns));
	if (g->cycles)
		fprintf(stderr, ", %" PRIu64 " cycles of the NPU each", g->cycles / g->evaluated);
	fprintf(stderr,
		"\nfor one token %zu operators on the NPU, %zu on the CPU; loaded and built in "
		"%.3f s\n",
		placement->npuCount, placement->cpuCount, (double)g->load_ns / 1e9);
	if (g->sampler.temperature > 0 && !g->wishes.seeded)
		fprintf(stderr, "to get this text again: --seed %" PRIu64 "\n", g->wishes.seed);
}

/* Adds an item with the mean of a number over the tokens that were evaluated. */
static void add_mean(json_t *root, const char *name, uint64_t sum, size_t count)
{
	json_object_set_new(root, name, json_integer((json_int_t)(sum / count)));
}

static json_t *to_json(const struct generation *g, const WNNGraphPlacement *placement)
{
	json_t *tokens = json_array(), *root;

	for (size_t i = 0; i < g->prompt_count; i++)
		json_array_append_new(tokens, json_integer(g->tokens.items[i]));
	root = json_pack(
		"{s:s, s:s, s:o, s:o, s:s, s:I, s:I, s:I, s:f, s:f, s:f, s:I, s:I}", "model",
		g->options.model, "device", g->target.device_name, "prompt_tokens", tokens, "text",
		json_text(WNN_VALUE(WNNStringView,
				    { g->text.data ? g->text.data : "", g->text.size })),
		"end", g->end, "tokens", (json_int_t)g->count, "seed", (json_int_t)g->wishes.seed,
		"length", (json_int_t)g->session.length, "load_ms", (double)g->load_ns / 1e6,
		"prompt_per_second", rate(g->prompt_count, g->prompt_ns), "per_second",
		rate(g->evaluated, g->ns), "npu_operators", (json_int_t)placement->npuCount,
		"cpu_operators", (json_int_t)placement->cpuCount);
	if (root && g->cycles) {
		add_mean(root, "cycles_per_token", g->cycles, g->evaluated);
		add_mean(root, "bytes_read_per_token", g->bytes_read, g->evaluated);
		add_mean(root, "bytes_written_per_token", g->bytes_written, g->evaluated);
	}
	return root;
}

static int report(const struct generation *g)
{
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;

	wnnGraphGetPlacement(g->session.one.graph, &placement);
	if (text_wanted(&g->options))
		print_report(g, &placement);
	return g->options.json ? write_json(&g->options, to_json(g, &placement)) : DONE;
}

int command_generate(int argc, char **argv)
{
	static const struct argp argp = {
		options,      parse,
		"MODEL.gguf", "Continues a text, or answers it, with a language model.",
		NULL,	      NULL,
		NULL
	};
	struct generation g = { .wishes = { .temperature = NAN,
					    .top_p = NAN,
					    .min_p = NAN,
					    .top_k = -1,
					    .max_tokens = 256 } };
	uint64_t begin;
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &g);
	begin = nanoseconds();
	ret = load(&g);
	if (!ret)
		ret = encode_prompt(&g);
	if (!ret)
		ret = open_session(&g);
	g.load_ns = nanoseconds() - begin;
	if (!ret)
		ret = generate(&g);
	if (!ret)
		ret = report(&g);
	gguf_session_close(&g.session);
	target_close(&g.target);
	gguf_sampler_exit(&g.sampler);
	gguf_llama_exit(&g.model);
	gguf_vocabulary_exit(&g.vocabulary);
	gguf_tokens_free(&g.tokens);
	gguf_close(&g.gguf);
	pairs_free(&g.stops);
	options_free(&g.options);
	free(g.text.data);
	free(g.read_prompt);
	free(g.logits);
	free(g.piece);
	return ret;
}
