/* SPDX-License-Identifier: MIT */
/* webnn-run: sound in WAV files. */
#ifndef ONPU_TOOLS_RUN_WAV_H
#define ONPU_TOOLS_RUN_WAV_H

#include <stddef.h>
#include <stdint.h>

struct wav {
	float *samples; /* from -1 to 1, the mean of all channels; the owner frees them */
	size_t count;
};

/*
 * Reads a WAV file with @rate samples a second; "-" is standard input. Returns DONE, or an exit
 * code after a message; then nothing is to be freed.
 */
int wav_read(const char *path, uint32_t rate, struct wav *wav);
/*
 * Writes samples from -1 to 1 as integers of 16 bits; those beyond are cut off, and NaN is silence.
 * Returns DONE, or an exit code after a message.
 */
int wav_write(const char *path, uint32_t rate, const float *samples, size_t count);

#endif
