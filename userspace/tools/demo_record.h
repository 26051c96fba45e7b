/* SPDX-License-Identifier: MIT */
/*
 * Results of networks on devices, kept in a file: another run of the demo, for example in a virtual
 * machine, compares its results with them. Floats are written such that reading gives back the same
 * bits.
 */
#ifndef ONPU_TOOLS_DEMO_RECORD_H
#define ONPU_TOOLS_DEMO_RECORD_H

#include <jansson.h>
#include <stddef.h>

#include <webnn/webnn_npu.h>

/* Reads a file of results. Returns NULL after a message. */
json_t *demo_record_load(const char *path);

/* Writes @root to a file; NULL: memory was exhausted. Returns 0, or -1 after a message. */
int demo_record_write(const json_t *root, const char *path);

/*
 * Returns the record of a network on a device in @root, which is created if it does not exist.
 * NULL: no memory.
 */
json_t *demo_record_add(json_t *root, const char *network, const char *device);

/* Returns the existing record of a network on a device; NULL after a message that names @path. */
json_t *demo_record_find(json_t *root, const char *network, const char *device, const char *path);

/* Appends the results of another picture. Returns 0, or -1 after a message. */
int demo_record_append(json_t *record, const float *results, size_t count);

/* Reads the results of picture @picture. Returns 0, or -1 after a message. */
int demo_record_read(const json_t *record, size_t picture, float *results, size_t count);

/*
 * Write and read the time for all pictures, and the statistics of the last picture. Return 0, or -1
 * after a message.
 */
int demo_record_finish(json_t *record, double seconds, const WNNGraphStatistics *statistics);
int demo_record_summary(const json_t *record, double *seconds, WNNGraphStatistics *statistics);

#endif
