// SPDX-License-Identifier: MIT
/*
 * webnn-run transcribe: writes down what a Whisper model hears, always with the likeliest token and
 * without time stamps. A long recording is heard in parts, each up to a quiet place.
 */
#include "transcript.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mel.h"

static const struct pairs no_stops;

/* ---- tokens */

static uint32_t find_token(const struct transcript *t, const char *text)
{
	return gguf_token(&t->whisper->vocabulary, (struct gguf_text){ text, strlen(text) });
}

static int need_token(const struct transcript *t, const char *text, uint32_t *token)
{
	*token = find_token(t, text);
	if (*token < t->whisper->rows)
		return DONE;
	return complain(BAD_MODEL, "%s: tokenizer.json has no token \"%s\", which Whisper needs",
			t->whisper->encoder_path, text);
}

/* Marks the tokens of @list, an array of numbers from a file of the model. */
static void suppress(const struct transcript *t, const json_t *list, bool *marks)
{
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		json_int_t token = json_integer_value(item);

		/* Some files have the list [-1], which stands for a default list. */
		if (json_is_integer(item) && token >= 0 && token < t->whisper->rows)
			marks[token] = true;
	}
}

/* Marks the tokens that have no place in a text: time stamps, tokens of control, unused ones. */
static void suppress_special(struct transcript *t)
{
	const struct gguf_vocabulary *v = &t->whisper->vocabulary;

	for (uint32_t i = 0; i < t->whisper->rows; i++) {
		bool control = i >= v->count || gguf_token_type(v, i) == GGUF_TOKEN_CONTROL ||
			       gguf_token_type(v, i) == GGUF_TOKEN_UNUSED;

		t->suppressed[i] |= (control || i > t->plain) && i != t->end;
	}
}

/* Returns the token of a language, such as "en"; GGUF_NO_TOKEN: the model has none. */
static uint32_t language_token(const struct transcript *t, const char *name)
{
	char text[20];

	snprintf(text, sizeof(text), "<|%.15s|>", name);
	return find_token(t, text);
}

/*
 * Returns whether a token is that of a language: they stand between start and the tasks, and have
 * their code between <| and |>.
 */
static bool is_language(const struct transcript *t, uint32_t token)
{
	const struct gguf_vocabulary *v = &t->whisper->vocabulary;
	uint32_t translate = find_token(t, "<|translate|>"),
		 other = find_token(t, "<|transcribe|>");
	uint32_t tasks = translate < other ? translate : other;

	return token > t->start && token < tasks && token < v->count && v->texts[token].size > 4 &&
	       !memcmp(v->texts[token].data, "<|", 2) &&
	       !memcmp(v->texts[token].data + v->texts[token].size - 2, "|>", 2);
}

static int check_wishes(const struct transcript *t)
{
	const struct whisper *w = t->whisper;

	if (!w->config.multilingual && t->translate)
		return complain(BAD_MODEL,
				"%s: the model knows English alone and does not translate: leave "
				"out --translate",
				w->encoder_path);
	if (!w->config.multilingual && t->language && strcmp(t->language, "en") != 0)
		return complain(BAD_MODEL,
				"%s: the model knows English alone, not '%s': leave out --language",
				w->encoder_path, t->language);
	if (t->language && w->config.multilingual &&
	    !is_language(t, language_token(t, t->language)))
		return complain(
			BAD_MODEL,
			"%s: the model has no language '%s': --language takes a code such as en, "
			"de or zh",
			w->encoder_path, t->language);
	return DONE;
}

int transcript_begin(struct transcript *t)
{
	const struct whisper *w = t->whisper;
	int ret = need_token(t, "<|startoftranscript|>", &t->start);

	if (!ret)
		ret = need_token(t, "<|endoftext|>", &t->end);
	if (!ret)
		ret = need_token(t, "<|notimestamps|>", &t->plain);
	if (!ret && w->config.multilingual)
		ret = need_token(t, t->translate ? "<|translate|>" : "<|transcribe|>", &t->task);
	if (!ret)
		ret = check_wishes(t);
	if (ret)
		return ret;
	t->suppressed = calloc(w->rows, sizeof(*t->suppressed));
	t->first_suppressed = calloc(w->rows, sizeof(*t->first_suppressed));
	if (!t->suppressed || !t->first_suppressed)
		return complain_memory(w->encoder_path);
	suppress(t, w->config.suppressed, t->suppressed);
	suppress(t, w->config.first_suppressed, t->first_suppressed);
	suppress_special(t);
	return DONE;
}

void transcript_exit(struct transcript *t)
{
	free(t->text.bytes.data);
	free(t->parts);
	free(t->suppressed);
	free(t->first_suppressed);
}

/* ---- the text of a part */

static int feed(struct transcript *t, uint32_t token)
{
	WNNGraphStatistics statistics = WNN_GRAPH_STATISTICS_INIT;
	uint64_t begin = nanoseconds();
	int ret = whisper_feed(t->whisper, token);

	t->ns += nanoseconds() - begin;
	t->fed++;
	if (!ret &&
	    wnnGraphGetLastStatistics(t->whisper->step.graph, &statistics) == WNNStatus_Success)
		t->cycles += statistics.npuCycles;
	return ret;
}

