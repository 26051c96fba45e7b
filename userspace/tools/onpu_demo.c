// SPDX-License-Identifier: MIT
/*
 * ./npu demo: classifies the held-out digits on the NPU and on the CPU, SqueezeNet's picture when its weights are there, and says
 * where every operator ran.
 */
#include <argp.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <webnn/webnn_npu.h>

#include "models.h"
#include "npy.h"

#define PIXELS 64
#define CLASSES 10

struct options {
	struct model_paths paths;
	const char *json;
	const char *device;
	unsigned int pictures;
};

/* A network on one device. */
struct side {
	const char *device;
	WNNContext context;
	struct model model;
	struct model_tensors tensors;
	double seconds;			/* of all pictures */
};

struct digits {
	size_t count, right, agree;
	unsigned char *answers;		/* the NPU's */
};

struct result {
	struct digits digits;
	size_t npu, cpu, folded;
	uint64_t cycles;
	double share_of_peak;
	double npu_ms, cpu_ms;
	bool has_squeezenet;
	int top5[5];
	float top5_probability[5];
	double max_error, squeezenet_share;
	uint64_t squeezenet_cycles;
	double squeezenet_ms;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int side_open(struct side *side, WNNInstance instance, const char *device, bool npu_only,
		     const char *model, const struct options *options)
{
	side->device = device;
	side->context = model_context(instance, &(struct model_device){
		.name = device, .npu_only = npu_only, .threads = 1 });
	if (!side->context || model_build(&side->model, model, &options->paths, side->context, 1))
		return -1;
	return model_tensors_create(&side->tensors, &side->model, side->context);
}

static void side_close(struct side *side)
{
	model_tensors_release(&side->tensors);
	model_release(&side->model);
	if (side->context)
		wnnContextRelease(side->context);
}

static int argmax(const float *x, int n)
{
	int best = 0;

	for (int i = 1; i < n; i++)
		if (x[i] > x[best])
			best = i;
	return best;
}

static int classify(struct side *side, const unsigned char *image)
{
	float pixels[PIXELS], probabilities[CLASSES];
	float *out = probabilities;
	double begin = now();

	for (int i = 0; i < PIXELS; i++)
		pixels[i] = (float)image[i] / 16;
	if (model_infer(&side->model, side->context, &side->tensors, pixels, &out))
		return -1;
	side->seconds += now() - begin;
	return argmax(probabilities, CLASSES);
}

/* Some pictures from all over the set, four in a row, two characters a pixel, the answer below each. */
static void show(const unsigned char *images, const unsigned char *labels,
		 const unsigned char *answers, size_t count, size_t wanted)
{
	static const char shades[] = " .:-=+*#%@";
	size_t shown = wanted < count ? wanted : count;

	for (size_t first = 0; first < shown; first += 4) {
		size_t n = shown - first < 4 ? shown - first : 4;

		for (int row = 0; row < 8; row++) {
			for (size_t p = first; p < first + n; p++) {
				const unsigned char *pixel = images + p * count / shown * PIXELS +
							     row * 8;

				for (int col = 0; col < 8; col++) {
					int v = pixel[col] * 9 / 16;

					printf("%c%c", shades[v], shades[v]);
				}
				printf("   ");
			}
			printf("\n");
		}
		for (size_t p = first; p < first + n; p++) {
			size_t i = p * count / shown;

			printf("NPU says %d, %-8s", answers[i],
			       answers[i] == labels[i] ? "right" : "wrong");
		}
		printf("\n\n");
	}
}

static int run_digits(struct side *npu, struct side *cpu, const struct options *options,
		      struct digits *digits)
{
	struct npy images = { 0 }, labels = { 0 };
	char path[4200];
	int ret = -1;

