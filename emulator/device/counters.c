// SPDX-License-Identifier: MIT
/* Counters of the device: what all jobs have done since power-on (enum onpu_counter). */
#include "device/device.h"

#include <string.h>

_Static_assert(ONPU_REG_COUNTER__LENGTH == ONPU_COUNTER_COUNT &&
		       ONPU_NUM_COUNTERS__RESET == ONPU_COUNTER_COUNT,
	       "the register map has each counter");
_Static_assert(ONPU_COUNTER_BUSY + ONPU_ENG_COUNT == ONPU_COUNTER_BYTES_LD,
	       "each engine has a counter");

/* Fills in what the running job has done up to now; zero when there is none. */
static void job_values(const struct onpu_device *d, uint64_t values[ONPU_COUNTER_COUNT])
{
	const struct onpu_counters *c = &onpu_machine_result(d->machine)->counters;

	memset(values, 0, ONPU_COUNTER_COUNT * sizeof(*values));
	if (!d->cp.running)
		return;
	values[ONPU_COUNTER_CYCLES] = d->inside ? d->cp.shown : cp_job_time(d);
	memcpy(&values[ONPU_COUNTER_BUSY], c->busy, sizeof(c->busy));
	values[ONPU_COUNTER_BYTES_LD] = c->bytes_ld;
	values[ONPU_COUNTER_BYTES_ST] = c->bytes_st;
	values[ONPU_COUNTER_MACS] = c->macs;
	values[ONPU_COUNTER_ELEMENTS] = c->elements;
	values[ONPU_COUNTER_ENERGY] = onpu_machine_energy(d->machine) / 1000;
}

/* Returns what a counter has gained; 0 if it is lower, after a restore from a damaged state. */
static uint64_t gain(uint64_t now, uint64_t seen)
{
	return now > seen ? now - seen : 0;
}

void counters_add_job(struct onpu_device *d)
{
	struct counters *c = &d->counters;
	uint64_t values[ONPU_COUNTER_COUNT];

	job_values(d, values);
	for (unsigned int i = 0; i < ONPU_COUNTER_COUNT; i++)
		c->total[i] += gain(values[i], c->seen[i]);
	memcpy(c->seen, values, sizeof(c->seen));
}

void counters_take_job(struct onpu_device *d)
{
	job_values(d, d->counters.seen);
}

uint64_t counters_read(const struct onpu_device *d, unsigned int counter)
{
	uint64_t values[ONPU_COUNTER_COUNT];

	if (counter == ONPU_COUNTER_TLB_MISSES)
		return d->mmu.misses;
	job_values(d, values);
	return d->counters.total[counter] + gain(values[counter], d->counters.seen[counter]);
}
