// SPDX-License-Identifier: MIT
/*
 * Tests that unrolled loops give the same bits as loops that iterate: test_stablehlo_unroll FILE.
 * The table has a row for each module of the file; other loops are random.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <webnn/stablehlo.h>
#include <webnn/webnn_npu.h>

#include "../random.h"
#include "context.h"
#include "memory.h"

#define MOST_BYTES (1 << 16)

enum course {
	IN_A_ROW, /* all operations are unrolled */
	INNER,	  /* of two loops, only the inner one is unrolled */
	TURNS,
};

/*
 * The expected behaviour of each module of the file. TURNS: its loops iterate, and are not
 * unrolled.
 */
static const struct {
	enum course course;
	bool exact; /* reference kernels and device have the same bits */
} modules[] = {
	{ IN_A_ROW, true }, { IN_A_ROW, true },	 { IN_A_ROW, true }, { IN_A_ROW, true },
	{ IN_A_ROW, true }, { IN_A_ROW, false }, { INNER, true },    { TURNS, true },
	{ TURNS, true },    { TURNS, true },	 { IN_A_ROW, true },
};

#define MODULE_COUNT (sizeof(modules) / sizeof(modules[0]))

static WNNContext contexts[2];
static const char *const devices[] = { "sim", "cpu" };

static int complain(const char *what, size_t module)
{
	WNNError error = WNN_ERROR_INIT;

	wnnStablehloGetLastError(&error);
	printf("module %zu: %s (%.*s)\n", module, what, (int)error.message.length,
	       error.message.data);
	return 1;
}

/*
 * Makes inputs of small numbers, which are equal in each call: integers from 0 to 7, floats from -2
 * to 2. Returns false when memory is exhausted.
 */
static bool make_inputs(WNNStablehloProgram program, size_t module, WNNStablehloTensor *inputs)
{
	WNNStablehloValueInfoArray infos = wnnStablehloProgramGetInputs(program, module);
	struct rng rng = { 5 };

	for (size_t i = 0; i < infos.count; i++) {
		size_t count = 1, size = infos.data[i].elementSize;
		char *data;

		for (size_t k = 0; k < infos.data[i].rank; k++)
			count *= (size_t)infos.data[i].dimensions[k];
		data = calloc(count, size);
		if (!data)
			return false;
		for (size_t k = 0; k < count; k++) {
			float real = (float)rng_below(&rng, 1 << 12) / (1 << 10) - 2;
			int32_t number = (int32_t)rng_below(&rng, 8);

			memcpy(data + k * size,
			       infos.data[i].elementType.data[0] == 'f' ? (void *)&real :
									  (void *)&number,
			       size);
		}
		inputs[i] = (WNNStablehloTensor){ data, count * size, infos.data[i].rank,
						  infos.data[i].dimensions };
	}
	return true;
}

/*
 * Runs a module and stores the bytes of all results in @bytes; returns the number of bytes, or 0
 * after an error.
 */
static size_t run(WNNStablehloProgram program, size_t module, WNNContext context, uint64_t limit,
		  char *bytes, WNNStablehloRunInfo *info)
{
	size_t count = wnnStablehloProgramGetInputs(program, module).count, size = 0;
	WNNStablehloTensor inputs[4] = { 0 };
	WNNStablehloTensorArray results;
	WNNStatus status = WNNStatus_UnknownError;

	wnnStablehloProgramSetUnrollLimit(program, limit);
	if (make_inputs(program, module, inputs))
		status = wnnStablehloProgramRunSync(program, module, context, count, inputs);
	for (size_t i = 0; i < count; i++)
		free((void *)inputs[i].data);
	if (status != WNNStatus_Success)
		return 0;
	*info = wnnStablehloProgramGetRunInfo(program);
	results = wnnStablehloProgramGetResults(program);
	for (size_t i = 0; i < results.count; i++) {
		memcpy(bytes + size, results.data[i].data, results.data[i].size);
		size += results.data[i].size;
	}
	return size;
}

/*
 * Compares the bits of iterated and unrolled runs on each device; with @exact, also with those of
 * the reference kernels. Returns 1 if a run differs or fails, else 0.
 */
