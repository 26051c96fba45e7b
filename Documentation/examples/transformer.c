// SPDX-License-Identifier: MIT
/*
 * Runs one layer of a transformer that generates words: attention over all words so far. The keys
 * and values of words are kept, so that each new word costs one step and not the whole text again.
 *
 *	cc transformer.c $(pkg-config --cflags --libs webnn-npu) -lm -o transformer
 *	./transformer --prompt 8 --words 16
 *
 * Shapes of graphs are fixed, and a cache grows. So the cache has room for all words from the
 * beginning. The position of a word is an input, and later positions get no attention. Two graphs
 * share weights and cache: one takes the whole prompt, the other one a word at a time. The cache
 * never leaves the device: each graph reads one pair of tensors and writes the other pair.
 *
 * The weights are pseudo-random, and what the layer makes of a word stands for the next word.
 */
#include <argp.h>
#include <err.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <webnn/webnn_npu.h>

#define WIDTH  64 /* numbers of a word */
#define HEADS  4
#define SIZE   (WIDTH / HEADS)
#define HIDDEN 256
#define ROOM   64 /* words in the cache */

struct options {
	const char *device;
	uint32_t prompt, words;
	bool all;
};

/* The weights of the layer, as constants that several graphs use. */
struct weights {
	WNNTensor query, key, value, out, up, down;
};

/* A graph that takes some words at once, and the tensors of its own. */
struct layer {
	uint32_t words;
	WNNGraph graph;
	WNNTensor in, position, out;
};

struct model {
	WNNContext context;
	struct weights weights;
	WNNTensor keys[2], values[2];
	unsigned int turn; /* which of the two are read */
};

static void check(WNNStatus status)
{
	WNNError error = WNN_ERROR_INIT;

	if (status == WNNStatus_Success)
		return;
	wnnGetLastError(&error);
	errx(1, "%.*s", (int)error.message.length, error.message.data);
}

/* ---- options */

static const struct argp_option argp_options[] = {
	{ "all", 'a', NULL, 0, "Print all numbers of a word, not only the first four", 0 },
	{ "device", 'd', "NAME", 0, "npu, npu:1, sim or cpu (default: as WEBNN_DEVICE says)", 0 },
	{ "prompt", 'p', "N", 0, "Words that are there at the beginning (default: 8)", 0 },
	{ "words", 'w', "N", 0, "Words that are generated (default: 16)", 0 },
	{ 0 }
};

