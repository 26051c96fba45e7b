// SPDX-License-Identifier: MIT
/*
 * webnn-run transcribe: computes log-mel spectrograms of audio as Whisper's training did: Fourier
 * transforms of Hann windows around every 160th sample, where the signal is reflected at both ends,
 * their powers summed in bands of Slaney's mel scale, logarithms at most 8 below the largest.
 */
#include "mel.h"

#include <kiss_fftr.h>
#include <math.h>
#include <stdlib.h>

#define BINS (MEL_WINDOW / 2 + 1)

/*
 * Returns the frequency in Hz of a place on Slaney's mel scale, which is linear up to the place 15,
 * 1000 Hz.
 */
static double frequency(double mel)
{
	return mel < 15 ? mel * 200 / 3 : 1000 * exp((mel - 15) * log(6.4) / 27);
}

/*
 * Writes the weights of all bins in each band, [bands, BINS]: triangles, from the middle of the
 * band before to that of the band after, with an area of 1 over frequencies in Hz.
 */
static void make_bands(uint32_t bands, float *weights)
{
	const double highest = 15 + 27 * log(MEL_RATE / 2 / 1000.0) / log(6.4);

	for (uint32_t b = 0; b < bands; b++) {
		double low = frequency(highest * b / (bands + 1));
		double middle = frequency(highest * (b + 1) / (bands + 1));
		double high = frequency(highest * (b + 2) / (bands + 1));

		for (uint32_t i = 0; i < BINS; i++) {
			double f = (double)i * MEL_RATE / MEL_WINDOW;
			double up = (f - low) / (middle - low), down = (high - f) / (high - middle);
			double least = up < down ? up : down;

			weights[b * BINS + i] = (float)(least > 0 ? least * 2 / (high - low) : 0);
		}
	}
}

struct mel {
	uint32_t bands, frames;
	float window[MEL_WINDOW], power[BINS];
	float *weights;
	kiss_fftr_cfg transform;
};

/* Computes the powers of the bins of a window whose middle is at sample @frame * MEL_HOP. */
static void transform(struct mel *mel, const float *samples, size_t count, uint32_t frame)
{
	long length = (long)mel->frames * MEL_HOP, at = (long)frame * MEL_HOP - MEL_WINDOW / 2;
	kiss_fft_cpx bins[BINS];
	float part[MEL_WINDOW];

	for (long i = 0; i < MEL_WINDOW; i++) {
		long k = at + i;

		k = k < 0 ? -k : k >= length ? 2 * (length - 1) - k : k;
		part[i] = (size_t)k < count ? samples[k] * mel->window[i] : 0;
	}
	kiss_fftr(mel->transform, part, bins);
	for (int i = 0; i < BINS; i++)
		mel->power[i] = bins[i].r * bins[i].r + bins[i].i * bins[i].i;
}

static void compute(struct mel *mel, const float *samples, size_t count, float *out)
{
	size_t size = (size_t)mel->bands * mel->frames;
	float largest = -INFINITY;

	for (uint32_t frame = 0; frame < mel->frames; frame++) {
		transform(mel, samples, count, frame);
		for (uint32_t b = 0; b < mel->bands; b++) {
			const float *weights = &mel->weights[b * BINS];
			double sum = 0;
			float level;

			for (int i = 0; i < BINS; i++)
				sum += (double)weights[i] * (double)mel->power[i];
			level = (float)log10(sum > 1e-10 ? sum : 1e-10);
			out[(size_t)b * mel->frames + frame] = level;
			largest = level > largest ? level : largest;
		}
	}
	for (size_t i = 0; i < size; i++)
		out[i] = ((out[i] > largest - 8 ? out[i] : largest - 8) + 4) / 4;
}

int mel_compute(const float *samples, size_t count, uint32_t bands, uint32_t frames, float *out)
{
	struct mel mel = { .bands = bands, .frames = frames };
	int ret = -1;

	mel.weights = malloc((size_t)bands * BINS * sizeof(*mel.weights));
	mel.transform = kiss_fftr_alloc(MEL_WINDOW, 0, NULL, NULL);
	if (mel.weights && mel.transform) {
		make_bands(bands, mel.weights);
		for (int i = 0; i < MEL_WINDOW; i++)
			mel.window[i] = (float)(0.5 - 0.5 * cos(2 * M_PI * i / MEL_WINDOW));
		compute(&mel, samples, count, out);
		ret = 0;
	}
	kiss_fftr_free(mel.transform);
	free(mel.weights);
	return ret;
}