/* Returns the likeliest language after the first token. */
static uint32_t hear_language(const struct transcript *t)
{
	const float *logits = t->whisper->logits;
	uint32_t best = GGUF_NO_TOKEN;

	for (uint32_t i = t->start + 1; is_language(t, i); i++)
		if (best == GGUF_NO_TOKEN || logits[i] > logits[best])
			best = i;
	return best;
}

/* Feeds the tokens in front of a text. Returns DONE, or an exit code after a message. */
static int feed_prompt(struct transcript *t, struct transcript_part *part)
{
	int ret = feed(t, t->start);

	part->language = GGUF_NO_TOKEN;
	if (!ret && t->whisper->config.multilingual) {
		part->language = t->language ? language_token(t, t->language) : hear_language(t);
		ret = part->language == GGUF_NO_TOKEN ?
			      complain(
				      BAD_MODEL,
				      "%s: no token of a language follows <|startoftranscript|> in "
				      "tokenizer.json: give --language, or the tokenizer.json of this "
				      "model",
				      t->whisper->encoder_path) :
			      feed(t, part->language);
		if (!ret)
			ret = feed(t, t->task);
	}
	return ret ? ret : feed(t, t->plain);
}

/*
 * Sets *token to the likeliest one that may come next. Returns DONE, or an exit code after a
 * message: no token has a logit that is a number.
 */
static int choose(const struct transcript *t, bool first, uint32_t *token)
{
	const float *logits = t->whisper->logits;
	float most = -INFINITY;

	*token = GGUF_NO_TOKEN;
	for (uint32_t i = 0; i < t->whisper->rows; i++)
		if (!t->suppressed[i] && !(first && t->first_suppressed[i]) && logits[i] > most) {
			*token = i;
			most = logits[i];
		}
	return *token != GGUF_NO_TOKEN ?
		       DONE :
		       complain(BAD_MODEL,
				"%s: the model gives no token: the logit of each token of text is "
				"NaN or -infinity, or generation_config.json or config.json "
				"suppresses the token; export the model again, in float32 and with "
				"these files of its own",
				t->whisper->step_path);
}

/*
 * Appends the text of a token, and prints the text if t->stream is set. Returns DONE, or an exit
 * code after a message.
 */
static int write_token(struct transcript *t, uint32_t token)
{
	const struct whisper *w = t->whisper;
	size_t size = gguf_piece(&w->vocabulary, token, false, w->piece);
	/* The first word has a space before it, too. */
	size_t skip = !t->text.bytes.size && size && w->piece[0] == ' ';

	if (generated_add(&t->text, w->piece + skip, size - skip, &no_stops))
		return complain_memory(w->step_path);
	if (t->stream)
		generated_print(&t->text, true, &no_stops);
	if (t->stream && ferror(stdout))
		return complain_unwritten("standard output", errno);
	return DONE;
}

/* Hears a part and writes its text. Returns DONE, or an exit code after a message. */
static int write_part(struct transcript *t, struct transcript_part *part, const float *samples)
{
	struct whisper *w = t->whisper;
	uint64_t begin = nanoseconds();
	uint32_t token;
	int ret = whisper_listen(w, samples + part->begin, part->end - part->begin);

	t->listen_ns += nanoseconds() - begin;
	if (!ret)
		ret = feed_prompt(t, part);
	while (!ret) {
		ret = choose(t, !part->tokens, &token);
		if (ret || token == t->end)
			break;
		ret = write_token(t, token);
		part->tokens++;
		t->tokens++;
		if (part->tokens == t->most || w->used == w->config.sizes.positions)
			break;
		if (!ret)
			ret = feed(t, token);
	}
	return ret;
}

/* ---- parts */

/* Samples of which the loudness is measured, to find a quiet place: a tenth of a second. */
#define QUIET (MEL_RATE / 10)

/*
 * Returns where the part that begins at @samples ends: after all @count samples if the model hears
 * as many at once, else in the middle of the quietest tenth of a second in the last sixth of @most.
 */
static size_t find_end(const float *samples, size_t count, size_t most)
{
	size_t end = most;
	double least = INFINITY;

	if (count <= most)
		return count;
	for (size_t at = most - most / 6; at + QUIET <= most; at += QUIET / 2) {
		double sum = 0;

		for (size_t i = at; i < at + QUIET; i++)
			sum += (double)samples[i] * (double)samples[i];
		if (sum < least) {
			least = sum;
			end = at + QUIET / 2;
		}
	}
	return end;
}

int transcript_add(struct transcript *t, const float *samples, size_t count)
{
	size_t most = (size_t)t->whisper->config.frames * MEL_HOP;

	for (size_t at = 0; at < count; at = t->parts[t->part_count - 1].end) {
		struct transcript_part *parts =
			realloc(t->parts, (t->part_count + 1) * sizeof(*parts));
		int ret;

		if (!parts)
			return complain(
				BAD_DEVICE,
				"too little memory is free for the recording: end other programs, "
				"or cut it into shorter ones");
		t->parts = parts;
		parts += t->part_count++;
		*parts = (struct transcript_part){
			.begin = at,
			.end = at + find_end(samples + at, count - at, most),
			.text = t->text.bytes.size,
		};
		ret = write_part(t, parts, samples);
		if (ret)
			return ret;
	}
	return DONE;
}
