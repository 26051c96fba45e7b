// SPDX-License-Identifier: MIT
/*
 * Derives the least cost of random instructions from the units of silicon.xml, and checks that the
 * model's cost on each named machine is not lower: no unit may do more in a cycle than it can.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"
#include "machine/sim.h"
#include "onpu/machines.h"
#include "onpu/silicon.h"
#include "reference.h"

#define CASES 60
#define SEED  20261130
/*
 * For each instruction but those that move single elements, some case must have a derived cost of
 * at least this share of the model's cost; otherwise the bound would find nothing.
 */
#define TIGHT	  0.15
#define TIGHT_MMA 0.75

static struct rig_job job;

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static double smaller(double a, double b)
{
	return a < b ? a : b;
}

/* Returns the cycles that @units units, each with the counts @unit, need for @n times the work. */
static double unit_cycles(const struct onpu_silicon_counts *work,
			  const struct onpu_silicon_counts *unit, double n, double units)
{
	const unsigned int *w = &work->multiply, *u = &unit->multiply;
	double most = 0;

	for (size_t i = 0; i < sizeof(*work) / sizeof(*w); i++)
		if (w[i])
			most = larger(most, n * w[i] / (units * u[i]));
	return most;
}

static double elements(const struct sim_tensor *t)
{
	double n = 1;

	for (unsigned int i = 0; i < t->rank; i++)
		n *= t->dim[i];
	return n;
}

static double bytes_of(const struct sim_tensor *t)
{
	return sim_is_nibble(t->dtype) ? 0.5 : t->esize;
}

/* Returns the bytes of a tensor's distinct elements: a dimension with stride 0 adds none. */
static double bytes(const struct sim_tensor *t)
{
	double n = bytes_of(t);

	for (unsigned int i = 0; i < t->rank; i++)
		n *= t->stride[i] ? t->dim[i] : 1;
	return n;
}

static double taps(const struct sim_work *w)
{
	return w->has_param && w->info->schema == ONPU_SCHEMA_TAPS ? sim_tap_count(w) : 1;
}

static double whole(double a, double b)
{
	uint64_t n = (uint64_t)(a / b);

	return (double)(n + (n * b < a));
}

static double lines(double n)
{
	return whole(n, ONPU_SILICON_LINE);
}

/*
 * Returns the least cycles of products in one form of the array: the most that the units, the reads
 * of either operand, or the writes of results need.
 */
static double form_least(const struct sim_work *w, const struct onpu_sim_config *config,
			 double rows, double cols)
{
	const struct sim_tensor *d = &w->t[0], *a = &w->t[1], *b = &w->t[2];
	unsigned int last = d->rank - 1;
	double batch = 1, m = 1, n = d->dim[last], k = a->dim[last] * taps(w);
	double cells = (double)config->mxu_rows * config->mxu_cols;
	double results, most;

	for (unsigned int i = 0; i < last; i++)
		*(b->stride[i] ? &batch : &m) *= d->dim[i];
	most = unit_cycles(&onpu_silicon_work[w->insn.op], &onpu_silicon_mxu, batch * m * n * k,
			   cells / ONPU_SILICON_CELLS);
	/* Each block of columns reads the rows again, and each block of rows the columns. */
	most = larger(most, batch * m * k * whole(n, cols) * bytes_of(a) /
				    (ONPU_SILICON_LINE * lines(rows)));
	most = larger(most, batch * n * k * whole(m, rows) * bytes_of(b) /
				    (ONPU_SILICON_LINE * lines(cols)));
	results = batch * m * n * d->esize * (sim_taps_move(w) ? taps(w) : 1);
	return larger(most, results / (ONPU_SILICON_LINE * lines(4 * cells / config->mxu_rows)));
}

static double mma_least(const struct sim_work *w, const struct onpu_sim_config *config)
{
	unsigned int forms = (config->features & ONPU_CAP_FEATURES_MXU_FORMS__MASK) >>
			     ONPU_CAP_FEATURES_MXU_FORMS__SHIFT;
	double least = form_least(w, config, config->mxu_rows, config->mxu_cols);

	for (unsigned int i = 1; i <= forms; i++) {
		double by = 1u << i;

		least = smaller(least, form_least(w, config, config->mxu_rows * by,
						  config->mxu_cols / by));
		least = smaller(least, form_least(w, config, config->mxu_rows / by,
						  config->mxu_cols * by));
	}
	return least;
}

/*
 * Returns the least cycles of a vector instruction: the most that the units of the lanes or the
 * port of any operand need.
 */