static int compare(WNNStablehloProgram program, size_t module, bool exact,
		   WNNStablehloRunInfo *turned, WNNStablehloRunInfo *in_a_row)
{
	static char expected[MOST_BYTES], bytes[MOST_BYTES];
	size_t size = 0;
	int ret = 0;

	if (exact)
		size = run(program, module, NULL, 0, expected, turned);
	for (int i = 1; i >= 0; i--) {
		if (!exact)
			size = run(program, module, contexts[i], 0, expected, turned);
		if (!size)
			return complain("it does not run", module);
		if (run(program, module, contexts[i], 0, bytes, turned) != size ||
		    memcmp(bytes, expected, size))
			ret = complain(devices[i], module);
		if (run(program, module, contexts[i], WNN_STABLEHLO_UNROLL_LIMIT_DEFAULT, bytes,
			in_a_row) != size ||
		    memcmp(bytes, expected, size))
			ret = complain(devices[i], module);
	}
	return ret;
}

static int test_module(WNNStablehloProgram program, size_t module)
{
	WNNStablehloRunInfo turned, in_a_row;
	int ret = compare(program, module, modules[module].exact, &turned, &in_a_row);

	if (modules[module].course == IN_A_ROW &&
	    (in_a_row.referenceOperations || in_a_row.cpuOperators || !in_a_row.graphOperations))
		ret = complain("not all of it runs on the device", module);
	if ((modules[module].course == TURNS) !=
	    (turned.referenceOperations == in_a_row.referenceOperations))
		ret = complain("as many operations turn as without a limit, or it should", module);
	return ret;
}

/* Returns 0 if limits on iterations and on operations apply to unrolled loops, else 1. */
static int test_limit(WNNStablehloProgram program)
{
	WNNStablehloRunInfo info;
	char bytes[256];
	int ret = 0;

	wnnStablehloProgramSetLoopLimit(program, 3);
	if (run(program, 0, contexts[1], WNN_STABLEHLO_UNROLL_LIMIT_DEFAULT, bytes, &info))
		ret = complain("it turns more often than it may", 0);
	wnnStablehloProgramSetLoopLimit(program, 4);
	if (!run(program, 0, contexts[1], WNN_STABLEHLO_UNROLL_LIMIT_DEFAULT, bytes, &info) ||
	    info.referenceOperations)
		ret = complain("it may turn so often", 0);
	/*
	 * Each of four iterations has a condition and ten operations; a fifth condition ends the
	 * loop.
	 */
	if (!run(program, 0, contexts[1], 4 * 11 + 1, bytes, &info) || info.referenceOperations)
		ret = complain("it has so many operations", 0);
	if (!run(program, 0, contexts[1], 4 * 11, bytes, &info) || !info.referenceOperations)
		ret = complain("it has more operations", 0);
	wnnStablehloProgramSetLoopLimit(program, WNN_STABLEHLO_LOOP_LIMIT_DEFAULT);
	return ret;
}

/*
 * Returns 0 if an endless loop, all of whose iterations could be computed at once, ends with an
 * error; else 1.
 */
static int test_endless(void)
{
	static const char text[] =
		"func.func @main() -> tensor<i1> {\n  %t = stablehlo.constant dense<true> : tensor<i1>\n"
		"  %r = stablehlo.while(%a = %t) : tensor<i1>\n    cond {\n"
		"      stablehlo.return %t : tensor<i1>\n    } do {\n"
		"      stablehlo.return %a : tensor<i1>\n    }\n  return %r : tensor<i1>\n}\n";
	WNNStablehloProgram program;
	WNNStablehloRunInfo info;
	WNNError error = WNN_ERROR_INIT;
	char bytes[8];
	int ret = 0;

	if (wnnStablehloLoadMemory(text, strlen(text), NULL, &program) != WNNStatus_Success)
		return complain("the loop without an end does not load", 0);
	if (run(program, 0, contexts[1], UINT64_MAX, bytes, &info))
		ret = complain("a loop without an end has ended", 0);
	wnnStablehloGetLastError(&error);
	if (!strstr(error.message.data,
		    "line 3, column 3: stablehlo.while: it has not ended after 4194304 iterations"))
		ret = complain("what is said of a loop without an end", 0);
	wnnStablehloProgramRelease(program);
	return ret;
}

/*
 * Returns 0 if each run ends with an error or the right result, for any number of allocations that
 * succeed before one fails; else 1.
 */