	snprintf(path, sizeof(path), "%s/heldout_images.npy", options->paths.digits);
	if (npy_load(&images, path))
		return -1;
	snprintf(path, sizeof(path), "%s/heldout_labels.npy", options->paths.digits);
	if (npy_load(&labels, path))
		goto out;
	if (images.type != 'u' || labels.type != 'u' || images.count != labels.count * PIXELS) {
		fprintf(stderr, "%s: pictures and labels do not match\n", path);
		goto out;
	}
	digits->count = labels.count;
	digits->answers = calloc(labels.count, 1);
	if (!digits->answers)
		goto out;
	for (size_t i = 0; i < labels.count; i++) {
		const unsigned char *image = (unsigned char *)images.data + i * PIXELS;
		int a = classify(npu, image), b = classify(cpu, image);

		if (a < 0 || b < 0)
			goto out;
		digits->answers[i] = (unsigned char)a;
		digits->right += a == ((unsigned char *)labels.data)[i];
		digits->agree += a == b;
	}
	show(images.data, labels.data, digits->answers, digits->count, options->pictures);
	ret = 0;
out:
	npy_free(&images);
	npy_free(&labels);
	return ret;
}

static void describe(const struct side *side, struct result *result)
{
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;
	WNNGraphStatistics statistics = WNN_GRAPH_STATISTICS_INIT;

	if (wnnGraphGetPlacement(side->model.graph, &placement) == WNNStatus_Success) {
		result->npu = placement.npuCount;
		result->cpu = placement.cpuCount;
		result->folded = placement.foldedCount;
	}
	for (size_t i = 0; i < placement.nodeCount; i++)
		if (placement.nodes[i].device == WNNNodeDevice_CPU)
			printf("on the CPU: %.*s \"%.*s\": %.*s\n",
			       (int)placement.nodes[i].operatorName.length,
			       placement.nodes[i].operatorName.data,
			       (int)placement.nodes[i].label.length, placement.nodes[i].label.data,
			       (int)placement.nodes[i].reasonText.length,
			       placement.nodes[i].reasonText.data);
	if (wnnGraphGetLastStatistics(side->model.graph, &statistics) == WNNStatus_Success) {
		result->cycles = statistics.npuCycles;
		if (statistics.peakMacs)
			result->share_of_peak = (double)statistics.macs /
						(double)statistics.peakMacs;
	}
}

static int digits_demo(WNNInstance instance, const struct options *options, struct result *result)
{
	struct side npu = { 0 }, cpu = { 0 };
	int ret = -1;

	if (!side_open(&npu, instance, options->device, true, "digits", options) &&
	    !side_open(&cpu, instance, "cpu", false, "digits", options) &&
	    !run_digits(&npu, &cpu, options, &result->digits)) {
		describe(&npu, result);
		result->npu_ms = npu.seconds * 1e3 / (double)result->digits.count;
		result->cpu_ms = cpu.seconds * 1e3 / (double)result->digits.count;
		ret = 0;
	}
	side_close(&npu);
	side_close(&cpu);
	return ret;
}

static void top_five(const float *p, int n, struct result *result)
{
	for (int k = 0; k < 5; k++) {
		int best = -1;

		for (int i = 0; i < n; i++) {
			bool taken = false;

			for (int j = 0; j < k; j++)
				taken |= result->top5[j] == i;
			if (!taken && (best < 0 || p[i] > p[best]))
				best = i;
		}
		result->top5[k] = best;
		result->top5_probability[k] = p[best];
	}
}

static void print_label(const char *models, int which)
{
	char path[4200], line[256] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/squeezenet/labels1001.txt", models);
	f = fopen(path, "r");
	for (int i = 0; f && i <= which; i++)
		if (!fgets(line, sizeof(line), f))
			line[0] = 0;
	if (f)
		fclose(f);
	line[strcspn(line, "\r\n")] = 0;
	printf("%s\n", line);
}

static int squeezenet_run(struct side *side, const struct options *options, struct result *result)
{
	struct npy image = { 0 }, expected = { 0 };
	float probabilities[1001], *out = probabilities;
	struct result stats = { 0 };
	char path[4200];
	int ret = -1;
	double begin;

	snprintf(path, sizeof(path), "%s/squeezenet/input_test.npy", options->paths.models);
	if (npy_load(&image, path))
		return -1;
	snprintf(path, sizeof(path), "%s/squeezenet/expected_output.npy", options->paths.models);
	if (npy_load(&expected, path) || image.type != 'f' || image.count != 224 * 224 * 3 ||
	    expected.type != 'f' || expected.count != 1001)
		goto out;
	begin = now();
	if (model_infer(&side->model, side->context, &side->tensors, image.data, &out))
		goto out;
	result->squeezenet_ms = (now() - begin) * 1e3;
	for (int i = 0; i < 1001; i++)
		result->max_error = fmax(result->max_error,
					 fabs((double)probabilities[i] -
					      (double)((float *)expected.data)[i]));
	top_five(probabilities, 1001, result);
	describe(side, &stats);
	result->npu += stats.npu;
	result->cpu += stats.cpu;
	result->folded += stats.folded;
	result->squeezenet_cycles = stats.cycles;
	result->squeezenet_share = stats.share_of_peak;
	result->has_squeezenet = true;
	ret = 0;
out:
	npy_free(&image);
	npy_free(&expected);
	return ret;
}

static int squeezenet_demo(WNNInstance instance, const struct options *options,
			   struct result *result)
{
	struct side side = { 0 };
	int ret = -1;

