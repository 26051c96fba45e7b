/* SPDX-License-Identifier: MIT */
/* webnn-run transcribe: the spectrogram that Whisper's encoder takes. */
#ifndef ONPU_TOOLS_RUN_MEL_H
#define ONPU_TOOLS_RUN_MEL_H

#include <stddef.h>
#include <stdint.h>

/*
 * Samples a second; samples of a transform; samples from the start of a transform to that of the
 * next.
 */
enum { MEL_RATE = 16000, MEL_WINDOW = 400, MEL_HOP = 160 };

/*
 * Writes what Whisper takes, [bands, frames]: x is the logarithm to the base 10 of the energy in a
 * mel band; where it is less than m - 8, with m the largest x of all, it becomes m - 8; (x + 4) / 4
 * is written. Silence extends the @count samples to @frames * MEL_HOP; more samples are left out.
 * @frames is at least 2. Returns 0; -1: memory is exhausted.
 */
int mel_compute(const float *samples, size_t count, uint32_t bands, uint32_t frames, float *out);

#endif