static int test_memory(WNNStablehloProgram program)
{
	WNNStablehloRunInfo info;
	char expected[256], bytes[256];
	size_t size = run(program, 2, contexts[1], 4096, expected, &info), got = 0;
	int ret = !size;

	for (int64_t left = 0; !got && left < 10000; left++) {
		import_memory_left = left;
		got = run(program, 2, contexts[1], 4096, bytes, &info);
		import_memory_left = -1;
		if (got && (got != size || memcmp(bytes, expected, size)))
			ret = complain("with little memory it is something else", 2);
	}
	return ret || !got;
}

static int test_file(const char *path)
{
	WNNStablehloProgram program;
	int ret = 0;

	if (wnnStablehloLoadFile(WNN_STR(path), NULL, &program) != WNNStatus_Success)
		return complain("it does not load", 0);
	if (wnnStablehloProgramGetModuleCount(program) != MODULE_COUNT)
		ret = complain("the table has another number of modules", MODULE_COUNT);
	for (size_t i = 0; !ret && i < MODULE_COUNT; i++)
		ret |= test_module(program, i);
	ret |= test_limit(program);
	ret |= test_memory(program);
	wnnStablehloProgramRelease(program);
	return ret;
}

/* ---- at random */

struct text {
	char data[1 << 14];
	size_t length;
	struct rng rng;
	int names;
};

static void add(struct text *text, const char *format, ...)
{
	size_t room = sizeof(text->data) - text->length;
	va_list args;

	va_start(args, format);
	text->length += (size_t)vsnprintf(text->data + text->length, room, format, args);
	va_end(args);
}

static uint32_t draw(struct text *text, uint32_t count)
{
	return rng_below(&text->rng, count);
}

/*
 * Adds the body of a loop: what an iteration does with its values %a and %b, which become %x and
 * %y.
 */
static void add_body(struct text *text, int id, int depth);

static void add_loop(struct text *text, const char *first, const char *second, int depth)
{
	static const char *const types[] = { "i32", "i64", "ui8", "i8" };
	static const char *const directions[2][3] = { { "LT", "LE", "NE" }, { "GT", "GE", "NE" } };
	const char *type = types[draw(text, 4)];
	uint32_t down = draw(text, 2), turns = draw(text, 5), step = 1 + draw(text, 3);
	uint32_t direction = draw(text, 3), from = 20 + draw(text, 9), way = turns * step;
	int id = text->names++;

	/* Without a comparison for equality, the last step may go beyond the bound. */
	if (turns && direction == 0)
		way -= draw(text, step);
	else if (turns && direction == 1)
		way -= 1 + draw(text, step);
	else if (direction == 1)
		way = UINT32_MAX;
	for (int i = 0; i < 3; i++)
		add(text, "%%%s%d = stablehlo.constant dense<%u> : tensor<%s>\n",
		    (const char *[]){ "from", "to", "step" }[i], id,
		    (uint32_t[]){ from, down ? from - way : from + way, step }[i], type);
	add(text,
	    "%%r%d:3 = stablehlo.while(%%i%d = %%from%d, %%a%d = %s, %%b%d = %s) : tensor<%s>, "
	    "tensor<4xf32>, tensor<4xi32>\ncond {\n",
	    id, id, id, id, first, id, second, type);
	add(text,
	    "%%go%d = stablehlo.compare %s, %%i%d, %%to%d : (tensor<%s>, tensor<%s>) -> tensor<i1>\n",
	    id, directions[down][direction], id, id, type, type);
	add(text, "stablehlo.return %%go%d : tensor<i1>\n} do {\n", id);
	add(text, "%%at%d = stablehlo.convert %%i%d : (tensor<%s>) -> tensor<i32>\n", id, id, type);
	add_body(text, id, depth);
	add(text, "%%next%d = stablehlo.%s %%i%d, %%step%d : tensor<%s>\n", id,
	    down ? "subtract" : "add", id, id, type);
	add(text,
	    "stablehlo.return %%next%d, %%x%d, %%y%d : tensor<%s>, tensor<4xf32>, "
	    "tensor<4xi32>\n}\n",
	    id, id, id, type);
}

/*
 * Adds one or two operations that compute @out from @x, both of type tensor<4xf32>; @id is the
 * number of the loop, whose counter may be the index of a slice.
 */
