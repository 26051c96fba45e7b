// SPDX-License-Identifier: MIT
/*
 * webnn-run generate: continues a text with a language model of GGUF or ONNX, and tells how fast.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gguf/chat.h>

#include "../device_name.h"
#include "model_file.h"
#include "server.h"

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
	KEY_SERVER,
	KEY_HOST,
	KEY_PORT,
	KEY_SLOTS,
	KEY_QUEUE,
	KEY_PAST,
	KEY_PRESENT,
};

/* The default of --context for a server, in tokens. Longer caches take longer for each token. */
#define SERVER_CONTEXT 2048

/* The values of options. For the context, 0 stands for an option that is not given. */
struct wishes {
	struct gguf_sampling sampling;
	uint64_t seed, max_tokens, context;
	bool seeded, chat;
};

struct generation {
	struct options options;
	struct wishes wishes;
	struct server_options server;
	bool serve;
	/*
	 * The last option that was given of those that need --server, and of those that exclude it;
	 * NULL: none was given.
	 */
	const char *for_server, *not_for_server;
	const char *prompt;
	struct bytes read_prompt; /* from standard input */
	struct pairs stops;
	struct language_names names;
	struct language language;
	struct gguf_caches caches;
	struct answer answer;
	uint64_t load_ns;
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
	{ "past", KEY_PAST, "TEXT", 0,
	  "Inputs of a model of ONNX that begin with this are caches (past_key_values.)", 1 },
	{ "present", KEY_PRESENT, "TEXT", 0,
	  "Outputs of a model of ONNX that begin with this are the extended caches (present.)", 1 },
	{ NULL, 0, NULL, 0, "Choice of tokens (defaults: those of the file, else these):", 2 },
	{ "temperature", KEY_TEMPERATURE, "X", 0,
	  "Randomness of the text (0.8); 0: always the likeliest token", 2 },
	{ "top-k", KEY_TOP_K, "N", 0, "Draw from the N likeliest tokens (40); 0: from all", 2 },
	{ "top-p", KEY_TOP_P, "X", 0,
	  "Draw from the likeliest tokens that together have this "
	  "probability (0.95)",
	  2 },
	{ "min-p", KEY_MIN_P, "X", 0,
	  "Draw from tokens with at least this share of the likeliest one's probability "
	  "(0.05)",
	  2 },
	{ "seed", KEY_SEED, "N", 0, "Seed of the random numbers (default: the time)", 2 },
	{ NULL, 0, NULL, 0, "In place of a prompt:", 3 },
	{ "server", KEY_SERVER, NULL, 0,
	  "Take requests by HTTP, in the form of OpenAI's interface, until interrupted", 3 },
	{ "host", KEY_HOST, "ADDRESS", 0, "Listen on this address (default 127.0.0.1)", 3 },
	{ "port", KEY_PORT, "N", 0, "Listen on this port (default 8080); 0: any that is free", 3 },
	{ "slots", KEY_SLOTS, "N", 0, "Answer so many requests at once (default 4)", 3 },
	{ "queue", KEY_QUEUE, "N", 0, "Let so many more requests wait (default 32)", 3 },
	{ NULL, 0, NULL, 0, "Device and result:", 4 },
	{ "device", 'd', "NAME", 0, "npu, npu:1, sim or cpu (default: as WEBNN_DEVICE says)", 4 },
	{ "threads", 't', "N", 0, "Threads of the CPU and of sim (default: one for each processor)",
	  4 },
	{ "npu-only", KEY_NPU_ONLY, NULL, 0, "Fail rather than use the CPU", 4 },
	{ "json", JSON_KEY, "FILE", 0, "Write the result as JSON; -: instead of text", 4 },
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
		wishes->sampling.temperature = parse_real(arg, "--temperature", state);
		if (wishes->sampling.temperature < 0)
			argp_error(state, "--temperature takes a number from 0 on, not '%s'", arg);
		return 0;
	case KEY_TOP_K:
		wishes->sampling.top_k = (int64_t)parse_number(arg, 0, INT32_MAX, "--top-k", state);
		return 0;
	case KEY_TOP_P:
		wishes->sampling.top_p = parse_share(arg, "--top-p", state);
		return 0;
	case KEY_MIN_P:
		wishes->sampling.min_p = parse_share(arg, "--min-p", state);
		return 0;
	case KEY_SEED:
		wishes->seed = parse_number(arg, 0, INT64_MAX, "--seed", state);
		wishes->seeded = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_server(int key, char *arg, struct argp_state *state)
{
	struct generation *g = state->input;
	struct server_options *server = &g->server;

	switch (key) {
	case KEY_SERVER:
		g->serve = true;
		return 0;
	case KEY_HOST:
		server->host = arg;
		g->for_server = "--host";
		return 0;
	case KEY_PORT:
		server->port = (uint16_t)parse_number(arg, 0, UINT16_MAX, "--port", state);
		g->for_server = "--port";
		return 0;
	case KEY_SLOTS:
		server->slots = parse_number(arg, 1, 256, "--slots", state);
		g->for_server = "--slots";
		return 0;
	case KEY_QUEUE:
		server->queue = parse_number(arg, 0, 4096, "--queue", state);
		g->for_server = "--queue";
		return 0;
	default:
		return parse_choice(key, arg, state);
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
	default:
		return parse_server(key, arg, state);
	}
}

/*
 * Parses options that a server lacks, because each request tells them itself or has a reply in JSON
 * anyway, and notes that one was given; passes all other options to parse_device().
 */
static error_t parse_request(int key, char *arg, struct argp_state *state)
{
	struct generation *g = state->input;

	switch (key) {
	case 'p':
		g->prompt = arg;
		g->not_for_server = "--prompt";
		return 0;
	case KEY_STOP:
		if (!*arg)
			argp_error(state, "--stop takes a text that is not empty");
		pairs_add(&g->stops, "", false, "--stop", state);
		g->stops.items[g->stops.count - 1].text = arg;
		g->not_for_server = "--stop";
		return 0;
	case KEY_CHAT:
	case KEY_RAW:
		g->wishes.chat = key == KEY_CHAT;
		g->not_for_server = g->wishes.chat ? "--chat" : "--raw";
		return 0;
	case JSON_KEY:
		g->options.json = arg;
		g->not_for_server = "--json";
		return 0;
	default:
		return parse_device(key, arg, state);
	}
}

static void check_options(const struct generation *g, struct argp_state *state)
{
	if (!g->options.model)
		argp_error(state, "a model is needed: give its file");
	if (g->serve && g->not_for_server)
		argp_error(state, "%s is not for --server: requests say what they want",
			   g->not_for_server);
	if (!g->serve && g->for_server)
		argp_error(state, "%s is for --server, which is not given", g->for_server);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct generation *g = state->input;

	switch (key) {
	case 'n':
		g->wishes.max_tokens = parse_number(arg, 1, INT32_MAX, "--max-tokens", state);
		return 0;
	case KEY_CONTEXT:
		g->wishes.context = parse_number(arg, 2, INT32_MAX, "--context", state);
		return 0;
	case KEY_PAST:
		g->names.past = arg;
		return 0;
	case KEY_PRESENT:
		g->names.present = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (g->options.model)
			argp_error(state, "only one model can be given; '%s' is a second one", arg);
		g->options.model = arg;
		return 0;
	case ARGP_KEY_END:
		check_options(g, state);
		return 0;
	default:
		return parse_request(key, arg, state);
	}
}

/* ---- the prompt */

static int read_prompt(struct generation *g, struct gguf_text *text)
{
	struct bytes *bytes = &g->read_prompt;
	char part[4096];

	if (g->prompt) {
		*text = (struct gguf_text){ g->prompt, strlen(g->prompt) };
		return DONE;
	}
	while (!feof(stdin)) {
		size_t size = fread(part, 1, sizeof(part), stdin);

		if (ferror(stdin))
			return complain_unread("standard input", errno);
		if (bytes_add(bytes, part, size))
			return complain(
				BAD_DEVICE,
				"too little memory is free for the prompt: give a shorter one");
	}
	*text = (struct gguf_text){ bytes->data ? bytes->data : "", bytes->size };
	return DONE;
}

static int encode_prompt(struct generation *g)
{
	struct language *l = &g->language;
	struct gguf_error error;
	struct gguf_text text;
	char *chat = NULL;
	int ret = read_prompt(g, &text);

	if (ret)
		return ret;
	if (g->wishes.chat) {
		const struct gguf_message message = { GGUF_USER, text };
		size_t size;

		chat = gguf_chat(&l->gguf, &message, 1, &size, &error);
		if (!chat && error.machine)
			return complain_model(l->path, &error);
		if (!chat)
			return complain(BAD_MODEL, "%s: %s: use --raw", l->path, error.text);
		text = (struct gguf_text){ chat, size };
	}
	if (gguf_encode(&l->vocabulary, text, true, true, &g->answer.tokens, &error))
		ret = complain(error.machine ? BAD_DEVICE : BAD_FILE, "prompt: %s", error.text);
	gguf_free(chat);
	if (!ret && !g->answer.tokens.count)
		ret = complain(BAD_FILE, "the prompt is empty, and the model has no token to begin "
					 "with: give a text with --prompt");
	return ret;
}

/* ---- the model */

/* Sets how tokens are drawn: as the options say, and where they say nothing, as the file does. */
static void choose_sampling(struct generation *g)
{
	struct gguf_sampler *sampler = &g->language.sampler;

	gguf_sampler_set(sampler, &g->wishes.sampling);
	if (!g->wishes.seeded)
		g->wishes.seed = language_seed();
	sampler->state = g->wishes.seed;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * Builds the graphs, with caches for the prompt and the answer. With --context the sizes do not
 * depend on the prompt, and are those of a server with the same --context: both compute the same
 * numbers. Returns DONE, or the exit status after a message.
 */
static int build(struct generation *g)
{
	uint64_t given = g->wishes.context, count = g->answer.tokens.count;
	uint64_t most = given ? given : g->language.context;
	uint64_t length = given ? given : least(count + g->wishes.max_tokens, most);
	struct gguf_error error;
	int ret;

	if (count >= most)
		return complain(
			BAD_FILE,
			"the prompt has %" PRIu64 " tokens, which leaves no room for an answer: at "
			"most %" PRIu64 " are possible together; shorten it%s",
			count, most,
			language_takes_more(&g->language, most) ? ", or give a larger --context" :
								  ", as the model takes no more");
	ret = language_build(&g->language, &g->options, length,
			     least(given ? given : count, LANGUAGE_BLOCK));
	if (ret)
		return ret;
	if (language_caches_open(&g->caches, &g->language, &error))
		return complain(BAD_DEVICE, "%s: %s", g->options.model, error.text);
	g->answer.caches = &g->caches;
	g->answer.stops = &g->stops;
	g->answer.sampler = g->language.sampler;
	/* Caches for GGUF are whole blocks, so they may have room for more than was asked for. */
	g->answer.most = least(g->wishes.max_tokens, most - count);
	return DONE;
}

/* ---- the answer */

static int generate(struct generation *g)
{
	struct answer *a = &g->answer;
	struct gguf_error error;

	while (!a->end) {
		if (answer_step(a, &g->language, &error))
			return complain(BAD_DEVICE, "%s: %s", g->options.model, error.text);
		if (text_wanted(&g->options))
			generated_print(&a->text, a->end != NULL, &g->stops);
		if (ferror(stdout))
			return complain_unwritten("standard output", errno);
	}
	if (text_wanted(&g->options))
		putchar('\n');
	if (fflush(stdout) || ferror(stdout))
		return complain_unwritten("standard output", errno);
	return DONE;
}

/* ---- the report */

static double rate(size_t count, uint64_t ns)
{
	return ns ? (double)count * 1e9 / (double)ns : 0;
}

static void print_report(const struct generation *g, const WNNGraphPlacement *placement)
{
	const struct answer *a = &g->answer;

	fprintf(stderr,
		"%s on %s: prompt of %zu token%s, %.1f a second; %zu generated, %.1f a second",
		g->options.model, g->language.target.device_name, a->tokens.count,
		a->tokens.count == 1 ? "" : "s", rate(a->tokens.count, a->prompt_ns), a->count,
		rate(a->evaluated, a->ns));
	if (a->cycles)
		fprintf(stderr, ", %" PRIu64 " cycles of the NPU each", a->cycles / a->evaluated);
	fprintf(stderr,
		"\nfor one token %zu operators on the NPU, %zu on the CPU; loaded and built in "
		"%.3f s\n",
		placement->npuCount, placement->cpuCount, (double)g->load_ns / 1e9);
	if (g->language.onnx && g->language.decoder.move)
		fprintf(stderr,
			"prompts are read token by token, and caches are copied for each token, "
			"because %s\n",
			g->language.decoder.change.reason.text);
	if (a->sampler.temperature > 0 && !g->wishes.seeded)
		fprintf(stderr, "to get this text again: --seed %" PRIu64 "\n", g->wishes.seed);
}

/* Adds an item with the mean for a token: @sum over @count tokens, divided by @count. */
static void add_mean(json_t *root, const char *name, uint64_t sum, size_t count)
{
	json_object_set_new(root, name, json_integer((json_int_t)(sum / count)));
}

static json_t *to_json(const struct generation *g, const WNNGraphPlacement *placement)
{
	const struct answer *a = &g->answer;
	json_t *tokens = json_array(), *root;

	for (size_t i = 0; i < a->tokens.count; i++)
		json_array_append_new(tokens, json_integer(a->tokens.items[i]));
	root = json_pack(
		"{s:o, s:s, s:o, s:o, s:s, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:I, s:I}", "model",
		json_text(WNN_STR(g->options.model)), "device", g->language.target.device_name,
		"prompt_tokens", tokens, "text",
		json_text(WNN_VALUE(WNNStringView, { a->text.bytes.data, a->text.bytes.size })),
		"end", a->end, "tokens", (json_int_t)a->count, "seed", (json_int_t)g->wishes.seed,
		"length", (json_int_t)language_length(&g->language), "block",
		(json_int_t)language_block(&g->language), "load_ms", (double)g->load_ns / 1e6,
		"prompt_per_second", rate(a->tokens.count, a->prompt_ns), "per_second",
		rate(a->evaluated, a->ns), "npu_operators", (json_int_t)placement->npuCount,
		"cpu_operators", (json_int_t)placement->cpuCount);
	if (root && a->cycles) {
		add_mean(root, "cycles_per_token", a->cycles, a->evaluated);
		add_mean(root, "bytes_read_per_token", a->bytes_read, a->evaluated);
		add_mean(root, "bytes_written_per_token", a->bytes_written, a->evaluated);
	}
	return root;
}

static int report(const struct generation *g)
{
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;

	wnnGraphGetPlacement(language_graph(&g->language), &placement);
	if (text_wanted(&g->options))
		print_report(g, &placement);
	return g->options.json ? write_json(&g->options, to_json(g, &placement)) : DONE;
}

/* ---- the command */

static int continue_text(struct generation *g, uint64_t begin)
{
	int ret = encode_prompt(g);

	if (!ret)
		ret = build(g);
	g->load_ns = nanoseconds() - begin;
	if (!ret)
		ret = generate(g);
	return ret ? ret : report(g);
}

static int serve(struct generation *g)
{
	struct server_options *server = &g->server;
	int ret;

	server->context = g->wishes.context;
	if (!server->context)
		server->context = least(g->language.context, SERVER_CONTEXT);
	server->max_tokens = g->wishes.max_tokens;
	server->seeded = g->wishes.seeded;
	server->seed = g->wishes.seed;
	server_block_signals();
	ret = language_build(&g->language, &g->options, server->context,
			     least(server->context, LANGUAGE_BLOCK));
	return ret ? ret : server_run(&g->language, server);
}

int command_generate(int argc, char **argv)
{
	static const struct argp argp = {
		options, parse, "MODEL", "Continues a text, or answers it, with a language model.",
		NULL,	 NULL,	NULL
	};
	struct generation g = {
		.wishes = { .sampling = GGUF_SAMPLING_INIT, .max_tokens = 256 },
		.names = { .past = "past_key_values.", .present = "present." },
		.server = { .host = "127.0.0.1", .port = 8080, .slots = 4, .queue = 32 },
	};
	uint64_t begin;
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &g);
	begin = nanoseconds();
	ret = language_read(&g.language, g.options.model, &g.names);
	if (!ret) {
		choose_sampling(&g);
		ret = g.serve ? serve(&g) : continue_text(&g, begin);
	}
	answer_exit(&g.answer);
	language_caches_close(&g.caches, &g.language);
	language_close(&g.language);
	pairs_free(&g.stops);
	options_free(&g.options);
	free(g.read_prompt.data);
	return ret;
}
