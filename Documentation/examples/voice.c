// SPDX-License-Identifier: MIT
/*
 * Tells when somebody speaks in a recording: a WAV file of 16 bits and 16 kHz with one channel.
 *
 *	cc voice.c $(pkg-config --cflags --libs webnn-onnx) -o voice
 *	./voice silero_vad.onnx recording.wav
 *
 * Silero's network hears 32 ms at a time and gives the probability of speech. Its state is an input
 * and an output, and stays on the device, in two tensors: each run reads one of them and writes the
 * other, which the next run reads.
 */
#include <argp.h>
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <webnn/onnx.h>
#include <webnn/webnn_npu.h>

#define RATE	   16000
#define CHUNK	   512
#define CONTEXT	   64 /* the last samples of the chunk before */
#define STATE	   (2 * 128)
#define SPEECH	   0.5f	 /* speech begins from this probability on */
#define SILENCE	   0.35f /* silence begins below this probability */
#define MIN_CHUNKS 8	 /* shorter speech is noise, a shorter silence is a pause */

struct options {
	const char *device;
	const char *file[2]; /* model, recording */
	bool probabilities;
};

struct recording {
	int16_t *samples;
	size_t count;
};

struct detector {
	WNNContext context;
	WNNGraph graph;
	WNNTensor input, state[2], probability;
	unsigned int turn; /* which state is read */
};

static void check(WNNStatus status)
{
	WNNError error = WNN_ERROR_INIT;

	if (status == WNNStatus_Success)
		return;
	wnnGetLastError(&error);
	errx(1, "%.*s", (int)error.message.length, error.message.data);
}

/* Ends the program with the last error of the importer, which keeps one of its own, on failure. */
static void check_onnx(WNNStatus status)
{
	WNNError error = WNN_ERROR_INIT;

	if (status == WNNStatus_Success)
		return;
	wnnOnnxGetLastError(&error);
	errx(1, "%.*s", (int)error.message.length, error.message.data);
}

static const struct argp_option argp_options[] = {
	{ "device", 'd', "NAME", 0, "npu, npu:1, sim or cpu (default: as WEBNN_DEVICE says)", 0 },
	{ "probabilities", 'p', NULL, 0, "Print the probability of each 32 ms", 0 },
	{ 0 }
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'd':
		o->device = value;
		return 0;
	case 'p':
		o->probabilities = true;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num == 2)
			argp_usage(state);
		o->file[state->arg_num] = value;
		return 0;
	case ARGP_KEY_END:
		if (state->arg_num < 2)
			argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- the recording */

static uint32_t little_endian(const uint8_t *bytes, size_t count)
{
	uint32_t value = 0;

	while (count--)
		value = value << 8 | bytes[count];
	return value;
}

/* Checks the part fmt of the file, which describes the samples. */
static void check_format(const char *path, const uint8_t *fmt)
{
	uint32_t format = little_endian(fmt, 2), channels = little_endian(fmt + 2, 2);
	uint32_t rate = little_endian(fmt + 4, 4), bits = little_endian(fmt + 14, 2);

	if (format != 1 || channels != 1 || rate != RATE || bits != 16)
		errx(1,
		     "%s: it has format %u, %u channels, %u Hz and %u bits, instead of 1 (PCM), 1, %u, 16",
		     path, format, channels, rate, bits, RATE);
}

/*
 * Returns the samples of a file. It is a list of parts, each with a name and a size in front; only
 * format and data are read.
 */
static struct recording read_wav(const char *path)
{
	struct recording r = { NULL, 0 };
	FILE *file = fopen(path, "rb");
	bool has_format = false;
	uint8_t head[12], fmt[16];

	if (!file)
		err(1, "%s", path);
	if (fread(head, 12, 1, file) != 1 || memcmp(head, "RIFF", 4) || memcmp(head + 8, "WAVE", 4))
		errx(1, "%s: this is no WAV file", path);
	while (fread(head, 8, 1, file) == 1) {
		uint32_t size = little_endian(head + 4, 4);

		if (!memcmp(head, "data", 4) && has_format) {
			r.samples = malloc(size + 1);
			if (!r.samples)
				errx(1, "memory is exhausted");
			r.count = fread(r.samples, sizeof(*r.samples), size / 2, file);
			break;
		}
		has_format |= !memcmp(head, "fmt ", 4);
		if (!memcmp(head, "fmt ", 4)) {
			if (size < 16 || fread(fmt, 16, 1, file) != 1)
				errx(1, "%s: it is damaged", path);
			check_format(path, fmt);
			size -= 16;
		}
		if (fseek(file, (long)size + size % 2, SEEK_CUR))
			errx(1, "%s: it is damaged", path);
	}
	fclose(file);
	if (!r.count)
		errx(1, "%s: there are no samples in it", path);
	return r;
}

/* ---- the network */

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

/*
 * Loads the model and returns its graph. First sets the two shapes that the file leaves open, and
 * gives the input "sr" the constant sample rate.
 */
