/* SPDX-License-Identifier: MIT */
/* webnn-run: sound in WAV files. */
#ifndef ONPU_TOOLS_RUN_WAV_H
#define ONPU_TOOLS_RUN_WAV_H

#include <stddef.h>
#include <stdint.h>

struct wav {
	/* The mean of all channels, mostly from -1 to 1, at most 2^32; the owner frees them. */
	float *samples;
	size_t count;
};

/*
 * Reads a WAV file with @rate samples a second; "-" is standard input. Returns DONE, or an exit
 * code after a message; then nothing is to be freed.
 */
int wav_read(const char *path, uint32_t rate, struct wav *wav);
/*
 * Writes samples as integers of 16 bits; those beyond -1 and 1 are clipped, and NaN is silence.
 * Returns DONE, or an exit code after a message.
 */
int wav_write(const char *path, uint32_t rate, const float *samples, size_t count);

#endif
