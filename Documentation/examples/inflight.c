// SPDX-License-Identifier: MIT
/*
 * Keeps a device busy: several graphs, and several frames of a video, are in flight at any time.
 *
 *	cc inflight.c $(pkg-config --cflags --libs webnn-npu) -o inflight
 *	./inflight --frames 100 --in-flight 4
 *
 * Each frame passes through three graphs: edges from left to right and from top to bottom, how
 * strong they are, and their mean and largest strength. The program only queues work. Work on a
 * context runs in the order of the dispatches, so a graph may read what the one before it writes,
 * and nothing waits in between. A frame in flight has tensors of its own. A later frame takes them
 * over after the callback has got the result.
 */
#include <argp.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <webnn/webnn_npu.h>

#define SIDE	   96
#define PIXELS	   (SIDE * SIDE)
#define MAX_FLIGHT 16
#define MAX_FRAMES 100000

struct options {
	const char *device;
	unsigned int frames, in_flight;
};

/* The tensors of a frame in flight, and the future of its result. */
struct slot {
	struct program *program;
	unsigned int frame;
	WNNTensor picture, edges, strength, summary;
	WNNFuture done;
};

struct program {
	WNNContext context;
	WNNGraph find_edges, find_strength, summarise;
	struct slot slots[MAX_FLIGHT];
	float (*results)[2]; /* mean and largest strength of each frame */
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
	{ "device", 'd', "NAME", 0, "npu, npu:1, sim or cpu (default: as WEBNN_DEVICE says)", 0 },
	{ "frames", 'n', "N", 0, "How many there are (default: 32)", 0 },
	{ "in-flight", 'f', "N", 0, "How many are queued at a time (default: 4; 1 waits for each)",
	  0 },
	{ 0 }
};

