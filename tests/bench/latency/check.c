// SPDX-License-Identifier: MIT
/*
 * bench-latency-check, which bench_latency.py starts: prints how many nanoseconds onednn_check()
 * takes. onednn_check() is the self-test of the layer on oneDNN, which runs when a process loads
 * oneDNN.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cpu/onednn/onednn.h"
#include "util/clock.h"

static uint64_t taken;

int __real_onednn_check(const struct onednn *dnn, struct wnn_error *err);
int __wrap_onednn_check(const struct onednn *dnn, struct wnn_error *err);

int __wrap_onednn_check(const struct onednn *dnn, struct wnn_error *err)
{
	uint64_t begin = wnn_clock_ns();
	int ret = __real_onednn_check(dnn, err);

	taken = wnn_clock_ns() - begin;
	return ret;
}

int main(void)
{
	if (!onednn_get()) {
		fprintf(stderr, "bench-latency-check: %s\n",
			cpu_onednn_complaint() ? cpu_onednn_complaint() : cpu_onednn_absent);
		return 1;
	}
	printf("%" PRIu64 "\n", taken);
	return 0;
}
