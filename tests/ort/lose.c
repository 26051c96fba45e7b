// SPDX-License-Identifier: MIT
/*
 * A library that is preloaded. It replaces wnnContextDispatchMeasuredSync() by a function that
 * calls the original. lose_before(n) makes the n-th dispatch from then on destroy its context
 * before it starts.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <webnn/webnn_npu.h>

static atomic_int left;

__attribute__((visibility("default"))) void lose_before(int dispatch);

void lose_before(int dispatch)
{
	atomic_store(&left, dispatch);
}

__attribute__((visibility("default"))) WNNStatus wnnContextDispatchMeasuredSync(
	WNNContext context, WNNGraph graph, size_t input_count, WNNNamedTensor const *inputs,
	size_t output_count, WNNNamedTensor const *outputs, uint64_t timeout,
	WNNDispatchStatistics *statistics)
{
	WNNStatus (*next)(WNNContext, WNNGraph, size_t, WNNNamedTensor const *, size_t,
			  WNNNamedTensor const *, uint64_t, WNNDispatchStatistics *);
	void *symbol = dlsym(RTLD_NEXT, "wnnContextDispatchMeasuredSync");

	if (!symbol)
		abort();
	memcpy(&next, &symbol, sizeof(next));
	if (atomic_load(&left) > 0 && atomic_fetch_sub(&left, 1) == 1)
		wnnContextDestroy(context);
	return next(context, graph, input_count, inputs, output_count, outputs, timeout,
		    statistics);
}
