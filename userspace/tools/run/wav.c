// SPDX-License-Identifier: MIT
/*
 * webnn-run: reads WAV files: integers of 8 to 32 bits or floats, and takes the mean of all
 * channels; writes integers of 16 bits.
 */
#include "wav.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "run.h"

/* Numbers of encodings in the chunk "fmt ". */
enum { PCM = 1, IEEE_FLOAT = 3, EXTENSIBLE = 0xfffe };

/*
 * Programs that write to a pipe do not know the size of the samples; they put this number or a
 * larger one in its place.
 */
#define UNKNOWN_SIZE 0x7ffff000

/*
 * The largest magnitude of a sample. It is above 2^31, which samples reach when a program converts
 * integers to floats without a division, and the squares of such samples are finite as floats.
 */
#define LOUDEST 4294967296.0

struct format {
	uint32_t encoding, channels, rate, bits;
};

/* A file in memory, and what was found in it. */
struct recording {
	const char *path;
	const uint8_t *data;
	size_t size;
	struct format format;
	const uint8_t *samples; /* in data; NULL: not found yet */
	size_t bytes;		/* size of the samples */
};

static uint32_t number(const uint8_t *bytes, unsigned int size)
{
	uint32_t value = 0;

	for (unsigned int i = size; i--;)
		value = value << 8 | bytes[i];
	return value;
}

/* Returns whether data begins as WAV files do. */
static bool begins_well(const void *data, size_t size)
{
	return size >= 12 && !memcmp(data, "RIFF", 4) &&
	       !memcmp((const uint8_t *)data + 8, "WAVE", 4);
}

/*
 * Reads the whole file; if it is no WAV file, which may be large, only its first bytes. Returns
 * DONE, or an exit code after a message.
 */
static int load(const char *path, struct bytes *bytes)
{
	bool piped = !strcmp(path, "-");
	FILE *file = piped ? stdin : fopen(path, "rb");
	char part[65536];
	int error = errno;
	size_t size;

	if (!file)
		return complain_unread(path, error);
	do {
		size = fread(part, 1, sizeof(part), file);
		error = ferror(file) ? errno : 0;
		if (!error && bytes_add(bytes, part, size))
			error = ENOMEM;
	} while (size && !error && begins_well(bytes->data, bytes->size));
	if (!piped)
		fclose(file);
	return error ? complain_unread(piped ? "standard input" : path, error) : DONE;
}

/* Reads the chunk "fmt ". Returns DONE, or an exit code after a message. */
static int read_format(struct recording *r, const uint8_t *chunk, size_t size)
{
	struct format *f = &r->format;

	if (size < 16)
		return complain(
			BAD_FILE,
			"%s: the WAV file is damaged: its chunk \"fmt \" has %zu bytes, but needs "
			"at least 16; copy it again, or record it again",
			r->path, size);
	*f = (struct format){ number(chunk, 2), number(chunk + 2, 2), number(chunk + 4, 4),
			      number(chunk + 14, 2) };
	/* The longer form has the encoding in the first bytes of an identifier. */
	if (f->encoding == EXTENSIBLE && size >= 40)
		f->encoding = number(chunk + 24, 2);
	return DONE;
}

/* Finds format and samples. Returns DONE, or an exit code after a message. */
static int find_chunks(struct recording *r)
{
	size_t at = 12;
	int ret;

	if (!begins_well(r->data, r->size))
		return complain(
			BAD_FILE,
			"%s: this is not a WAV file, which begins with RIFF and WAVE; convert it: "
			"ffmpeg -i FILE -ar 16000 -ac 1 recording.wav",
			r->path);
	while (r->size - at >= 8 && !r->samples) {
		const uint8_t *chunk = r->data + at;
		size_t size = number(chunk + 4, 4), left = r->size - at - 8;

		if (!memcmp(chunk, "data", 4)) {
			if (size > left && size < UNKNOWN_SIZE)
				return complain(
					BAD_FILE,
					"%s: the recording is cut off after %zu of %zu bytes of "
					"samples; copy it again, or record it again",
					r->path, left, size);
			r->samples = chunk + 8;
			r->bytes = size < left ? size : left;
		} else if (size > left) {
			break;
		} else if (!memcmp(chunk, "fmt ", 4)) {
			ret = read_format(r, chunk + 8, size);
			if (ret)
				return ret;
		}
		/* A chunk of odd size is followed by a byte that does not count. */
		at += 8 + size + (size & 1);
		if (at > r->size)
			break;
	}
	if (r->samples && r->format.channels)
		return DONE;
	if (!r->samples)
		return complain(
			BAD_FILE,
			"%s: the WAV file is damaged: it has no chunk \"data\", which holds the "
			"samples; copy it again, or record it again",
			r->path);
	return complain(
		BAD_FILE,
		"%s: the WAV file is damaged: no chunk \"fmt \" before the samples gives the "
		"number of channels; copy it again, or record it again",
		r->path);
}

