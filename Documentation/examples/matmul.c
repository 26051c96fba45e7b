// SPDX-License-Identifier: MIT
/*
 * Multiplies two matrices from text files, in which each line is a row.
 *
 *	cc matmul.c $(pkg-config --cflags --libs webnn-npu) -o matmul
 *	./matmul a.txt b.txt
 */
#include <argp.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <webnn/webnn_npu.h>

struct options {
	const char *device;
	const char *file[2];
};

struct matrix {
	uint32_t shape[2]; /* rows, columns */
	float *data;
};

static void check(WNNStatus status)
{
	WNNError error = WNN_ERROR_INIT;

	if (status == WNNStatus_Success)
		return;
	wnnGetLastError(&error);
	errx(1, "%.*s", (int)error.message.length, error.message.data);
}

static const struct argp_option argp_options[] = {
	{ "device", 'd', "NAME", 0, "npu, npu:1, sim or cpu (default: as WEBNN_DEVICE says)", 0 },
	{ 0 }
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'd':
		o->device = value;
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

static void add_number(struct matrix *m, size_t count, float number)
{
	/* When the count reaches a power of two, the room is doubled. */
	if (!(count & (count - 1))) {
		m->data = realloc(m->data, (count ? 2 * count : 1) * sizeof(*m->data));
		if (!m->data)
			errx(1, "memory is exhausted");
	}
	m->data[count] = number;
}

static struct matrix read_matrix(const char *path)
{
	struct matrix m = { { 0, 0 }, NULL };
	FILE *file = fopen(path, "r");
	size_t count = 0, size = 0;
	char *line = NULL;

	if (!file)
		err(1, "%s", path);
	while (getline(&line, &size, file) > 0) {
		uint32_t columns = 0;
		char *at = line, *end;

		for (float x = strtof(at, &end); end != at; x = strtof(at, &end)) {
			add_number(&m, count++, x);
			columns++;
			at = end;
		}
		at += strspn(at, " \t\r\n");
		if (*at)
			errx(1, "%s: row %u: \"%.10s\" is no number", path, m.shape[0] + 1, at);
		if (!columns)
			continue;
		if (m.shape[0] && columns != m.shape[1])
			errx(1, "%s: row %u has %u numbers, and those before have %u", path,
			     m.shape[0] + 1, columns, m.shape[1]);
		m.shape[0]++;
		m.shape[1] = columns;
	}
	free(line);
	fclose(file);
	if (!count)
		errx(1, "%s: there is no number in it", path);
	return m;
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

static WNNOperand add_input(WNNGraphBuilder b, const char *name, const struct matrix *m)
{
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;

	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = WNN_UINT32_ARRAY(m->shape);
	return wnnGraphBuilderInput(b, WNN_STR(name), &descriptor);
}

static WNNTensor make_tensor(WNNContext context, const struct matrix *m)
{
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensor tensor;

	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = WNN_UINT32_ARRAY(m->shape);
	descriptor.readable = descriptor.writable = WNN_TRUE;
	check(wnnContextCreateTensorSync(context, &descriptor, WNN_WAIT_FOREVER, &tensor));
	return tensor;
}

static size_t bytes(const struct matrix *m)
{
	return (size_t)m->shape[0] * m->shape[1] * sizeof(*m->data);
}

/*
 * Multiplies. The library refuses matrices that do not fit together, with a message of their
 * shapes.
 */
static void multiply(WNNContext context, const struct matrix *a, const struct matrix *b,
		     struct matrix *product)
{
	WNNNamedTensor in[] = { { WNN_STR("a"), NULL }, { WNN_STR("b"), NULL } };
	WNNNamedTensor out = { WNN_STR("product"), NULL };
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(context);
	WNNNamedOperand output = { out.name, NULL };
	WNNGraph graph;

	output.operand = wnnGraphBuilderMatmul(builder, add_input(builder, "a", a),
					       add_input(builder, "b", b), NULL);
	check(wnnGraphBuilderBuildSync(builder, 1, &output, WNN_WAIT_FOREVER, &graph));
	*product = (struct matrix){ { a->shape[0], b->shape[1] }, NULL };
	product->data = malloc(bytes(product));
	if (!product->data)
		errx(1, "memory is exhausted");
	in[0].tensor = make_tensor(context, a);
	in[1].tensor = make_tensor(context, b);
	out.tensor = make_tensor(context, product);
	check(wnnContextWriteTensor(context, in[0].tensor, a->data, bytes(a)));
	check(wnnContextWriteTensor(context, in[1].tensor, b->data, bytes(b)));
	check(wnnContextDispatch(context, graph, 2, in, 1, &out));
	check(wnnContextReadTensorIntoSync(context, out.tensor, product->data, bytes(product),
					   WNN_WAIT_FOREVER));
	wnnTensorRelease(in[0].tensor);
	wnnTensorRelease(in[1].tensor);
	wnnTensorRelease(out.tensor);
	wnnGraphRelease(graph);
	wnnGraphBuilderRelease(builder);
}

int main(int argc, char **argv)
{
	const struct argp argp = { argp_options,  parse_option,
				   "A.txt B.txt", "Multiplies two matrices.",
				   NULL,	  NULL,
				   NULL };
	WNNInstance instance = wnnCreateInstance(NULL);
	struct options options = { 0 };
	struct matrix a, b, product;
	WNNContext context;

	argp_parse(&argp, argc, argv, 0, NULL, &options);
	a = read_matrix(options.file[0]);
	b = read_matrix(options.file[1]);
	context = open_device(instance, options.device);
	multiply(context, &a, &b, &product);
	for (size_t i = 0; i < product.shape[0]; i++)
		for (size_t j = 0; j < product.shape[1]; j++)
			printf("%.9g%c", (double)product.data[i * product.shape[1] + j],
			       j + 1 < product.shape[1] ? ' ' : '\n');
	free(a.data);
	free(b.data);
	free(product.data);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
	return 0;
}
