// SPDX-License-Identifier: MIT
/*
 * Shows four faults of oneDNN 3.7 on x86-64, by comparing each result with that of a plain loop:
 *
 *	gcc -O2 reproducer.c -o reproducer -ldnnl && ./reproducer --forget-caches
 *
 * The first fault needs a machine whose CPUID leaf 0x8000001D answers zeros; elsewhere
 * --forget-caches puts into oneDNN what such a leaf would. The third and the fourth fault need AMX.
 * The exit status is 1 when a result is wrong.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <oneapi/dnnl/dnnl.h>

#define CHECK(call)                                                                           \
	do {                                                                                  \
		dnnl_status_t status = call;                                                  \
                                                                                              \
		if (status != dnnl_success) {                                                 \
			fprintf(stderr, "line %d: %s: status %d\n", __LINE__, #call, status); \
			exit(2);                                                              \
		}                                                                             \
	} while (0)

static dnnl_engine_t engine;
static dnnl_stream_t stream;

static dnnl_memory_t memory(const_dnnl_memory_desc_t desc, void *data)
{
	dnnl_memory_t m;

	CHECK(dnnl_memory_create(&m, desc, engine, data));
	return m;
}

static dnnl_memory_desc_t describe(int rank, const dnnl_dim_t *dims, dnnl_format_tag_t tag)
{
	dnnl_memory_desc_t desc;

	CHECK(dnnl_memory_desc_create_with_tag(&desc, rank, dims, dnnl_f32, tag));
	return desc;
}

static dnnl_memory_desc_t describe_bytes(int rank, const dnnl_dim_t *dims, dnnl_data_type_t type,
					 dnnl_format_tag_t tag)
{
	dnnl_memory_desc_t desc;

	CHECK(dnnl_memory_desc_create_with_tag(&desc, rank, dims, type, tag));
	return desc;
}

static void execute(const_dnnl_primitive_desc_t what, int n, const dnnl_exec_arg_t *arguments)
{
	dnnl_primitive_t primitive;

	CHECK(dnnl_primitive_create(&primitive, what));
	CHECK(dnnl_primitive_execute(primitive, stream, n, arguments));
	CHECK(dnnl_stream_wait(stream));
	dnnl_primitive_destroy(primitive);
}

static const char *name_of(const_dnnl_primitive_desc_t what)
{
	const char *name = "?";

	dnnl_primitive_desc_query(what, dnnl_query_impl_info_str, 0, &name);
	return name;
}

/*
 * Reorders oihw to blocks of 16 by 16; checks that each weight is where the blocked layout has it.
 */
static int reorder(int channels, int side)
{
	const dnnl_dims_t dims = { channels, channels, side, side };
	dnnl_memory_desc_t plain = describe(4, dims, dnnl_oihw);
	dnnl_memory_desc_t blocked = describe(4, dims, dnnl_OIhw16i16o);
	size_t count = (size_t)channels * channels * side * side, lost = 0;
	size_t blocks = ((size_t)channels + 15) / 16;
	float *from = malloc(count * sizeof(*from));
	float *to = calloc(1, dnnl_memory_desc_get_size(blocked));
	dnnl_primitive_desc_t what;

	for (size_t i = 0; i < count; i++)
		from[i] = (float)(i + 1);
	CHECK(dnnl_reorder_primitive_desc_create(&what, plain, engine, blocked, engine, NULL));
	execute(what, 2,
		(dnnl_exec_arg_t[]){ { DNNL_ARG_FROM, memory(plain, from) },
				     { DNNL_ARG_TO, memory(blocked, to) } });
	for (size_t i = 0; i < count; i++) {
		size_t x = i % side, y = i / side % side;
		size_t in = i / side / side % channels, out = i / side / side / channels;
		size_t at = (((out / 16 * blocks + in / 16) * side + y) * side + x) * 256 +
			    in % 16 * 16 + out % 16;

		lost += to[at] != from[i];
	}
	printf("reorder     %3dx%dx%dx%d oihw to OIhw16i16o (%s): %zu of %zu weights lost\n",
	       channels, channels, side, side, name_of(what), lost, count);
	free(from);
	free(to);
	return lost != 0;
}

