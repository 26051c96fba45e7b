// SPDX-License-Identifier: MIT
/*
 * Tests damaged programs, and memory that ends at any point: test_stablehlo_damage FOLDER BYTECODE…
 * Nothing may crash or leak, which the sanitizers of the build check; errors must have a message.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <webnn/stablehlo.h>

#include "../random.h"
#include "memory.h"

static char *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	char *data;

	if (!file)
		return NULL;
	data = malloc(1 << 20);
	*size = data ? fread(data, 1, 1 << 20, file) : 0;
	fclose(file);
	return data;
}

static int has_message(void)
{
	WNNError error = WNN_ERROR_INIT;

	return wnnStablehloGetLastError(&error) != WNNStatus_Success && error.message.length > 5;
}

/*
 * Loads a program, runs its modules that have no inputs, and prints it. Returns 0, or 1 after an
 * error without a message.
 */
static int load_and_run(const char *data, size_t size)
{
	WNNStablehloProgram program;
	WNNStringView text;
	int ret = 0;

	if (wnnStablehloLoadMemory(data, size, NULL, &program) != WNNStatus_Success)
		return !has_message();
	for (size_t i = 0; i < wnnStablehloProgramGetModuleCount(program); i++)
		if (!wnnStablehloProgramGetInputs(program, i).count &&
		    wnnStablehloProgramRunSync(program, i, NULL, 0, NULL) != WNNStatus_Success)
			ret |= !has_message();
	if (wnnStablehloProgramGetText(program, &text) != WNNStatus_Success)
		ret |= !has_message();
	wnnStablehloProgramRelease(program);
	return ret;
}

/*
 * Loads the program and does not run it, as a loop whose condition was changed may never end.
 * Returns 1 when it is refused without a message, else 0.
 */
static int load(const char *data, size_t size)
{
	WNNStablehloProgram program;

	if (wnnStablehloLoadMemory(data, size, NULL, &program) != WNNStatus_Success)
		return !has_message();
	wnnStablehloProgramRelease(program);
	return 0;
}

/*
 * The number of damaged copies that are read of each file; builds that are slow set a smaller one.
 */
#ifndef DAMAGES
#define DAMAGES 2000
#endif

static int damage(const char *data, size_t size)
{
	struct rng rng = { 1 };
	char *copy = malloc(size);
	int ret = 0;

	if (!copy)
		return 1;
	for (size_t at = 0; at < size; at += 1 + size / 400)
		ret |= load(data, at);
	for (int i = 0; i < DAMAGES; i++) {
		size_t at = rng_below(&rng, size);

		memcpy(copy, data, size);
		copy[at] = (char)rng_u32(&rng);
		copy[(at + rng_below(&rng, 20)) % size] =
			"%<>{}()[]:,0x-\"#@!"[rng_below(&rng, 18)];
		ret |= load(copy, size);
	}
	free(copy);
	return ret;
}

/*
 * Loads and runs a program again and again. Each time more allocations succeed before they fail, in
 * small steps at first. Returns 1 after an error without a message, else 0.
 */
static int starve(const char *data, size_t size)
{
	int ret = 0;

	for (int64_t left = 0; left < 20000; left += 1 + left / 50) {
		import_memory_left = left;
		ret |= load_and_run(data, size);
	}
	import_memory_left = -1;
	return ret;
}

/*
 * Runs a program on two devices again and again. Each time one more allocation of this thread
 * succeeds. Returns 1 after an error without a message, or when no run or each run fails, else 0.
 */
static int starve_partitions(void)
{
	static const char text[] =
		"sdy.mesh @m = <[\"x\"=2]>\n"
		"func.func @main() -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{\"x\"}]>}) {\n"
		"  %v = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>\n"
		"  return %v : tensor<4xf32>\n}\n";
	int failures = 0, ret = 0;

	for (int64_t left = 0; left < 20; left++) {
		WNNStablehloProgram program;

		if (wnnStablehloLoadPartitioned(text, strlen(text), NULL, 2, &program))
			return 1;
		import_memory_left = left;
		if (wnnStablehloProgramRunPartitionedSync(program, 0, 2, NULL, 0, NULL)) {
			ret |= !has_message();
			failures++;
		}
		import_memory_left = -1;
		wnnStablehloProgramRelease(program);
	}
	printf("partitions: %s\n", ret ? "an error says nothing" : "ok");
	/* The first allocation is needed, and 20 are more than enough. */
	return ret || !failures || failures == 20;
}

/* Tests a file. Returns 0, 1 after an error without a message, or -1 when the file is missing. */
static int test_file(const char *path)
{
	size_t size;
	char *data = read_file(path, &size);
	int bad;

	if (!data)
		return -1;
	bad = load_and_run(data, size) | damage(data, size) | starve(data, size);
	printf("%s: %s\n", path, bad ? "an error says nothing" : "ok");
	free(data);
	return bad;
}

int main(int argc, char **argv)
{
	struct dirent **entries;
	int count = argc > 1 ? scandir(argv[1], &entries, NULL, alphasort) : -1, ret = 0, seen = 0;

	for (int i = 0; i < count; i++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s", argv[1], entries[i]->d_name);
		if (strstr(path, ".mlir")) {
			ret |= test_file(path) != 0;
			seen++;
		}
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	for (int i = 2; i < argc; i++)
		ret |= test_file(argv[i]) != 0;
	ret |= starve_partitions();
	return ret || seen < 4 || argc < 3;
}