static double vector_least(const struct sim_work *w, const struct onpu_sim_config *config)
{
	double n = elements(&w->t[w->info->cost == ONPU_COST_REDUCE ? 1 : 0]), most;

	if (w->info->cost == ONPU_COST_WINDOW)
		n *= taps(w);
	most = unit_cycles(&onpu_silicon_work[w->insn.op], &onpu_silicon_vpu, n, config->lanes);
	/* A resample need not read all of its source. */
	for (unsigned int i = 0; i < (w->info->schema == ONPU_SCHEMA_RESAMPLE ? 1 : 4); i++)
		if (w->t[i].present)
			most = larger(most, bytes(&w->t[i]) / (ONPU_SILICON_LINE *
							       lines(4.0 * config->lanes)));
	return most;
}

static double least(const struct sim_work *w, const struct onpu_sim_config *config)
{
	switch (w->info->cost) {
	case ONPU_COST_MMA:
		return mma_least(w, config);
	case ONPU_COST_DMA:
	case ONPU_COST_GATHER:
		return elements(&w->t[0]) * w->t[0].esize / config->dma_bytes_per_cycle *
		       (w->insn.op >= ONPU_OP_DMA_SCATTER_ELEM ? 0 : 1);
	case ONPU_COST_VECTOR:
	case ONPU_COST_REDUCE:
	case ONPU_COST_SCAN:
	case ONPU_COST_WINDOW:
		return vector_least(w, config);
	default:
		return 0;
	}
}

static bool read_slot(void *ctx, uint32_t index, union onpu_slot *slot)
{
	*slot = *rig_slot(ctx, index);
	return true;
}

/*
 * Makes a product so deep and wide that it fills the array; changes only its cost and dimensions.
 */
static void grow(struct sim_work *w, const struct onpu_sim_config *config)
{
	unsigned int last = w->t[0].rank - 1;

	w->t[1].dim[last] *= 8;
	w->t[2].dim[last] *= 8;
	w->t[2].dim[last + 1] = w->t[0].dim[last] = (w->t[0].dim[last] | 255) + 1;
	w->cost = sim_cost(w, config);
}

/*
 * Returns whether the decoded instruction costs enough. Raises *@tight, the largest share of the
 * cost so far, to that of this instruction.
 */
static bool check_cost(const struct gen *g, const char *machine, double *tight)
{
	struct onpu_sim_config config = onpu_sim_config_default();
	struct sim_context c = { .sram_bytes = RIG_SRAM_MAX, .config = &config };
	struct sim_slot_source slots = { &job, job.program.num_slots, read_slot };
	struct sim_work w = { .insn = g->insn, .info = g->info, .engine = g->info->engine };
	double want;

	if (!onpu_sim_config_name(&config, machine))
		abort();
	if (!sim_decode(&c, &w, &slots))
		return true; /* it costs too much for one instruction */
	if (w.info->cost == ONPU_COST_MMA)
		grow(&w, &config);
	want = least(&w, &config);
	if (want / (double)w.cost > *tight)
		*tight = want / (double)w.cost;
	if ((double)w.cost >= want)
		return true;
	printf("%s: %s costs %" PRIu64 " cycles, but its units need %.1f\n", machine, g->info->name,
	       w.cost, want);
	return false;
}

/*
 * Returns the number of failures of an instruction on a machine. The case with the largest share of
 * its cost must reach TIGHT (for a matrix product, TIGHT_MMA), unless single elements move: a bound
 * far below the cost would find nothing.
 */
static unsigned int test_op(enum onpu_op op, const char *machine)
{
	static struct gen g;
	double must = onpu_op_info[op].cost == ONPU_COST_MMA ? TIGHT_MMA : TIGHT, tight = 0;
	unsigned int failures = 0;

	for (uint64_t n = 0; n < CASES && !failures; n++) {
		memset(&g, 0, sizeof(g));
		g.random.state = SEED + 1000003 * n + ((uint64_t)op << 40);
		g.job = &job;
		generate_size(&g, op, n % 10 ? RIG_SMALL : RIG_LARGE);
		failures += !check_cost(&g, machine, &tight);
	}
	printf("%-10s %-18s needs %3.0f %% of its cost\n", machine, onpu_op_info[op].name,
	       100 * tight);
	if (tight < must && g.info->cost != ONPU_COST_GATHER) {
		printf("  which must be %.0f %% in one of %u cases\n", 100 * must, CASES);
		failures++;
	}
	return failures;
}

int main(void)
{
	unsigned int failures = 0;

	for (unsigned int i = 0; i < ONPU_MACHINE_COUNT; i++)
		for (unsigned int op = ONPU_OP_DMA_COPY; op < ONPU_OP_COUNT; op++)
			failures += test_op(op, onpu_machines[i].name);
	return failures ? 1 : 0;
}