static int check_format(const struct recording *r, uint32_t rate)
{
	const struct format *f = &r->format;
	bool integers = f->encoding == PCM &&
			(f->bits == 8 || f->bits == 16 || f->bits == 24 || f->bits == 32);
	bool floats = f->encoding == IEEE_FLOAT && (f->bits == 32 || f->bits == 64);
	size_t width = (size_t)f->channels * (f->bits / 8);

	if (!integers && !floats)
		return complain(
			BAD_FILE,
			"%s: the recording's samples have %u bits in the encoding %u; allowed are "
			"integers (encoding 1) of 8, 16, 24 or 32 bits and floats (encoding 3) of "
			"32 or 64 bits; convert it: ffmpeg -i FILE -ar %u -ac 1 recording.wav",
			r->path, f->bits, f->encoding, rate);
	if (f->rate != rate)
		return complain(
			BAD_FILE,
			"%s: the recording has %u samples a second, but the model takes %u; "
			"convert it: ffmpeg -i FILE -ar %u -ac 1 recording.wav",
			r->path, f->rate, rate, rate);
	if (r->bytes < width)
		return complain(
			BAD_FILE,
			"%s: by its chunk \"data\", the recording has %zu bytes of samples, but one "
			"sample of all channels takes %zu; if the file is larger, mend it: ffmpeg "
			"-i FILE recording.wav, else record it again",
			r->path, r->bytes, width);
	return DONE;
}

static double sample(const uint8_t *bytes, const struct format *f)
{
	uint32_t bits = number(bytes, f->bits / 8 < 4 ? f->bits / 8 : 4);
	double wide;
	float narrow;

	if (f->encoding == IEEE_FLOAT) {
		memcpy(&wide, bytes, f->bits == 64 ? 8 : 0);
		memcpy(&narrow, &bits, sizeof(narrow));
		return f->bits == 64 ? wide : (double)narrow;
	}
	/* Integers of 8 bits have no sign: 128 is silence. */
	if (f->bits == 8)
		return ((double)bits - 128) / 128;
	return (double)(int32_t)(bits << (32 - f->bits)) / 2147483648.0;
}

static int convert(const struct recording *r, struct wav *wav)
{
	const struct format *f = &r->format;
	size_t width = f->bits / 8;

	wav->count = r->bytes / (width * f->channels);
	wav->samples = malloc(wav->count * sizeof(*wav->samples));
	if (!wav->samples)
		return complain(
			BAD_DEVICE,
			"%s: too little memory is free for the recording; end other programs, or "
			"cut it into shorter ones",
			r->path);
	for (size_t i = 0; i < wav->count; i++) {
		double sum = 0;

		for (size_t c = 0; c < f->channels; c++)
			sum += sample(r->samples + (i * f->channels + c) * width, f);
		wav->samples[i] = (float)(sum / f->channels);
		if (fabs(sum / f->channels) <= LOUDEST)
			continue;
		free(wav->samples);
		wav->samples = NULL;
		return complain(
			BAD_FILE,
			"%s: sample %zu of the recording is not a number, or far outside of -1 to "
			"1, the range of sound; record it again with another program",
			r->path, i);
	}
	return DONE;
}

int wav_read(const char *path, uint32_t rate, struct wav *wav)
{
	struct bytes bytes = { 0 };
	struct recording r = { .path = strcmp(path, "-") ? path : "standard input" };
	int ret = load(path, &bytes);

	*wav = (struct wav){ 0 };
	r.data = (const uint8_t *)bytes.data;
	r.size = bytes.size;
	if (!ret)
		ret = find_chunks(&r);
	if (!ret)
		ret = check_format(&r, rate);
	if (!ret)
		ret = convert(&r, wav);
	free(bytes.data);
	return ret;
}

static void put(uint8_t *bytes, unsigned int size, uint32_t value)
{
	for (unsigned int i = 0; i < size; i++)
		bytes[i] = (uint8_t)(value >> (8 * i));
}

int wav_write(const char *path, uint32_t rate, const float *samples, size_t count)
{
	uint8_t head[44] = "RIFF....WAVEfmt ", sample[2];
	FILE *file;
	bool bad;

	if (count > (UINT32_MAX - sizeof(head)) / 2)
		return complain(
			BAD_FILE,
			"%s: %zu samples are more than the 4 GiB of a WAV file: give a name "
			"that ends in .npy",
			path, count);
	put(head + 4, 4, (uint32_t)(2 * count + sizeof(head) - 8));
	put(head + 16, 4, 16);
	put(head + 20, 2, PCM);
	put(head + 22, 2, 1);
	put(head + 24, 4, rate);
	put(head + 28, 4, 2 * rate);
	put(head + 32, 2, 2);
	put(head + 34, 2, 16);
	memcpy(head + 36, "data", 4);
	put(head + 40, 4, (uint32_t)(2 * count));
	file = fopen(path, "wb");
	if (!file)
		return complain_unwritten(path, errno);
	bad = fwrite(head, sizeof(head), 1, file) != 1;
	for (size_t i = 0; i < count && !bad; i++) {
		float x = isnan(samples[i]) ? 0 : fmaxf(-1, fminf(1, samples[i]));

		put(sample, 2, (uint32_t)lrintf(x * 32767));
		bad = fwrite(sample, 2, 1, file) != 1;
	}
	bad |= fclose(file) != 0;
	return bad ? complain_unwritten(path, errno) : DONE;
}
