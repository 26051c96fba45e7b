// SPDX-License-Identifier: MIT
#include "segment.h"
#include "device.h"
size_t shlo_run_segment(struct shlo_run *run, struct shlo_frame *frame,
			const struct shlo_region *region, size_t at)
{
	(void)run;
	(void)frame;
	(void)region;
	(void)at;
	return 0;
}
struct shlo_device *shlo_device_create(WNNContext context)
{
	(void)context;
	return NULL;
}
void shlo_device_destroy(struct shlo_device *device)
{
	(void)device;
}
uint64_t shlo_device_cpu_operators(const struct shlo_device *device)
{
	(void)device;
	return 0;
}