	if (!side_open(&side, instance, options->device, true, "squeezenet", options))
		ret = squeezenet_run(&side, options, result);
	side_close(&side);
	return ret;
}

static void print_table(const struct options *options, const struct result *r)
{
	printf("%-34s %12s %12s\n", "", options->device, "cpu");
	printf("%-34s %11.2f%%\n", "digits: accuracy",
	       100.0 * (double)r->digits.right / (double)r->digits.count);
	printf("%-34s %8zu/%zu\n", "digits: same answer as the CPU", r->digits.agree,
	       r->digits.count);
	printf("%-34s %12.3f %12.3f\n", "digits: milliseconds a picture", r->npu_ms, r->cpu_ms);
	printf("%-34s %12llu\n", "digits: NPU cycles a picture", (unsigned long long)r->cycles);
	printf("%-34s %11.1f%%\n", "digits: share of peak MACs", 100 * r->share_of_peak);
	if (r->has_squeezenet) {
		printf("%-34s %12.1f\n", "squeezenet: milliseconds", r->squeezenet_ms);
		printf("%-34s %12llu\n", "squeezenet: NPU cycles",
		       (unsigned long long)r->squeezenet_cycles);
		printf("%-34s %11.1f%%\n", "squeezenet: share of peak MACs",
		       100 * r->squeezenet_share);
		printf("%-34s %12.1e\n", "squeezenet: largest error", r->max_error);
	}
	printf("%-34s %12zu\n", "operators on the NPU", r->npu);
	printf("%-34s %12zu\n", "operators folded at build", r->folded);
	printf("%-34s %12zu\n", "operators on the CPU", r->cpu);
	if (!r->has_squeezenet)
		return;
	printf("\nSqueezeNet's picture shows:\n");
	for (int k = 0; k < 5; k++) {
		printf("  %8.4f  %4d  ", (double)r->top5_probability[k], r->top5[k]);
		print_label(options->paths.models, r->top5[k]);
	}
}

static int write_json(const struct options *options, const struct result *r)
{
	json_t *root = json_pack("{s:s, s:{s:I, s:f, s:I}, s:{s:I, s:I, s:I}, s:I, s:f, s:{s:f, s:f}}",
				 "device", options->device, "digits", "count",
				 (json_int_t)r->digits.count, "accuracy",
				 (double)r->digits.right / (double)r->digits.count, "agree",
				 (json_int_t)r->digits.agree, "nodes", "npu", (json_int_t)r->npu,
				 "cpu", (json_int_t)r->cpu, "folded",
				 (json_int_t)r->folded, "cycles", (json_int_t)r->cycles,
				 "share_of_peak", r->share_of_peak, "ms_per_picture", "device",
				 r->npu_ms, "cpu", r->cpu_ms);
	int ret;

	if (root && r->has_squeezenet)
		json_object_set_new(root, "squeezenet",
				    json_pack("{s:[i,i,i,i,i], s:f, s:I, s:f, s:f}", "top5",
					      r->top5[0], r->top5[1], r->top5[2], r->top5[3],
					      r->top5[4], "max_error", r->max_error, "cycles",
					      (json_int_t)r->squeezenet_cycles, "share_of_peak",
					      r->squeezenet_share, "ms", r->squeezenet_ms));
	ret = root ? json_dump_file(root, options->json, JSON_INDENT(2) | JSON_SORT_KEYS) : -1;
	if (ret)
		fprintf(stderr, "%s: cannot be written\n", options->json);
	json_decref(root);
	return ret;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'j':
		options->json = arg;
		return 0;
	case 'd':
		options->device = arg;
		return 0;
	case 'm':
		options->paths.models = arg;
		return 0;
	case 'D':
		options->paths.digits = arg;
		return 0;
	case 'p':
		options->pictures = (unsigned int)strtoul(arg, NULL, 10);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp_option known[] = {
		{ "json", 'j', "FILE", 0, "Write the figures to FILE, too", 0 },
		{ "device", 'd', "NAME", 0, "sim (default), npu or cpu", 0 },
		{ "models", 'm', "DIR", 0, "Folder of the shared models", 0 },
		{ "digits", 'D', "DIR", 0, "Folder of the digits network", 0 },
		{ "pictures", 'p', "N", 0, "Digits to show (default 8)", 0 },
		{ 0 }
	};
	static const struct argp argp = {
		known, parse, NULL, "Classifies pictures on the Open NPU and compares with the CPU.",
		NULL, NULL, NULL
	};
	struct options options = {
		.paths = { ONPU_DIGITS_DIR, ONPU_MODELS_DIR },
		.device = "sim",
		.pictures = 8,
	};
	struct result result = { 0 };
	WNNInstance instance;
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &options);
	instance = wnnCreateInstance(NULL);
	if (!instance) {
		fprintf(stderr, "no WebNN instance\n");
		return 1;
	}
	ret = digits_demo(instance, &options, &result);
	if (!ret && model_present("squeezenet", &options.paths))
		ret = squeezenet_demo(instance, &options, &result);
	else if (!ret)
		printf("SqueezeNet is not at %s; it is left out.\n", options.paths.models);
	if (!ret)
		print_table(&options, &result);
	if (!ret && options.json)
		ret = write_json(&options, &result);
	free(result.digits.answers);
	wnnInstanceRelease(instance);
	return ret ? 1 : 0;
}