static unsigned int parse_count(const char *text, long most, struct argp_state *state)
{
	const long count = strtol(text, NULL, 10);

	if (count < 1 || count > most)
		argp_error(state, "\"%s\" is not from 1 to %ld", text, most);
	return (unsigned int)count;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'd':
		o->device = value;
		return 0;
	case 'f':
		o->in_flight = parse_count(value, MAX_FLIGHT, state);
		return 0;
	case 'n':
		o->frames = parse_count(value, MAX_FRAMES, state);
		return 0;
	case ARGP_KEY_ARG:
		argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- graphs */

static WNNOperand add_input(WNNGraphBuilder b, const char *name, WNNUint32Array shape)
{
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;

	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = shape;
	return wnnGraphBuilderInput(b, WNN_STR(name), &descriptor);
}

/*
 * Builds and returns a graph with one output, @operand under the name "out", and releases the
 * builder.
 */
static WNNGraph finish(WNNGraphBuilder b, WNNOperand operand)
{
	const WNNNamedOperand out = { WNN_STR("out"), operand };
	WNNGraph graph;

	check(wnnGraphBuilderBuildSync(b, 1, &out, WNN_WAIT_FOREVER, &graph));
	wnnGraphBuilderRelease(b);
	return graph;
}

/*
 * Returns the graph of Sobel's filters, which compute how much the picture changes to the right and
 * downwards.
 */
static WNNGraph build_edges(WNNContext context)
{
	static const float sobel[2][3][3] = { { { -1, 0, 1 }, { -2, 0, 2 }, { -1, 0, 1 } },
					      { { -1, -2, -1 }, { 0, 0, 0 }, { 1, 2, 1 } } };
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	WNNOperand picture = add_input(b, "in", WNN_UINT32_LIST(1, 1, SIDE, SIDE)), filter;

	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = WNN_UINT32_LIST(2, 1, 3, 3);
	filter = wnnGraphBuilderConstant(b, &descriptor, sobel, sizeof(sobel));
	return finish(b, wnnGraphBuilderConv2d(b, picture, filter, NULL));
}

/*
 * Returns the graph that computes the strength of an edge: the length of the vector of the two
 * changes.
 */
static WNNGraph build_strength(WNNContext context)
{
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNReduceOptions over = WNN_REDUCE_OPTIONS_INIT;
	WNNOperand edges = add_input(b, "in", WNN_UINT32_LIST(1, 2, SIDE - 2, SIDE - 2));

	over.axes = WNN_UINT32_LIST(1);
	return finish(b, wnnGraphBuilderReduceL2(b, edges, &over));
}

static WNNGraph build_summary(WNNContext context)
{
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNOperand strength = add_input(b, "in", WNN_UINT32_LIST(1, SIDE - 2, SIDE - 2)), both[2];
	const WNNUint32Array one = WNN_UINT32_LIST(1);

	both[0] =
		wnnGraphBuilderReshape(b, wnnGraphBuilderReduceMean(b, strength, NULL), one, NULL);
	both[1] = wnnGraphBuilderReshape(b, wnnGraphBuilderReduceMax(b, strength, NULL), one, NULL);
	return finish(b, wnnGraphBuilderConcat(b, 2, both, 0, NULL));
}

/* ---- tensors */

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

static WNNTensor make_tensor(WNNContext context, WNNUint32Array shape)
{
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensor tensor;

	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = shape;
	descriptor.readable = descriptor.writable = WNN_TRUE;
	check(wnnContextCreateTensorSync(context, &descriptor, WNN_WAIT_FOREVER, &tensor));
	return tensor;
}

static void program_open(struct program *p, WNNContext context, const struct options *o)
{
	*p = (struct program){ .context = context };
	p->find_edges = build_edges(context);
	p->find_strength = build_strength(context);
	p->summarise = build_summary(context);
	p->results = calloc(o->frames, sizeof(*p->results));
	if (!p->results)
		errx(1, "memory is exhausted");
	for (unsigned int i = 0; i < o->in_flight; i++) {
		struct slot *s = &p->slots[i];

		s->program = p;
		s->picture = make_tensor(context, WNN_UINT32_LIST(1, 1, SIDE, SIDE));
		s->edges = make_tensor(context, WNN_UINT32_LIST(1, 2, SIDE - 2, SIDE - 2));
		s->strength = make_tensor(context, WNN_UINT32_LIST(1, SIDE - 2, SIDE - 2));
		s->summary = make_tensor(context, WNN_UINT32_LIST(2));
	}
}

static void program_close(struct program *p)
{
	for (unsigned int i = 0; i < MAX_FLIGHT; i++) {
		wnnTensorRelease(p->slots[i].picture);
		wnnTensorRelease(p->slots[i].edges);
		wnnTensorRelease(p->slots[i].strength);
		wnnTensorRelease(p->slots[i].summary);
	}
	wnnGraphRelease(p->find_edges);
	wnnGraphRelease(p->find_strength);
	wnnGraphRelease(p->summarise);
	free(p->results);
}

/* ---- frames */

/* Draws a disc, which moves and grows, on a slope of grey. */
static void draw(unsigned int frame, float *picture)
{
	const int x0 = (int)(frame * 5 % SIDE), y0 = (int)(frame * 3 % SIDE);
	const int radius = 8 + (int)(frame % 24);

	for (int y = 0; y < SIDE; y++) {
		for (int x = 0; x < SIDE; x++) {
			int distance = (x - x0) * (x - x0) + (y - y0) * (y - y0);

			picture[y * SIDE + x] =
				(float)(x + y) / (2 * SIDE) + (distance < radius * radius ? 1 : 0);
		}
	}
}

static void queue(struct program *p, WNNGraph graph, WNNTensor from, WNNTensor to)
{
	const WNNNamedTensor in = { WNN_STR("in"), from }, out = { WNN_STR("out"), to };

	check(wnnContextDispatch(p->context, graph, 1, &in, 1, &out));
}

/* Takes the result of a frame. The library calls it within wnnInstanceWaitAny(). */
static void on_summary(WNNStatus status, void const *data, size_t size, WNNStringView message,
		       void *userdata1, void *userdata2)
{
	const struct slot *s = userdata1;
	const float *summary = data;

	(void)userdata2;
	if (status != WNNStatus_Success || size != 2 * sizeof(*summary))
		errx(1, "frame %u: %.*s", s->frame, (int)message.length, message.data);
	s->program->results[s->frame][0] = summary[0];
	s->program->results[s->frame][1] = summary[1];
}

/* Queues the work on a frame, and does not wait for it. The library copies the picture. */
static void start_frame(struct slot *s, unsigned int frame)
{
	WNNReadTensorCallbackInfo info = WNN_READ_TENSOR_CALLBACK_INFO_INIT;
	struct program *p = s->program;
	static float picture[PIXELS];

	s->frame = frame;
	draw(frame, picture);
	check(wnnContextWriteTensor(p->context, s->picture, picture, sizeof(picture)));
	queue(p, p->find_edges, s->picture, s->edges);
	queue(p, p->find_strength, s->edges, s->strength);
	queue(p, p->summarise, s->strength, s->summary);
	info.mode = WNNCallbackMode_WaitAnyOnly;
	info.callback = on_summary;
	info.userdata1 = s;
	s->done = wnnContextReadTensor(p->context, s->summary, info);
}

/* Runs all frames. Before a new frame begins, it waits for the oldest one, whose slot it takes. */
static void run(struct program *p, WNNInstance instance, const struct options *o)
{
	for (unsigned int i = 0; i < o->frames + o->in_flight; i++) {
		struct slot *s = &p->slots[i % o->in_flight];
		WNNFutureWaitInfo wait = { s->done, WNN_FALSE };

		if (i >= o->in_flight && i - o->in_flight < o->frames)
			check(wnnInstanceWaitAny(instance, 1, &wait, WNN_WAIT_FOREVER));
		if (i < o->frames)
			start_frame(s, i);
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	const struct argp argp = {
		argp_options,
		parse_option,
		NULL,
		"Prints how strong the edges in the frames of a video are: the mean and the "
		"largest one.",
		NULL,
		NULL,
		NULL
	};
	struct options options = { .frames = 32, .in_flight = 4 };
	WNNInstance instance = wnnCreateInstance(NULL);
	struct program program;
	double start, seconds;

	argp_parse(&argp, argc, argv, 0, NULL, &options);
	program_open(&program, open_device(instance, options.device), &options);
	start = now();
	run(&program, instance, &options);
	seconds = now() - start;
	for (unsigned int i = 0; i < options.frames; i++)
		printf("frame %u: mean %.7g, largest %.7g\n", i, (double)program.results[i][0],
		       (double)program.results[i][1]);
	fprintf(stderr, "%.0f frames in a second\n", options.frames / seconds);
	program_close(&program);
	wnnContextRelease(program.context);
	wnnInstanceRelease(instance);
	return 0;
}