/* Convolves one input channel. The picture is one wide; the kernel reaches over both sides. */
static int convolution(int height, int kernel, int stride, int channels)
{
	const int pad = kernel / 2;
	const dnnl_dims_t x_dims = { 1, 1, height, 1 }, y_dims = { 1, channels, height, 1 };
	const dnnl_dims_t w_dims = { channels, 1, kernel, kernel };
	const dnnl_dims_t strides = { 1, stride }, pads = { pad, pad }, none = { 0, 0 };
	dnnl_memory_desc_t x = describe(4, x_dims, dnnl_nhwc), y = describe(4, y_dims, dnnl_nhwc);
	dnnl_memory_desc_t w = describe(4, w_dims, dnnl_oihw);
	dnnl_memory_desc_t any = describe(4, w_dims, dnnl_format_tag_any);
	size_t window = (size_t)kernel * kernel, wrong = 0, results = (size_t)height * channels;
	float *picture = malloc(height * sizeof(*picture));
	float *weights = malloc(channels * window * sizeof(*weights));
	float *result = calloc(results, sizeof(*result));
	const_dnnl_memory_desc_t packed_desc;
	dnnl_primitive_desc_t what, pack;
	dnnl_memory_t packed;

	for (int i = 0; i < height; i++)
		picture[i] = (float)(i % 7 - 3);
	for (size_t i = 0; i < channels * window; i++)
		weights[i] = (float)((int)(i % 5) - 2);
	CHECK(dnnl_convolution_forward_primitive_desc_create(&what, engine, dnnl_forward_inference,
							     dnnl_convolution_direct, x, any, NULL,
							     y, strides, none, pads, pads, NULL));
	packed_desc = dnnl_primitive_desc_query_md(what, dnnl_query_weights_md, 0);
	packed = memory(packed_desc, DNNL_MEMORY_ALLOCATE);
	CHECK(dnnl_reorder_primitive_desc_create(&pack, w, engine, packed_desc, engine, NULL));
	execute(pack, 2,
		(dnnl_exec_arg_t[]){ { DNNL_ARG_FROM, memory(w, weights) },
				     { DNNL_ARG_TO, packed } });
	execute(what, 3,
		(dnnl_exec_arg_t[]){ { DNNL_ARG_SRC, memory(x, picture) },
				     { DNNL_ARG_WEIGHTS, packed },
				     { DNNL_ARG_DST, memory(y, result) } });
	for (size_t i = 0; i < results; i++) {
		size_t channel = i % channels;
		int line = (int)(i / channels);
		float sum = 0;

		/*
		 * Only the kernel's middle column meets the picture. The numbers are small
		 * integers, so sums in any order are equal.
		 */
		for (int j = 0; j < kernel; j++)
			if (line + j >= pad && line + j - pad < height)
				sum += picture[line + j - pad] *
				       weights[channel * window + j * kernel + pad];
		wrong += !(result[i] == sum);
	}
	printf("convolution %dx1, kernel %dx%d, stride in x %d, %2d channels (%s): %zu of %zu results wrong\n",
	       height, kernel, kernel, stride, channels, name_of(what), wrong, results);
	free(picture);
	free(weights);
	free(result);
	return wrong != 0;
}

/* Integers of 8 bits with a zero point; the kernel is one high and two wide, without padding. */
struct integers {
	int height, width, stride, groups, in, out, zero; /* in, out: channels of a group */
};

static int32_t sum_at(const struct integers *c, const int8_t *x, const int8_t *w, int pixel, int o)
{
	int results = (c->width - 2) / c->stride + 1;
	int line = pixel / results, column = pixel % results * c->stride;
	int first = o / c->out * c->in; /* channel of the group */
	int32_t sum = 0;

	for (int i = 0; i < c->in; i++)
		for (int k = 0; k < 2; k++)
			sum += (x[((line * c->width) + column + k) * c->groups * c->in + first + i] -
				c->zero) *
			       w[(o * c->in + i) * 2 + k];
	return sum;
}

static dnnl_primitive_attr_t attributes(bool zero)
{
	dnnl_primitive_attr_t attr;

	CHECK(dnnl_primitive_attr_create(&attr));
	CHECK(dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user));
	if (zero)
		CHECK(dnnl_primitive_attr_set_zero_points_mask(attr, DNNL_ARG_SRC, 0));
	return attr;
}

/*
 * Convolves integers, with a scratchpad of bytes that are not 0, as in memory that was used before.
 */
