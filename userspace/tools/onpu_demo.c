// SPDX-License-Identifier: MIT
/*
 * ./npu demo: classifies the held-out digits on the NPU, on its model and on the CPU, and a picture
 * with SqueezeNet when its weights are present; prints where every operator ran. It fails when a
 * device is wrong more often than the limit, or when devices differ.
 */
#include <argp.h>
#include <err.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <webnn/webnn_npu.h>

#include "demo_record.h"
#include "device_name.h"
#include "models.h"
#include "npy.h"

#define PIXELS	  64
#define CLASSES	  10
#define MAX_SIDES 3 /* npu, sim and cpu; the results of the first side are shown */

/*
 * The limits for each device: at least 357 of the 359 digits are right, and no probability of
 * SqueezeNet has a larger error.
 */
#define MIN_ACCURACY 0.994
#define MAX_ERROR    1e-4

struct options {
	struct model_paths paths;
	const char *json;
	const char *record, *compare; /* files to write and to compare with; NULL: none */
	const char *device;
	unsigned int pictures;
};

/* A network on one device, and its results. */
struct side {
	const char *device;
	WNNContext context;
	struct model model;
	struct model_tensors tensors;
	const json_t *known;	       /* results of another run; there is no context then */
	json_t *record;		       /* record to which results are added, or NULL */
	double seconds;		       /* time for all pictures */
	WNNGraphStatistics statistics; /* statistics of the last dispatch */
	/* pictures whose results equal those of the first side, bit by bit */
	size_t same_bits;
	/* pictures with the digit of the label; pictures with the digit of the last side */
	size_t right, agree;
	/* SqueezeNet: largest error against the expected output; NaN is kept */
	double max_error;
};

struct run {
	struct side side[MAX_SIDES];
	size_t sides, pictures;
	size_t npu, cpu, folded; /* nodes of the first side by device */
};

