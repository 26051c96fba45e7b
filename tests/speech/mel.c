// SPDX-License-Identifier: MIT
/* Writes the spectrogram of a WAV file as floats: speech-mel FILE.wav BANDS FRAMES OUTPUT */
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>

#include <run/mel.h>
#include <run/run.h>
#include <run/wav.h>

int main(int argc, char **argv)
{
	uint32_t bands = argc > 4 ? (uint32_t)atoi(argv[2]) : 0;
	uint32_t frames = argc > 4 ? (uint32_t)atoi(argv[3]) : 0;
	size_t count = (size_t)bands * frames;
	struct wav wav;
	float *out;
	FILE *file;
	int ret;

	if (!count)
		return EX_USAGE;
	ret = wav_read(argv[1], MEL_RATE, &wav);
	if (ret)
		return ret;
	out = malloc(count * sizeof(*out));
	file = fopen(argv[4], "wb");
	if (!out || !file || mel_compute(wav.samples, wav.count, bands, frames, out) ||
	    fwrite(out, sizeof(*out), count, file) != count || fclose(file))
		ret = complain(BAD_FILE, "%s: cannot be written", argv[4]);
	free(out);
	free(wav.samples);
	return ret;
}