static int integers(const struct integers *c)
{
	int columns = (c->width - 2) / c->stride + 1, channels = c->groups * c->out;
	const dnnl_dims_t x_dims = { 1, c->groups * c->in, c->height, c->width };
	const dnnl_dims_t y_dims = { 1, channels, c->height, columns };
	const dnnl_dims_t w_dims = { c->groups, c->out, c->in, 1, 2 }, one = { 1 };
	const dnnl_dims_t strides = { 1, c->stride }, none = { 0, 0 };
	dnnl_memory_desc_t x = describe_bytes(4, x_dims, dnnl_s8, dnnl_nhwc);
	dnnl_memory_desc_t y = describe_bytes(4, y_dims, dnnl_s32, dnnl_nhwc);
	dnnl_memory_desc_t w = describe_bytes(5, w_dims, dnnl_s8, dnnl_goihw);
	dnnl_memory_desc_t any = describe_bytes(5, w_dims, dnnl_s8, dnnl_format_tag_any);
	size_t window = (size_t)c->in * 2, wrong = 0;
	size_t results = (size_t)c->height * columns * channels, room;
	size_t bytes = dnnl_memory_desc_get_size(x);
	int8_t *picture = malloc(bytes), *weights = malloc(channels * window);
	int32_t *result = calloc(results, sizeof(*result)), zero = c->zero;
	const_dnnl_memory_desc_t packed_desc, scratch_desc;
	dnnl_primitive_desc_t what, pack;
	dnnl_memory_t packed;
	void *scratch;

	for (size_t i = 0; i < bytes; i++)
		picture[i] = (int8_t)(i % 251 - 125);
	for (size_t i = 0; i < channels * window; i++)
		weights[i] = (int8_t)(i % 239 - 119);
	CHECK(dnnl_convolution_forward_primitive_desc_create(
		&what, engine, dnnl_forward_inference, dnnl_convolution_direct, x, any, NULL, y,
		strides, none, none, none, attributes(zero)));
	packed_desc = dnnl_primitive_desc_query_md(what, dnnl_query_weights_md, 0);
	scratch_desc = dnnl_primitive_desc_query_md(what, dnnl_query_scratchpad_md, 0);
	room = dnnl_memory_desc_get_size(scratch_desc);
	scratch = aligned_alloc(64, (room + 64) & ~(size_t)63);
	memset(scratch, 0x55, room);
	packed = memory(packed_desc, DNNL_MEMORY_ALLOCATE);
	CHECK(dnnl_reorder_primitive_desc_create(&pack, w, engine, packed_desc, engine, NULL));
	execute(pack, 2,
		(dnnl_exec_arg_t[]){ { DNNL_ARG_FROM, memory(w, weights) },
				     { DNNL_ARG_TO, packed } });
	execute(what, zero ? 5 : 4,
		(dnnl_exec_arg_t[]){ { DNNL_ARG_SRC, memory(x, picture) },
				     { DNNL_ARG_WEIGHTS, packed },
				     { DNNL_ARG_DST, memory(y, result) },
				     { DNNL_ARG_SCRATCHPAD, memory(scratch_desc, scratch) },
				     { DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC,
				       memory(describe_bytes(1, one, dnnl_s32, dnnl_a), &zero) } });
	for (size_t i = 0; i < results; i++)
		wrong += result[i] !=
			 sum_at(c, picture, weights, (int)(i / channels), (int)(i % channels));
	printf("integers %dx%d, kernel 1x2, stride in x %d, %d groups of %d to %d channels, zero point %d (%s): %zu of %zu results wrong\n",
	       c->height, c->width, c->stride, c->groups, c->in, c->out, c->zero, name_of(what),
	       wrong, results);
	free(picture);
	free(weights);
	free(result);
	free(scratch);
	return wrong != 0;
}

/*
 * Writes the sizes of caches into oneDNN that it keeps where CPUID leaf 0x8000001D answers zeros:
 * (0 + 1) * (0 + 1) * (0 + 1) * (0 + 1) bytes each. Finds its tables by their shape: three sizes,
 * seven zeros, and ten words later how many levels there are. Returns the number of tables.
 */
static int forget_caches(void)
{
	char line[512];
	int inside = 0, found = 0;
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && fgets(line, sizeof(line), maps)) {
		unsigned long begin, end;
		char rights[8];

		if (sscanf(line, "%lx-%lx %7s", &begin, &end, rights) != 3)
			continue;
		/* The library's data, and the pages without a name after them. */
		inside = strstr(line, "libdnnl") || (inside && !strpbrk(line, "/["));
		if (!inside || rights[1] != 'w')
			continue;
		for (uint32_t *size = (uint32_t *)begin; size + 21 <= (uint32_t *)end; size++) {
			static const uint32_t none[7];

			if (size[0] < 16 << 10 || size[0] > 128 << 10 || size[1] < 128 << 10 ||
			    size[1] > 16 << 20 || size[2] < 1 << 20 || size[20] < 1 ||
			    size[20] > 3 || memcmp(size + 3, none, sizeof(none)))
				continue;
			size[0] = size[1] = size[2] = 1;
			found++;
		}
	}
	if (maps)
		fclose(maps);
	return found;
}

int main(int argc, char **argv)
{
	int wrong = 0;

	CHECK(dnnl_engine_create(&engine, dnnl_cpu, 0));
	CHECK(dnnl_stream_create(&stream, engine, 0));
	/*
	 * The convolutions come before forget_caches(): without cache sizes, oneDNN would use
	 * another implementation for them.
	 */
	for (int stride = 1; stride <= 3; stride++)
		wrong |= convolution(8, 3, stride, 16);
	wrong |= convolution(8, 1, 2, 16);
	for (int stride = 1; stride <= 2; stride++)
		wrong |= integers(&(struct integers){ 8, 3, stride, 1, 16, 22, 0 });
	for (int zero = 0; zero <= 50; zero += 50)
		wrong |= integers(&(struct integers){ 9, 9, 1, 2, 15, 68, zero });
	/* One reorder for each size: oneDNN would take it from its cache of primitives again. */
	if (argc > 1 && !strcmp(argv[1], "--forget-caches"))
		printf("%d tables of cache sizes are forgotten\n", forget_caches());
	wrong |= reorder(24, 3);
	wrong |= reorder(32, 3);
	return wrong;
}