struct result {
	struct run digits, squeezenet;
	json_t *known, *record; /* contents of the files to compare with and to write, or NULL */
	bool has_squeezenet;
	int top5[5];
	float top5_probability[5];
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int side_open(struct side *side, WNNInstance instance, const char *model,
		     const struct options *options)
{
	const struct model_device device = {
		.name = side->device,
		.npu_only = strcmp(side->device, "cpu") != 0,
		.threads = 1,
	};

	side->context = model_context(instance, &device);
	if (!side->context || model_build(&side->model, model, &options->paths, side->context, 1))
		return -1;
	return model_tensors_create(&side->tensors, &side->model, side->context);
}

static void run_close(struct run *run)
{
	for (size_t i = 0; i < run->sides; i++) {
		struct side *side = &run->side[i];

		model_tensors_release(&side->tensors);
		model_release(&side->model);
		if (side->context)
			wnnContextRelease(side->context);
	}
}

/* Opens a context that computes a side's results, or finds recorded ones. Returns 0 or -1. */
static int side_prepare(struct side *side, WNNInstance instance, const char *model,
			const struct options *options, const struct result *result, bool first)
{
	if (result->known && !first) {
		side->known =
			demo_record_find(result->known, model, side->device, options->compare);
		return side->known ? 0 : -1;
	}
	if (side_open(side, instance, model, options))
		return -1;
	if (!result->record)
		return 0;
	side->record = demo_record_add(result->record, model, side->device);
	return side->record ? 0 : -1;
}

/* Opens the requested device, and those that are compared with it. Returns 0 or -1. */
static int run_open(struct run *run, WNNInstance instance, const char *model,
		    const struct options *options, const struct result *result)
{
	static const char *const devices[MAX_SIDES] = { "npu", "sim", "cpu" };
	size_t first = 0;

	if (!device_name_is(options->device)) {
		warnx("there is no device '%s'; there are " DEVICE_NAMES, options->device);
		return -1;
	}
	while (!device_name_is_npu(options->device) && strcmp(devices[first], options->device))
		first++;
	for (; first < MAX_SIDES; first++) {
		struct side *side = &run->side[run->sides++];

		side->device = run->sides == 1 ? options->device : devices[first];
		if (side_prepare(side, instance, model, options, result, run->sides == 1))
			return -1;
	}
	return 0;
}

/* Prints advice for a device with wrong results, as the end of a message. */
static void advise(const char *device)
{
	if (!strcmp(device, "cpu"))
		fprintf(stderr, "Try WEBNN_CPU_LAYER=openblas, which computes without oneDNN. ");
	else if (device_name_is_npu(device))
		fprintf(stderr, "Try WEBNN_DEVICE=sim, which needs neither driver nor device. ");
	else
		fprintf(stderr, "The model of the device is wrong: build it anew. ");
	fprintf(stderr, "Then see \"Results are wrong\" in Documentation/troubleshooting.rst.\n");
}

static int side_picture(struct side *side, size_t picture, const float *input, float *out,
			size_t count)
{
	double begin;

	if (side->known)
		return demo_record_read(side->known, picture, out, count);
	begin = now();
	if (model_infer(&side->model, side->context, &side->tensors, input, &out))
		return -1;
	side->seconds += now() - begin;
	for (size_t i = 0; i < count; i++) {
		if (isfinite(out[i]))
			continue;
		fprintf(stderr, "WRONG RESULTS on %s: result %zu of picture %zu is %g. ",
			side->device, i, picture, (double)out[i]);
		advise(side->device);
		return -1;
	}
	return side->record ? demo_record_append(side->record, out, count) : 0;
}

/* Runs one picture on all devices; out[i] gets the results of side i. Returns 0 or -1. */
static int run_picture(struct run *run, const float *input, float *const *out, size_t count)
{
	for (size_t i = 0; i < run->sides; i++) {
		struct side *side = &run->side[i];

		if (side_picture(side, run->pictures, input, out[i], count))
			return -1;
		side->same_bits += !memcmp(out[0], out[i], count * sizeof(*out[i]));
	}
	run->pictures++;
	return 0;
}

static int side_describe(struct side *side)
{
	side->statistics = WNN_GRAPH_STATISTICS_INIT;
	if (side->known)
		return demo_record_summary(side->known, &side->seconds, &side->statistics);
	wnnGraphGetLastStatistics(side->model.graph, &side->statistics);
	return side->record ? demo_record_finish(side->record, side->seconds, &side->statistics) :
			      0;
}

/*
 * Records the statistics of all sides, and where the operators of the first side ran; prints those
 * of an NPU's graph that the CPU ran. Returns 0, or -1 after a message.
 */
static int run_describe(struct run *run)
{
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;

	for (size_t i = 0; i < run->sides; i++)
		if (side_describe(&run->side[i]))
			return -1;
	if (wnnGraphGetPlacement(run->side[0].model.graph, &placement) != WNNStatus_Success) {
		warnx("%s: no placement", run->side[0].device);
		return -1;
	}
	run->npu = placement.npuCount;
	run->cpu = placement.cpuCount;
	run->folded = placement.foldedCount;
	if (!strcmp(run->side[0].device, "cpu"))
		return 0;
	for (size_t i = 0; i < placement.nodeCount; i++) {
		const WNNNodePlacement *node = &placement.nodes[i];

		if (node->device == WNNNodeDevice_CPU)
			printf("on the CPU: %.*s \"%.*s\": %.*s\n", (int)node->operatorName.length,
			       node->operatorName.data, (int)node->label.length, node->label.data,
			       (int)node->reasonText.length, node->reasonText.data);
	}
	return 0;
}

static double share_of_peak(const struct side *side)
{
	return side->statistics.peakMacs ?
		       (double)side->statistics.macs / (double)side->statistics.peakMacs :
		       0;
}

static double milliseconds(const struct run *run, size_t side)
{
	return run->side[side].seconds * 1e3 / (double)run->pictures;
}

static double accuracy(const struct run *digits, size_t side)
{
	return (double)digits->side[side].right / (double)digits->pictures;
}

/* Returns the index of the side on this device, or run->sides. */
static size_t find_side(const struct run *run, const char *device)
{
	size_t i = 0;

	while (i < run->sides && strcmp(run->side[i].device, device) &&
	       !(device_name_is_npu(device) && device_name_is_npu(run->side[i].device)))
		i++;
	return i;
}

static int argmax(const float *x, int n)
{
	int best = 0;

	for (int i = 1; i < n; i++)
		if (x[i] > x[best])
			best = i;
	return best;
}

/* Prints every n-th picture, four in a row, two characters a pixel, with the answers below. */
static void show(const unsigned char *images, const unsigned char *labels,
		 const unsigned char *answers, size_t count, size_t wanted, const char *device)
{
	static const char shades[] = " .:-=+*#%@";
	size_t shown = wanted < count ? wanted : count;

	for (size_t first = 0; first < shown; first += 4) {
		size_t n = shown - first < 4 ? shown - first : 4;

		for (int row = 0; row < 8; row++) {
			for (size_t p = first; p < first + n; p++) {
				const unsigned char *pixel =
					images + p * count / shown * PIXELS + row * 8;

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

			printf("%s says %d, %-8s", device, answers[i],
			       answers[i] == labels[i] ? "right" : "wrong");
		}
		printf("\n\n");
	}
}

static int classify(struct run *run, const unsigned char *image, int answer[MAX_SIDES])
{
	float pixels[PIXELS], probabilities[MAX_SIDES][CLASSES];
	float *const out[MAX_SIDES] = { probabilities[0], probabilities[1], probabilities[2] };

	for (int i = 0; i < PIXELS; i++)
		pixels[i] = (float)image[i] / 16;
	if (run_picture(run, pixels, out, CLASSES))
		return -1;
	for (size_t i = 0; i < run->sides; i++)
		answer[i] = argmax(probabilities[i], CLASSES);
	return 0;
}

static int digits_classify(const struct npy *images, const struct npy *labels,
			   const struct options *options, struct result *result)
{
	struct run *run = &result->digits;
	unsigned char *answers = calloc(labels->count, 1);
	int ret = answers ? 0 : -1;

	if (!answers)
		warnx("memory is exhausted");
	for (size_t i = 0; i < labels->count && !ret; i++) {
		int answer[MAX_SIDES] = { 0 };

		ret = classify(run, (unsigned char *)images->data + i * PIXELS, answer);
		if (ret)
			break;
		answers[i] = (unsigned char)answer[0];
		for (size_t j = 0; j < run->sides; j++) {
			run->side[j].right += answer[j] == ((unsigned char *)labels->data)[i];
			run->side[j].agree += answer[j] == answer[run->sides - 1];
		}
	}
	if (!ret)
		show(images->data, labels->data, answers, labels->count, options->pictures,
		     options->device);
	free(answers);
	return ret;
}

static int digits_demo(WNNInstance instance, const struct options *options, struct result *result)
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
	if (images.type != WNNOperandDataType_Uint8 || labels.type != WNNOperandDataType_Uint8 ||
	    images.count != labels.count * PIXELS) {
		warnx("%s: this file and heldout_images.npy beside it have to hold uint8, one label "
		      "for each picture of 8 times 8 pixels",
		      path);
		goto out;
	}
	if (run_open(&result->digits, instance, "digits", options, result) ||
	    digits_classify(&images, &labels, options, result) || run_describe(&result->digits))
		goto out;
	ret = 0;
out:
	run_close(&result->digits);
	npy_free(&images);
	npy_free(&labels);
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

/* Returns the largest difference; NaN if one of the differences is NaN. */
static double largest_error(const float *x, const float *expected, int n)
{
	double largest = 0;

	for (int i = 0; i < n; i++) {
		double error = fabs((double)x[i] - (double)expected[i]);

		if (!(error <= largest))
			largest = error;
		if (isnan(largest))
			break;
	}
	return largest;
}

static int squeezenet_demo(WNNInstance instance, const struct options *options,
			   struct result *result)
{
	static float probabilities[MAX_SIDES][1001];
	float *const out[MAX_SIDES] = { probabilities[0], probabilities[1], probabilities[2] };
	struct npy image = { 0 }, expected = { 0 };
	char path[4200];
	int ret = -1;

	snprintf(path, sizeof(path), "%s/squeezenet/input_test.npy", options->paths.models);
	if (npy_load(&image, path))
		return -1;
	snprintf(path, sizeof(path), "%s/squeezenet/expected_output.npy", options->paths.models);
	if (npy_load(&expected, path))
		goto out;
	if (image.type != WNNOperandDataType_Float32 || image.count != 224 * 224 * 3 ||
	    expected.type != WNNOperandDataType_Float32 || expected.count != 1001) {
		warnx("%s: this file has to hold 1001 float32, and input_test.npy beside it 224 times "
		      "224 times 3",
		      path);
		goto out;
	}
	if (run_open(&result->squeezenet, instance, "squeezenet", options, result) ||
	    run_picture(&result->squeezenet, image.data, out, 1001) ||
	    run_describe(&result->squeezenet))
		goto out;
	for (size_t i = 0; i < result->squeezenet.sides; i++)
		result->squeezenet.side[i].max_error =
			largest_error(probabilities[i], expected.data, 1001);
	top_five(probabilities[0], 1001, result);
	result->has_squeezenet = true;
	ret = 0;
out:
	run_close(&result->squeezenet);
	npy_free(&image);
	npy_free(&expected);
	return ret;
}

/* ---- results */

static void print_times(const char *what, const struct run *run)
{
	printf("%-34s", what);
	for (size_t i = 0; i < run->sides; i++)
		printf(" %12.3f", milliseconds(run, i));
	printf("\n");
}

/* Prints the figures of the devices that execute NPU programs. */
static void print_npu(const char *name, const struct run *run)
{
	char what[64];

	if (run->sides == 1)
		return;
	snprintf(what, sizeof(what), "%s: NPU cycles a picture", name);
	printf("%-34s", what);
	for (size_t i = 0; i + 1 < run->sides; i++)
		printf(" %12llu", (unsigned long long)run->side[i].statistics.npuCycles);
	snprintf(what, sizeof(what), "%s: share of peak MACs", name);
	printf("\n%-34s", what);
	for (size_t i = 0; i + 1 < run->sides; i++)
		printf(" %11.1f%%", 100 * share_of_peak(&run->side[i]));
	if (device_name_is_npu(run->side[0].device)) {
		snprintf(what, sizeof(what), "%s: same bits as npu", name);
		printf("\n%-34s %12s %8zu/%zu", what, "", run->side[1].same_bits, run->pictures);
	}
	printf("\n");
}

static void print_nodes(const char *what, size_t digits, size_t squeezenet)
{
	printf("%-34s %12zu\n", what, digits + squeezenet);
}

static void print_table(const struct options *options, const struct result *r)
{
	const struct run *digits = &r->digits, *squeezenet = &r->squeezenet;

	printf("%-34s", "");
	for (size_t i = 0; i < digits->sides; i++)
		printf(" %12s", digits->side[i].device);
	printf("\n%-34s", "digits: accuracy");
	for (size_t i = 0; i < digits->sides; i++)
		printf(" %11.2f%%", 100 * accuracy(digits, i));
	printf("\n");
	if (digits->sides > 1) {
		printf("%-34s", "digits: same answer as the CPU");
		for (size_t i = 0; i + 1 < digits->sides; i++)
			printf(" %8zu/%zu", digits->side[i].agree, digits->pictures);
		printf("\n");
	}
	print_times("digits: milliseconds a picture", digits);
	print_npu("digits", digits);
	if (r->has_squeezenet) {
		print_times("squeezenet: milliseconds", squeezenet);
		print_npu("squeezenet", squeezenet);
		printf("%-34s", "squeezenet: largest error");
		for (size_t i = 0; i < squeezenet->sides; i++)
			printf(" %12.1e", squeezenet->side[i].max_error);
		printf("\n");
	}
	print_nodes("operators on the NPU", digits->npu, squeezenet->npu);
	print_nodes("operators folded at build", digits->folded, squeezenet->folded);
	print_nodes("operators on the CPU", digits->cpu, squeezenet->cpu);
	if (options->compare)
		printf("Only %s ran here; the others' results and times are those of another run.\n",
		       options->device);
	if (!r->has_squeezenet)
		return;
	printf("\nSqueezeNet's picture shows:\n");
	for (int k = 0; k < 5; k++) {
		printf("  %8.4f  %4d  ", (double)r->top5_probability[k], r->top5[k]);
		print_label(options->paths.models, r->top5[k]);
	}
}

/* Adds milliseconds by device; if NPU and sim ran, also how many pictures had equal bits. */
static void add_sides(json_t *object, const struct run *run)
{
	size_t npu = find_side(run, "npu"), sim = find_side(run, "sim");
	json_t *ms = json_object();

	for (size_t i = 0; i < run->sides; i++)
		json_object_set_new(ms, run->side[i].device, json_real(milliseconds(run, i)));
	json_object_set_new(object, "ms", ms);
	if (npu < run->sides && sim < run->sides)
		json_object_set_new(object, "same_bits_as_sim",
				    json_integer((json_int_t)run->side[sim].same_bits));
}

static json_t *digits_json(const struct result *r)
{
	const struct run *run = &r->digits;
	json_t *right = json_object();
	json_t *object = json_pack("{s:I, s:f, s:I, s:o}", "count", (json_int_t)run->pictures,
				   "accuracy", accuracy(run, 0), "agree",
				   (json_int_t)run->side[0].agree, "right", right);

	for (size_t i = 0; i < run->sides; i++)
		json_object_set_new(right, run->side[i].device,
				    json_integer((json_int_t)run->side[i].right));
	add_sides(object, run);
	return object;
}

static json_t *squeezenet_json(const struct result *r)
{
	const struct side *side = &r->squeezenet.side[0];
	json_t *object =
		json_pack("{s:[i,i,i,i,i], s:o, s:I, s:f, s:I}", "top5", r->top5[0], r->top5[1],
			  r->top5[2], r->top5[3], r->top5[4], "max_error",
			  isfinite(side->max_error) ? json_real(side->max_error) : json_null(),
			  "cycles", (json_int_t)side->statistics.npuCycles, "share_of_peak",
			  share_of_peak(side), "count", (json_int_t)r->squeezenet.pictures);

	add_sides(object, &r->squeezenet);
	return object;
}

static int write_json(const struct options *options, const struct result *r)
{
	const struct run *digits = &r->digits, *squeezenet = &r->squeezenet;
	json_t *root = json_pack("{s:s, s:o, s:{s:I, s:I, s:I}, s:I, s:f}", "device",
				 options->device, "digits", digits_json(r), "nodes", "npu",
				 (json_int_t)(digits->npu + squeezenet->npu), "cpu",
				 (json_int_t)(digits->cpu + squeezenet->cpu), "folded",
				 (json_int_t)(digits->folded + squeezenet->folded), "cycles",
				 (json_int_t)digits->side[0].statistics.npuCycles, "share_of_peak",
				 share_of_peak(&digits->side[0]));
	int ret;

	if (root && r->has_squeezenet)
		json_object_set_new(root, "squeezenet", squeezenet_json(r));
	ret = demo_record_write(root, options->json);
	json_decref(root);
	return ret;
}

/* ---- demands on the results */

/* Returns 0, or -1 after complaints, each of which names the device and the figure. */
static int demand_digits(const struct run *run)
{
	size_t last = run->sides - 1;
	int ret = 0;

	for (size_t i = 0; i < run->sides; i++) {
		const struct side *side = &run->side[i];

		if (accuracy(run, i) >= MIN_ACCURACY)
			continue;
		fprintf(stderr,
			"WRONG RESULTS on %s: %zu of %zu digits are right, %.2f%%; at least %.1f%% are demanded. ",
			side->device, side->right, run->pictures, 100 * accuracy(run, i),
			100 * MIN_ACCURACY);
		advise(side->device);
		ret = -1;
	}
	for (size_t i = 0; i < last; i++) {
		const struct side *side = &run->side[i];

		if (side->agree == run->pictures)
			continue;
		fprintf(stderr,
			"WRONG RESULTS on %s or %s: their answers differ for %zu of %zu digits. ",
			side->device, run->side[last].device, run->pictures - side->agree,
			run->pictures);
		/* The device with fewer right digits is the more likely culprit. */
		advise(run->side[side->right < run->side[last].right ? i : last].device);
		ret = -1;
	}
	return ret;
}

static int demand_squeezenet(const struct run *run)
{
	int ret = 0;

	for (size_t i = 0; i < run->sides; i++) {
		const struct side *side = &run->side[i];

		if (side->max_error <= MAX_ERROR)
			continue;
		fprintf(stderr,
			"WRONG RESULTS on %s: SqueezeNet's largest error is %.1e; at most %.0e is allowed. ",
			side->device, side->max_error, MAX_ERROR);
		advise(side->device);
		ret = -1;
	}
	return ret;
}

/* Demands that the NPU behind its driver gives the bits of its model. Returns 0 or -1. */
static int demand_bits(const char *name, const struct run *run)
{
	if (!device_name_is_npu(run->side[0].device) || run->side[1].same_bits == run->pictures)
		return 0;
	fprintf(stderr, "WRONG RESULTS on %s: %s has the bits of sim for %zu of %zu pictures. ",
		run->side[0].device, name, run->side[1].same_bits, run->pictures);
	advise(run->side[0].device);
	return -1;
}

static int demand(const struct result *r)
{
	int ret = demand_digits(&r->digits) | demand_bits("digits", &r->digits);

	if (r->has_squeezenet)
		ret |= demand_squeezenet(&r->squeezenet) |
		       demand_bits("squeezenet", &r->squeezenet);
	return ret;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'j':
		options->json = arg;
		return 0;
	case 'r':
		options->record = arg;
		return 0;
	case 'c':
		options->compare = arg;
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
		if (!*arg || strspn(arg, "0123456789") != strlen(arg))
			argp_error(state, "--pictures takes a number from 0 on, not '%s'", arg);
		options->pictures = (unsigned int)strtoul(arg, NULL, 10);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Makes the object for --record, and reads the file of --compare. Returns 0 or -1. */
static int records_open(struct result *result, const struct options *options)
{
	if (options->record && !(result->record = json_object())) {
		warnx("memory is exhausted");
		return -1;
	}
	if (!options->compare)
		return 0;
	result->known = demo_record_load(options->compare);
	return result->known ? 0 : -1;
}

static int demo(WNNInstance instance, const struct options *options, struct result *result)
{
	int ret;

	if (records_open(result, options) || digits_demo(instance, options, result))
		return -1;
	if (!model_present("squeezenet", &options->paths))
		printf("SqueezeNet is not in %s/squeezenet; it is left out.\n",
		       options->paths.models);
	else if (squeezenet_demo(instance, options, result))
		return -1;
	print_table(options, result);
	fflush(stdout);
	ret = demand(result);
	if (options->record && demo_record_write(result->record, options->record))
		ret = -1;
	if (options->json && write_json(options, result))
		ret = -1;
	return ret;
}

int main(int argc, char **argv)
{
	static const struct argp_option known[] = {
		{ "json", 'j', "FILE", 0, "Write the figures to FILE, too", 0 },
		{ "device", 'd', "NAME", 0,
		  "npu, npu:1, sim or cpu (default: WEBNN_DEVICE, else sim); those after it in this list are compared with it",
		  0 },
		{ "record", 'r', "FILE", 0, "Keep the results of all devices in FILE", 0 },
		{ "compare", 'c', "FILE", 0,
		  "Compare with what another run kept in FILE, instead of computing it here", 0 },
		{ "models", 'm', "DIR", 0, "Folder of the shared models", 0 },
		{ "digits", 'D', "DIR", 0, "Folder of the digits network", 0 },
		{ "pictures", 'p', "N", 0, "Digits to show (default 8)", 0 },
		{ 0 }
	};
	static const struct argp argp = {
		known, parse,
		NULL,  "Classifies pictures on the Open NPU and compares with the CPU.",
		NULL,  NULL,
		NULL
	};
	struct options options = {
		.paths = { ONPU_DIGITS_DIR, ONPU_MODELS_DIR },
		.device = getenv("WEBNN_DEVICE"),
		.pictures = 8,
	};
	struct result result = { 0 };
	WNNInstance instance;
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &options);
	if (!options.device || !*options.device)
		options.device = "sim";
	instance = wnnCreateInstance(NULL);
	if (!instance) {
		warnx("no WebNN instance");
		return 1;
	}
	ret = demo(instance, &options, &result);
	json_decref(result.known);
	json_decref(result.record);
	wnnInstanceRelease(instance);
	return ret ? 1 : 0;
}
