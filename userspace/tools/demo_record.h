/* SPDX-License-Identifier: MIT */
/*
 * Results of networks on devices, kept in a file: what one run of the demo has computed, another
 * one, such as one in a virtual machine, compares with. Floats are written so that they come back
 * to the bit.
 */
#ifndef ONPU_TOOLS_DEMO_RECORD_H
#define ONPU_TOOLS_DEMO_RECORD_H

#include <jansson.h>
#include <stddef.h>

#include <webnn/webnn_npu.h>

/* The record of a network on a device in @root; made if it is not there. NULL: no memory. */
json_t *demo_record_add(json_t *root, const char *network, const char *device);

/* Like demo_record_add(), but does not add the record; NULL after a message that names @path. */
json_t *demo_record_find(json_t *root, const char *network, const char *device, const char *path);

/* Appends the results of another picture. Returns 0, or -1 after a message. */
int demo_record_append(json_t *record, const float *results, size_t count);

/* Reads the results of the picture with this number. Returns 0, or -1 after a message. */
int demo_record_read(const json_t *record, size_t picture, float *results, size_t count);

/* Seconds of all pictures, and the statistics of the last. Return 0, or -1 after a message. */
int demo_record_finish(json_t *record, double seconds, const WNNGraphStatistics *statistics);
int demo_record_summary(const json_t *record, double *seconds, WNNGraphStatistics *statistics);

#endif