static void add_real(struct text *text, const char *out, const char *x, int id)
{
	static const char *const ops[] = { "add", "subtract", "maximum", "minimum" };

	switch (draw(text, 3)) {
	case 0:
		add(text, "%s = stablehlo.%s %s, %%x : tensor<4xf32>\n", out, ops[draw(text, 4)],
		    x);
		break;
	case 1:
		add(text, "%s = stablehlo.reverse %s, dims = [0] : tensor<4xf32>\n", out, x);
		break;
	default:
		add(text,
		    "%ss = stablehlo.dynamic_slice %%x, %%at%d, sizes = [2] : (tensor<4xf32>, "
		    "tensor<i32>) -> tensor<2xf32>\n"
		    "%s = stablehlo.dynamic_update_slice %s, %ss, %%step : (tensor<4xf32>, "
		    "tensor<2xf32>, tensor<i32>) -> tensor<4xf32>\n",
		    out, id, out, x, out);
	}
}

static void add_integer(struct text *text, const char *out, const char *y, int id)
{
	static const char *const ops[] = { "add", "subtract", "multiply", "maximum" };

	if (draw(text, 2))
		add(text, "%s = stablehlo.%s %s, %%y : tensor<4xi32>\n", out, ops[draw(text, 4)],
		    y);
	else
		add(text,
		    "%sb = stablehlo.broadcast_in_dim %%at%d, dims = [] : (tensor<i32>) -> "
		    "tensor<4xi32>\n%s = stablehlo.%s %s, %sb : tensor<4xi32>\n",
		    out, id, out, ops[draw(text, 4)], y, out);
}

static void add_body(struct text *text, int id, int depth)
{
	char x[24], y[24], out[24];

	snprintf(x, sizeof(x), "%%a%d", id);
	snprintf(y, sizeof(y), "%%b%d", id);
	for (uint32_t i = draw(text, 3); i > 0; i--) {
		snprintf(out, sizeof(out), "%%v%d", text->names++);
		add_real(text, out, x, id);
		strcpy(x, out);
	}
	if (depth < 2 && draw(text, 2)) {
		int inner = text->names;

		add_loop(text, x, y, depth + 1);
		snprintf(x, sizeof(x), "%%r%d#1", inner);
		snprintf(y, sizeof(y), "%%r%d#2", inner);
	}
	for (uint32_t i = draw(text, 3); i > 0; i--) {
		snprintf(out, sizeof(out), "%%v%d", text->names++);
		add_integer(text, out, y, id);
		strcpy(y, out);
	}
	add(text, "%%x%d = stablehlo.add %s, %%x : tensor<4xf32>\n", id, x);
	add(text, "%%y%d = stablehlo.add %s, %%y : tensor<4xi32>\n", id, y);
}

static int test_random(uint64_t seed, size_t *in_a_row)
{
	static struct text text;
	WNNStablehloRunInfo turned, rowed;
	WNNStablehloProgram program;
	int ret;

	text.length = 0;
	text.names = 0;
	text.rng = (struct rng){ seed };
	add(&text, "func.func @main(%%x: tensor<4xf32>, %%y: tensor<4xi32>) -> (tensor<4xf32>, "
		   "tensor<4xi32>) {\n%%step = stablehlo.constant dense<1> : tensor<i32>\n");
	add_loop(&text, "%x", "%y", 0);
	add(&text, "return %%r0#1, %%r0#2 : tensor<4xf32>, tensor<4xi32>\n}\n");
	if (wnnStablehloLoadMemory(text.data, text.length, NULL, &program) != WNNStatus_Success)
		return complain(text.data, (size_t)seed);
	ret = compare(program, 0, true, &turned, &rowed);
	*in_a_row += !rowed.referenceOperations;
	wnnStablehloProgramRelease(program);
	if (ret)
		puts(text.data);
	return ret;
}

int main(int argc, char **argv)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	size_t in_a_row = 0;
	int ret = argc < 2 || !instance;

	for (int i = 0; !ret && i < 2; i++) {
		contexts[i] = open_context(instance, devices[i]);
		ret = !contexts[i];
	}
	if (!ret)
		ret = test_file(argv[1]) | test_endless();
	for (uint64_t seed = 1; !ret && seed <= 60; seed++)
		ret = test_random(seed, &in_a_row);
	if (!ret && in_a_row < 60)
		ret = complain("so few of those drawn were in a row", in_a_row);
	for (int i = 0; i < 2; i++)
		wnnContextRelease(contexts[i]);
	wnnInstanceRelease(instance);
	return ret;
}
