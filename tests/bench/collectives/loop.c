// SPDX-License-Identifier: MIT
/*
 * Runs as a rank of ./npu bench collectives. For each argument, a number of bytes, it measures a
 * StableHLO program that sums floats over all ranks in a loop, and a loop of MPI_Allreduce(); both
 * alternate. Rank 0 prints a line for each number of bytes. It has the bytes; by the clock, the
 * median seconds of an all_reduce and of an MPI_Allreduce and the median of their ratio; these
 * three again by the processor time of all ranks together; and the least processor time of both, as
 * other work on the machine only ever adds to it.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <webnn/stablehlo.h>

#define ROUNDS 9

static const char text[] =
	"func.func @main(%%x: tensor<%zuxf32>) -> tensor<%zuxf32> {\n"
	"  %%zero = stablehlo.constant dense<0> : tensor<i32>\n"
	"  %%one = stablehlo.constant dense<1> : tensor<i32>\n"
	"  %%n = stablehlo.constant dense<%d> : tensor<i32>\n"
	"  %%r:2 = stablehlo.while(%%i = %%zero, %%y = %%x) : tensor<i32>, tensor<%zuxf32>\n"
	"    cond {\n"
	"      %%c = stablehlo.compare LT, %%i, %%n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
	"      stablehlo.return %%c : tensor<i1>\n"
	"    } do {\n"
	"      %%s = \"stablehlo.all_reduce\"(%%x) ({\n"
	"        ^bb0(%%a: tensor<f32>, %%b: tensor<f32>):\n"
	"          %%d = stablehlo.add %%a, %%b : tensor<f32>\n"
	"          stablehlo.return %%d : tensor<f32>\n"
	"      }) {replica_groups = dense<> : tensor<0x0xi64>} : (tensor<%zuxf32>) -> tensor<%zuxf32>\n"
	"      %%k = stablehlo.add %%i, %%one : tensor<i32>\n"
	"      stablehlo.return %%k, %%s : tensor<i32>, tensor<%zuxf32>\n"
	"    }\n"
	"  return %%r#1 : tensor<%zuxf32>\n"
	"}\n";

static void fail(const char *what)
{
	WNNError error = WNN_ERROR_INIT;

	wnnStablehloGetLastError(&error);
	fprintf(stderr, "bench collectives: %s: %.*s\n", what, (int)error.message.length,
		error.message.data);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Seconds of one iteration of a loop: by the clock, and of processor time of all ranks together. */
struct cost {
	double clock, processors;
};

static struct cost now(void)
{
	struct cost now;
	struct timespec own;
	double seconds;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
	seconds = (double)own.tv_sec + 1e-9 * (double)own.tv_nsec;
	/* MPI_Allreduce() is a barrier, too: all ranks read the clock after it. */
	MPI_Allreduce(&seconds, &now.processors, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	now.clock = MPI_Wtime();
	return now;
}

static struct cost cost_since(struct cost begin, int loops)
{
	struct cost end = now();

	return (struct cost){ (end.clock - begin.clock) / loops,
			      (end.processors - begin.processors) / loops };
}

static struct cost run_ours(WNNStablehloProgram program, const float *x, size_t count, int loops)
{
	WNNStablehloTensor input = { x, count * sizeof(*x), 0, NULL };
	struct cost begin = now();

	if (wnnStablehloProgramRunSync(program, 0, NULL, 1, &input) != WNNStatus_Success)
		fail("run");
	return cost_since(begin, loops);
}

static struct cost run_mpi(const float *x, float *y, size_t count, int loops)
{
	struct cost begin = now();

	for (int i = 0; i < loops; i++)
		MPI_Allreduce(x, y, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
	return cost_since(begin, loops);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *numbers)
{
	qsort(numbers, ROUNDS, sizeof(*numbers), compare);
	return numbers[ROUNDS / 2];
}

static void measure(WNNStablehloWorld world, size_t bytes)
{
	size_t count = bytes / sizeof(float);
	int loops = bytes < 65536 ? 400 : bytes < 1 << 20 ? 100 : bytes < 4 << 20 ? 40 : 20;
	float *x = malloc(bytes), *y = malloc(bytes);
	double costs[6][ROUNDS];
	WNNStablehloProgram program = NULL;
	char *source = malloc(sizeof(text) + 200);

	if (!x || !y || !source)
		fail("memory");
	for (size_t i = 0; i < count; i++)
		x[i] = (float)(i % 100);
	sprintf(source, text, count, count, loops, count, count, count, count, count);
	if (wnnStablehloLoadMemory(source, strlen(source), NULL, &program) != WNNStatus_Success ||
	    wnnStablehloProgramSetWorld(program, world, 0) != WNNStatus_Success)
		fail("load");
	run_ours(program, x, count, loops);
	run_mpi(x, y, count, loops);
	if (memcmp(wnnStablehloProgramGetResults(program).data[0].data, y, bytes))
		fail("results are not those of MPI_Allreduce");
	for (int i = 0; i < ROUNDS; i++) {
		struct cost ours = run_ours(program, x, count, loops);
		struct cost mpi = run_mpi(x, y, count, loops);

		costs[0][i] = ours.clock;
		costs[1][i] = mpi.clock;
		costs[2][i] = ours.clock / mpi.clock;
		costs[3][i] = ours.processors;
		costs[4][i] = mpi.processors;
		costs[5][i] = ours.processors / mpi.processors;
	}
	if (!wnnStablehloWorldGetInfo(world).rank) {
		printf("%zu", bytes);
		for (int i = 0; i < 6; i++)
			printf(" %.9f", median(costs[i]));
		/* median() has sorted the costs: the first one is the least. */
		printf(" %.9f %.9f\n", costs[3][0], costs[4][0]);
	}
	fflush(stdout);
	wnnStablehloProgramRelease(program);
	free(source);
	free(x);
	free(y);
}

int main(int argc, char **argv)
{
	WNNStablehloWorld world;

	MPI_Init(&argc, &argv);
	if (wnnStablehloWorldJoin(&world) != WNNStatus_Success)
		fail("join");
	for (int i = 1; i < argc; i++)
		measure(world, strtoull(argv[i], NULL, 0));
	wnnStablehloWorldRelease(world);
	MPI_Finalize();
	return 0;
}