static uint32_t parse_count(const char *text, struct argp_state *state)
{
	const long count = strtol(text, NULL, 10);

	if (count < 1 || count > ROOM)
		argp_error(state, "\"%s\" is not from 1 to %d", text, ROOM);
	return (uint32_t)count;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'a':
		o->all = true;
		return 0;
	case 'd':
		o->device = value;
		return 0;
	case 'p':
		o->prompt = parse_count(value, state);
		return 0;
	case 'w':
		o->words = parse_count(value, state);
		return 0;
	case ARGP_KEY_ARG:
		argp_usage(state);
		return 0;
	case ARGP_KEY_END:
		/* The last generated word is printed, but does not go into the cache. */
		if (o->prompt + o->words - 1 > ROOM)
			argp_error(state, "there is room for %d words only", ROOM);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- numbers */

/* Returns number @index of the pseudo-random series @series, from -1 to 1. */
static float pseudo_random(uint32_t series, uint32_t index)
{
	uint32_t x = (series + 1) * 0x9e3779b1u + index;

	x = (x ^ x >> 16) * 0x7feb352du;
	x = (x ^ x >> 15) * 0x846ca68bu;
	x ^= x >> 16;
	return (float)(x >> 8) / 8388608.0f - 1;
}

static WNNContext open_device(WNNInstance instance, const char *name)
{
	WNNContextDeviceOptions device = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNContext context;

	if (name)
		device.device = WNN_STR(name);
	options.nextInChain = &device.chain;
	check(wnnInstanceCreateContextSync(instance, &options, WNN_WAIT_FOREVER, &context));
	return context;
}

static WNNTensor make_tensor(WNNContext context, WNNOperandDataType type, WNNUint32Array shape)
{
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensor tensor;

	descriptor.dataType = type;
	descriptor.shape = shape;
	descriptor.readable = descriptor.writable = WNN_TRUE;
	check(wnnContextCreateTensorSync(context, &descriptor, WNN_WAIT_FOREVER, &tensor));
	return tensor;
}

static WNNTensor make_weights(WNNContext context, uint32_t series, uint32_t rows, uint32_t columns)
{
	static float data[WIDTH * HIDDEN];
	const size_t count = (size_t)rows * columns;
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	WNNTensor tensor;

	for (uint32_t i = 0; i < count; i++)
		data[i] = pseudo_random(series, i) / sqrtf((float)rows);
	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = WNN_UINT32_LIST(rows, columns);
	check(wnnContextCreateConstantTensorSync(context, &descriptor, data, count * sizeof(*data),
						 WNN_WAIT_FOREVER, &tensor));
	return tensor;
}

/* ---- the layer */

static WNNOperand add_input(WNNGraphBuilder b, const char *name, WNNOperandDataType type,
			    WNNUint32Array shape)
{
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;

	descriptor.dataType = type;
	descriptor.shape = shape;
	return wnnGraphBuilderInput(b, WNN_STR(name), &descriptor);
}

static WNNOperand number(WNNGraphBuilder b, double value)
{
	return wnnGraphBuilderConstantFromNumber(b, WNNOperandDataType_Float32,
						 WNN_NUMBER_DOUBLE(value));
}

static WNNOperand multiply(WNNGraphBuilder b, WNNOperand x, WNNTensor weights)
{
	return wnnGraphBuilderMatmul(b, x, wnnGraphBuilderConstantFromTensor(b, weights), NULL);
}

static WNNOperand normalise(WNNGraphBuilder b, WNNOperand x)
{
	WNNLayerNormalizationOptions options = WNN_LAYER_NORMALIZATION_OPTIONS_INIT;

	options.axes = WNN_UINT32_LIST(1);
	return wnnGraphBuilderLayerNormalization(b, x, &options);
}

static WNNOperand permute(WNNGraphBuilder b, WNNOperand x, uint32_t first, uint32_t second,
			  uint32_t third)
{
	WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;

	options.permutation = WNN_UINT32_LIST(first, second, third);
	return wnnGraphBuilderTranspose(b, x, &options);
}

/* Returns x of shape [words, WIDTH], reshaped to [words, HEADS, SIZE]. */
static WNNOperand split(WNNGraphBuilder b, WNNOperand x, uint32_t words)
{
	return wnnGraphBuilderReshape(b, x, WNN_UINT32_LIST(words, HEADS, SIZE), NULL);
}

/* Returns the cache, [ROOM, HEADS, SIZE], with the rows of the new words at their positions. */
static WNNOperand remember(WNNGraphBuilder b, const char *name, WNNOperand position,
			   WNNOperand rows)
{
	WNNOperand cache =
		add_input(b, name, WNNOperandDataType_Float32, WNN_UINT32_LIST(ROOM, HEADS, SIZE));

	return wnnGraphBuilderScatterND(b, cache, position, rows, NULL);
}

/* Returns [words, ROOM]: whether a word may look at a position, its own or one before it. */
static WNNOperand allowed(WNNGraphBuilder b, WNNOperand position)
{
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	int32_t places[ROOM];

	for (int32_t i = 0; i < ROOM; i++)
		places[i] = i;
	descriptor.dataType = WNNOperandDataType_Int32;
	descriptor.shape = WNN_UINT32_LIST(1, ROOM);
	return wnnGraphBuilderLesserOrEqual(
		b, wnnGraphBuilderConstant(b, &descriptor, places, sizeof(places)), position, NULL);
}

/* Returns softmax(query * keys / sqrt(SIZE)) * values for each head, as [words, WIDTH]. */
static WNNOperand attend(WNNGraphBuilder b, WNNOperand query, WNNOperand keys, WNNOperand values,
			 WNNOperand position, uint32_t words)
{
	WNNOperand scores, x;

	scores = wnnGraphBuilderMatmul(b, permute(b, split(b, query, words), 1, 0, 2),
				       permute(b, keys, 1, 2, 0), NULL);
	scores = wnnGraphBuilderMul(b, scores, number(b, 1 / sqrt(SIZE)), NULL);
	scores = wnnGraphBuilderWhere(b, allowed(b, position), scores, number(b, -1e9), NULL);
	x = wnnGraphBuilderMatmul(b, wnnGraphBuilderSoftmax(b, scores, 2, NULL),
				  permute(b, values, 1, 0, 2), NULL);
	return wnnGraphBuilderReshape(b, permute(b, x, 1, 0, 2), WNN_UINT32_LIST(words, WIDTH),
				      NULL);
}

static WNNGraph build(const struct model *m, uint32_t words)
{
	const struct weights *w = &m->weights;
	WNNNamedOperand out[] = { { WNN_STR("out"), NULL },
				  { WNN_STR("new keys"), NULL },
				  { WNN_STR("new values"), NULL } };
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(m->context);
	WNNOperand x =
		add_input(b, "in", WNNOperandDataType_Float32, WNN_UINT32_LIST(words, WIDTH));
	WNNOperand position =
		add_input(b, "position", WNNOperandDataType_Int32, WNN_UINT32_LIST(words, 1));
	WNNOperand normal = normalise(b, x), y;
	WNNGraph graph;

	out[1].operand =
		remember(b, "keys", position, split(b, multiply(b, normal, w->key), words));
	out[2].operand =
		remember(b, "values", position, split(b, multiply(b, normal, w->value), words));
	y = attend(b, multiply(b, normal, w->query), out[1].operand, out[2].operand, position,
		   words);
	x = wnnGraphBuilderAdd(b, x, multiply(b, y, w->out), NULL);
	y = wnnGraphBuilderGelu(b, multiply(b, normalise(b, x), w->up), NULL);
	out[0].operand = wnnGraphBuilderAdd(b, x, multiply(b, y, w->down), NULL);
	check(wnnGraphBuilderBuildSync(b, 3, out, WNN_WAIT_FOREVER, &graph));
	wnnGraphBuilderRelease(b);
	return graph;
}

static void model_open(struct model *m, WNNContext context)
{
	static const float zeros[ROOM * HEADS * SIZE];

	*m = (struct model){ .context = context };
	m->weights = (struct weights){
		.query = make_weights(context, 0, WIDTH, WIDTH),
		.key = make_weights(context, 1, WIDTH, WIDTH),
		.value = make_weights(context, 2, WIDTH, WIDTH),
		.out = make_weights(context, 3, WIDTH, WIDTH),
		.up = make_weights(context, 4, WIDTH, HIDDEN),
		.down = make_weights(context, 5, HIDDEN, WIDTH),
	};
	for (int i = 0; i < 2; i++) {
		const WNNUint32Array shape = WNN_UINT32_LIST(ROOM, HEADS, SIZE);

		m->keys[i] = make_tensor(context, WNNOperandDataType_Float32, shape);
		m->values[i] = make_tensor(context, WNNOperandDataType_Float32, shape);
	}
	/* Positions without attention must have finite numbers: 0 times infinity is NaN. */
	check(wnnContextWriteTensor(context, m->keys[0], zeros, sizeof(zeros)));
	check(wnnContextWriteTensor(context, m->values[0], zeros, sizeof(zeros)));
}

static void model_close(struct model *m)
{
	const struct weights *w = &m->weights;

	for (int i = 0; i < 2; i++) {
		wnnTensorRelease(m->keys[i]);
		wnnTensorRelease(m->values[i]);
	}
	wnnTensorRelease(w->query);
	wnnTensorRelease(w->key);
	wnnTensorRelease(w->value);
	wnnTensorRelease(w->out);
	wnnTensorRelease(w->up);
	wnnTensorRelease(w->down);
}

static void layer_open(struct layer *l, const struct model *m, uint32_t words)
{
	l->words = words;
	l->graph = build(m, words);
	l->in = make_tensor(m->context, WNNOperandDataType_Float32, WNN_UINT32_LIST(words, WIDTH));
	l->position = make_tensor(m->context, WNNOperandDataType_Int32, WNN_UINT32_LIST(words, 1));
	l->out = make_tensor(m->context, WNNOperandDataType_Float32, WNN_UINT32_LIST(words, WIDTH));
}

static void layer_close(struct layer *l)
{
	wnnTensorRelease(l->in);
	wnnTensorRelease(l->position);
	wnnTensorRelease(l->out);
	wnnGraphRelease(l->graph);
}

/* Runs the layer on its words, which get the positions in the cache from @first on. */
static void layer_run(const struct layer *l, struct model *m, const float *in, uint32_t first,
		      float *out)
{
	const size_t bytes = l->words * WIDTH * sizeof(*in);
	const unsigned int from = m->turn, to = !m->turn;
	const WNNNamedTensor inputs[] = { { WNN_STR("in"), l->in },
					  { WNN_STR("position"), l->position },
					  { WNN_STR("keys"), m->keys[from] },
					  { WNN_STR("values"), m->values[from] } };
	const WNNNamedTensor outputs[] = { { WNN_STR("out"), l->out },
					   { WNN_STR("new keys"), m->keys[to] },
					   { WNN_STR("new values"), m->values[to] } };
	int32_t position[ROOM];

	for (uint32_t i = 0; i < l->words; i++)
		position[i] = (int32_t)(first + i);
	check(wnnContextWriteTensor(m->context, l->in, in, bytes));
	check(wnnContextWriteTensor(m->context, l->position, position,
				    l->words * sizeof(*position)));
	check(wnnContextDispatch(m->context, l->graph, 4, inputs, 3, outputs));
	check(wnnContextReadTensorIntoSync(m->context, l->out, out, bytes, WNN_WAIT_FOREVER));
	m->turn = to;
}

static void print_word(const float *word, bool all)
{
	const int count = all ? WIDTH : 4;

	for (int i = 0; i < count; i++)
		printf("%.7g%s", (double)word[i], i + 1 < count ? " " : all ? "\n" : " ...\n");
}

static void generate(struct model *m, const struct options *o)
{
	static float words[ROOM * WIDTH];
	struct layer prompt, step;
	float *word;

	for (uint32_t i = 0; i < o->prompt * WIDTH; i++)
		words[i] = pseudo_random(6, i);
	layer_open(&prompt, m, o->prompt);
	layer_open(&step, m, 1);
	layer_run(&prompt, m, words, 0, words);
	word = words + (size_t)(o->prompt - 1) * WIDTH;
	print_word(word, o->all);
	for (uint32_t i = 1; i < o->words; i++) {
		layer_run(&step, m, word, o->prompt + i - 1, word);
		print_word(word, o->all);
	}
	layer_close(&prompt);
	layer_close(&step);
}

int main(int argc, char **argv)
{
	const struct argp argp = {
		argp_options,
		parse_option,
		NULL,
		"Prints the words that one layer of a transformer makes of a prompt, as the "
		"numbers that stand for them.",
		NULL,
		NULL,
		NULL
	};
	struct options options = { .prompt = 8, .words = 16 };
	WNNInstance instance = wnnCreateInstance(NULL);
	struct model model;

	argp_parse(&argp, argc, argv, 0, NULL, &options);
	model_open(&model, open_device(instance, options.device));
	generate(&model, &options);
	model_close(&model);
	wnnContextRelease(model.context);
	wnnInstanceRelease(instance);
	return 0;
}
