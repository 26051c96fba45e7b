// SPDX-License-Identifier: MIT
/*
 * Merges the characters of a text into tokens. Each step merges two neighbours: the pair with the
 * lowest rank or the highest score, and the leftmost of equal ones.
 */
#include <string.h>

#include "../common/memory.h"
#include "vocabulary.h"

#define NONE SIZE_MAX

/* A part of the text; size 0: it was merged into the one on its left. */
struct part {
	size_t at, size, left, right;
};

/*
 * Two neighbours that may be merged. The size is that of both together; when the parts have another
 * size by now, the pair is out of date.
 */
struct pair {
	double order; /* the least comes first */
	size_t left, size;
};

struct work {
	const struct gguf_merge *merge;
	struct part *parts;
	struct pair *heap;
	size_t count, heap_count, heap_room;
	char *join; /* room for two parts with a space between */
};

static bool before(const struct pair *a, const struct pair *b)
{
	return a->order < b->order || (a->order == b->order && a->left < b->left);
}

static int push(struct work *work, struct pair pair)
{
	size_t at = work->heap_count;

	if (at == work->heap_room) {
		size_t room = work->heap_room ? 2 * work->heap_room : 64;
		struct pair *heap = import_realloc(work->heap, room * sizeof(*heap));

		if (!heap)
			return gguf_fail_memory(work->merge->error);
		work->heap = heap;
		work->heap_room = room;
	}
	work->heap_count++;
	for (; at && before(&pair, &work->heap[(at - 1) / 2]); at = (at - 1) / 2)
		work->heap[at] = work->heap[(at - 1) / 2];
	work->heap[at] = pair;
	return 0;
}

static struct pair pop(struct work *work)
{
	struct pair first = work->heap[0], last = work->heap[--work->heap_count];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < work->heap_count) {
		if (child + 1 < work->heap_count &&
		    before(&work->heap[child + 1], &work->heap[child]))
			child++;
		if (!before(&work->heap[child], &last))
			break;
		work->heap[at] = work->heap[child];
		at = child;
	}
	work->heap[at] = last;
	return first;
}

static struct gguf_text text_of(const struct work *work, const struct part *part)
{
	return (struct gguf_text){ work->merge->text.data + part->at, part->size };
}

/*
 * Adds part @left and its right neighbour to the heap, if the two may be merged. Returns 0, also
 * when they may not; else -1, as push() does.
 */
static int consider(struct work *work, size_t left)
{
	const struct gguf_vocabulary *v = work->merge->v;
	struct pair pair = { .left = left };
	const struct part *a, *b;
	uint32_t found;

	if (left == NONE || work->parts[left].right == NONE)
		return 0;
	a = &work->parts[left];
	b = &work->parts[a->right];
	pair.size = a->size + b->size;
	if (v->pairs) {
		memcpy(work->join, text_of(work, a).data, a->size);
		work->join[a->size] = ' ';
		memcpy(work->join + a->size + 1, text_of(work, b).data, b->size);
		found = gguf_table_find(&v->ranks, (struct gguf_text){ work->join, pair.size + 1 });
		pair.order = found;
	} else {
		found = gguf_token(v, (struct gguf_text){ text_of(work, a).data, pair.size });
		if (found != GGUF_NO_TOKEN)
			pair.order = -(double)gguf_token_score(v, found);
	}
	return found == GGUF_NO_TOKEN ? 0 : push(work, pair);
}

static int merge_parts(struct work *work)
{
	for (size_t i = 0; i + 1 < work->count; i++)
		if (consider(work, i))
			return -1;
	while (work->heap_count) {
		struct pair pair = pop(work);
		struct part *a = &work->parts[pair.left], *b;

		if (!a->size || a->right == NONE)
			continue;
		b = &work->parts[a->right];
		if (a->size + b->size != pair.size)
			continue;
		a->size += b->size;
		b->size = 0;
		a->right = b->right;
		if (a->right != NONE)
			work->parts[a->right].left = pair.left;
		if (consider(work, a->left) || consider(work, pair.left))
			return -1;
	}
	return 0;
}

static size_t character_size(const struct gguf_text *text, size_t at)
{
	size_t size = 1;

	while (at + size < text->size && (text->data[at + size] & 0xc0) == 0x80)
		size++;
	return size;
}

/*
 * Appends a token for each character or byte of a part that is no token itself, or the unknown
 * token for all that is left of it. Returns 0, or -1 with a message: the vocabulary has no such
 * token, or memory is exhausted.
 */
static int emit_bytes(const struct work *work, struct gguf_text text)
{
	const struct gguf_vocabulary *v = work->merge->v;

	for (size_t i = 0; i < text.size;) {
		size_t size = v->pairs ? character_size(&text, i) : 1;
		uint32_t token = v->pairs ?
					 gguf_token(v, (struct gguf_text){ text.data + i, size }) :
					 v->bytes[(uint8_t)text.data[i]];

		/* The unknown token stands for all that is left. */
		if (token == GGUF_NO_TOKEN) {
			token = v->unknown;
			size = text.size - i;
		}
		if (token == GGUF_NO_TOKEN)
			return gguf_fail(
				work->merge->error,
				"the tokenizer has no token for \"%.*s\", and no token for unknown "
				"text",
				GGUF_ARGS(text));
		if (gguf_tokens_add(work->merge->tokens, token, work->merge->error))
			return -1;
		i += size;
	}
	return 0;
}

static int emit(const struct work *work)
{
	for (size_t i = 0; i < work->count; i++) {
		struct gguf_text text = text_of(work, &work->parts[i]);
		uint32_t token = text.size ? gguf_token(work->merge->v, text) : GGUF_NO_TOKEN;

		if (!text.size)
			continue;
		if (token == GGUF_NO_TOKEN ?
			    emit_bytes(work, text) :
			    gguf_tokens_add(work->merge->tokens, token, work->merge->error))
			return -1;
	}
	return 0;
}

int gguf_merge(const struct gguf_merge *merge)
{
	struct work work = { .merge = merge };
	int ret = 0;

	work.parts = import_alloc(merge->text.size * sizeof(*work.parts));
	work.join = import_alloc(merge->text.size + 1);
	if (!work.parts || !work.join)
		ret = gguf_fail_memory(merge->error);
	for (size_t at = 0; !ret && at < merge->text.size;) {
		size_t size = character_size(&merge->text, at);

		work.parts[work.count] = (struct part){ at, size, work.count - 1, work.count + 1 };
		at += size;
		work.count++;
	}
	if (work.count) {
		work.parts[0].left = NONE;
		work.parts[work.count - 1].right = NONE;
	}
	if (!ret)
		ret = merge_parts(&work);
	if (!ret)
		ret = emit(&work);
	import_free(work.parts);
	import_free(work.heap);
	import_free(work.join);
	return ret;
}