static WNNGraph build(WNNContext context, const char *path)
{
	const uint32_t input[] = { 1, CONTEXT + CHUNK }, state[] = { 2, 1, STATE / 2 };
	const int64_t rate = RATE;
	WNNOnnxModel model;
	WNNGraph graph;

	check_onnx(wnnOnnxLoadFile(WNN_STR(path), NULL, &model));
	check_onnx(wnnOnnxModelSetInputShape(model, WNN_STR("input"), WNN_UINT32_ARRAY(input)));
	check_onnx(wnnOnnxModelSetInputShape(model, WNN_STR("state"), WNN_UINT32_ARRAY(state)));
	check_onnx(wnnOnnxModelSetInputValue(model, WNN_STR("sr"), &rate, sizeof(rate)));
	check_onnx(wnnOnnxModelBuildSync(model, context, WNN_WAIT_FOREVER, &graph));
	wnnOnnxModelRelease(model);
	return graph;
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

static void detector_open(struct detector *d, WNNContext context, const char *path)
{
	static const float zeros[STATE];

	*d = (struct detector){ .context = context, .graph = build(context, path) };
	d->input = make_tensor(context, WNN_UINT32_LIST(1, CONTEXT + CHUNK));
	d->state[0] = make_tensor(context, WNN_UINT32_LIST(2, 1, STATE / 2));
	d->state[1] = make_tensor(context, WNN_UINT32_LIST(2, 1, STATE / 2));
	d->probability = make_tensor(context, WNN_UINT32_LIST(1, 1));
	check(wnnContextWriteTensor(context, d->state[0], zeros, sizeof(zeros)));
}

static void detector_close(struct detector *d)
{
	wnnTensorRelease(d->input);
	wnnTensorRelease(d->state[0]);
	wnnTensorRelease(d->state[1]);
	wnnTensorRelease(d->probability);
	wnnGraphRelease(d->graph);
}

/*
 * Returns the probability of speech in a chunk; @samples begins with the last samples of the chunk
 * before.
 */
static float detector_hear(struct detector *d, const float *samples)
{
	const WNNNamedTensor in[] = { { WNN_STR("input"), d->input },
				      { WNN_STR("state"), d->state[d->turn] } };
	const WNNNamedTensor out[] = { { WNN_STR("output"), d->probability },
				       { WNN_STR("stateN"), d->state[!d->turn] } };
	float probability;

	check(wnnContextWriteTensor(d->context, d->input, samples,
				    (CONTEXT + CHUNK) * sizeof(*samples)));
	check(wnnContextDispatch(d->context, d->graph, 2, in, 2, out));
	check(wnnContextReadTensorIntoSync(d->context, d->probability, &probability,
					   sizeof(probability), WNN_WAIT_FOREVER));
	d->turn = !d->turn;
	return probability;
}

/*
 * Returns the probability of speech in each chunk of the recording, in an array that the caller
 * frees; the last chunk is filled up with silence.
 */
static float *listen(struct detector *d, const struct recording *r, size_t *count)
{
	float samples[CONTEXT + CHUNK] = { 0 }, *probabilities;

	*count = (r->count + CHUNK - 1) / CHUNK;
	probabilities = malloc(*count * sizeof(*probabilities));
	if (!probabilities)
		errx(1, "memory is exhausted");
	for (size_t i = 0; i < *count; i++) {
		memmove(samples, samples + CHUNK, CONTEXT * sizeof(*samples));
		for (size_t j = 0; j < CHUNK; j++) {
			size_t at = i * CHUNK + j;

			samples[CONTEXT + j] = at < r->count ? (float)r->samples[at] / 32768 : 0;
		}
		probabilities[i] = detector_hear(d, samples);
	}
	return probabilities;
}

static void print_speech(size_t begin, size_t end)
{
	if (end - begin >= MIN_CHUNKS)
		printf("%.2f s to %.2f s\n", (double)begin * CHUNK / RATE,
		       (double)end * CHUNK / RATE);
}

static void print_times(const float *probabilities, size_t count)
{
	size_t begin = 0, quiet = 0;
	bool speaking = false;

	for (size_t i = 0; i < count; i++) {
		if (probabilities[i] >= SPEECH) {
			if (!speaking)
				begin = i;
			speaking = true;
		}
		quiet = probabilities[i] < SILENCE ? quiet + 1 : 0;
		if (speaking && quiet == MIN_CHUNKS) {
			print_speech(begin, i + 1 - quiet);
			speaking = false;
		}
	}
	if (speaking)
		print_speech(begin, count - quiet);
}

int main(int argc, char **argv)
{
	const struct argp argp = { argp_options,
				   parse_option,
				   "MODEL.onnx RECORDING.wav",
				   "Prints when somebody speaks in a recording.",
				   NULL,
				   NULL,
				   NULL };
	WNNInstance instance = wnnCreateInstance(NULL);
	struct options options = { 0 };
	struct recording recording;
	struct detector detector;
	float *probabilities;
	WNNContext context;
	size_t count;

	argp_parse(&argp, argc, argv, 0, NULL, &options);
	recording = read_wav(options.file[1]);
	context = open_device(instance, options.device);
	detector_open(&detector, context, options.file[0]);
	probabilities = listen(&detector, &recording, &count);
	if (options.probabilities)
		for (size_t i = 0; i < count; i++)
			printf("%.9g\n", (double)probabilities[i]);
	else
		print_times(probabilities, count);
	free(probabilities);
	free(recording.samples);
	detector_close(&detector);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
	return 0;
}
