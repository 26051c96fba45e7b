// SPDX-License-Identifier: MIT
/*
 * The coordinator, which rank 0 runs for all ranks whenever it waits: it counts the ranks that have
 * reached a step, pairs senders and receivers of a channel, and distributes the values of an
 * infeed.
 */
#include <stdio.h>

#include "ranks.h"

/* One end of a transfer on a channel, which waits for the other end. */
struct side {
	struct side *next;
	struct shlo_note note;
};

/* The last wait that a rank has reported, and how often in a row. */
struct stall {
	uint32_t times; /* 0: the rank does not wait, as far as is known */
	int64_t wait, key, peer;
};

/*
 * A rank is stuck when it has reported the same wait this often: what was on its way to it at the
 * first report has arrived before the last.
 */
#define STALLS 3

struct shlo_office {
	int64_t serial;
	uint32_t arrived;
	bool left_over;
	struct shlo_note first; /* the note of the first rank that arrived */
	struct side *sides;
	int64_t infeed, infeed_at;
	struct stall stalls[]; /* one for each rank */
};

struct shlo_office *shlo_office_new(uint32_t ranks)
{
	struct shlo_office *office =
		import_alloc(sizeof(*office) + ranks * sizeof(*office->stalls));

	if (office)
		office->serial = -1;
	return office;
}

static void forget_sides(struct shlo_office *office)
{
	while (office->sides) {
		struct side *next = office->sides->next;

		import_free(office->sides);
		office->sides = next;
	}
}

void shlo_office_destroy(struct shlo_office *office)
{
	if (office)
		forget_sides(office);
	import_free(office);
}

static const char *stage_text(int64_t stage)
{
	return stage == SHLO_STAGE_PROGRAM ? "the beginning of a program" :
	       stage == SHLO_STAGE_END	   ? "the end of a program" :
					     "a point where all ranks say whether they succeeded";
}

/* Ends the run on all ranks, rank 0 included, with an error that rank 0 reports. */
__attribute__((format(printf, 3, 4))) static void fail_all(struct WNNStablehloWorldImpl *ranks,
							   int64_t begun, const char *format, ...)
{
	struct shlo_note note = { .kind = SHLO_NOTE_FAIL, .numbers = { begun } };
	va_list args;

	va_start(args, format);
	vsnprintf(note.text, sizeof(note.text), format, args);
	va_end(args);
	for (uint32_t i = 0; i < ranks->seat.count; i++)
		ranks->transport->tell(i, &note);
}

static void arrive(struct WNNStablehloWorldImpl *ranks, const struct shlo_note *note)
{
	struct shlo_office *office = ranks->office;
	struct shlo_note go = { .kind = SHLO_NOTE_GO, .numbers = { note->numbers[0] } };

	/*
	 * When a rank has arrived at a later step, it has failed in this one, and its note will
	 * tell the others.
	 */
	if (note->numbers[0] < office->serial)
		return;
	if (note->numbers[0] > office->serial) {
		office->serial = note->numbers[0];
		office->arrived = 0;
		office->left_over = false;
		office->first = *note;
		forget_sides(office);
	}
	office->arrived++;
	office->left_over = office->left_over || note->numbers[3];
	if (note->numbers[1] != office->first.numbers[1]) {
		fail_all(ranks, note->numbers[0] & ~INT64_C(1),
			 "rank %u is at %s, rank %u at %s: all must run the same programs in the "
			 "same order",
			 note->from, stage_text(note->numbers[1]), office->first.from,
			 stage_text(office->first.numbers[1]));
	} else if (note->numbers[2] != office->first.numbers[2]) {
		fail_all(ranks, note->numbers[0] & ~INT64_C(1),
			 "ranks %u and %u run different programs, or divide the program into "
			 "different numbers of partitions: give all ranks the same files and the "
			 "same number of partitions (webnn-run --partitions)",
			 note->from, office->first.from);
	} else if (office->arrived == ranks->seat.count) {
		go.numbers[1] = office->left_over;
		for (uint32_t i = 0; i < ranks->seat.count; i++)
			ranks->transport->tell(i, &go);
	}
}

static bool fit(const struct shlo_note *offer, const struct shlo_note *want)
{
	return offer->kind == SHLO_NOTE_OFFER && want->kind == SHLO_NOTE_WANT &&
	       offer->numbers[0] == want->numbers[0] &&
	       (offer->numbers[1] < 0 || offer->numbers[1] == (int64_t)want->from) &&
	       (want->numbers[1] < 0 || want->numbers[1] == (int64_t)offer->from);
}

static void match(struct WNNStablehloWorldImpl *ranks, const struct shlo_note *offer,
		  const struct shlo_note *want)
{
	struct shlo_note note = { .kind = SHLO_NOTE_MATCH };

	note.numbers[0] = want->from;
	note.numbers[1] = offer->numbers[2];
	ranks->transport->tell(offer->from, &note);
	note.numbers[0] = offer->from;
	ranks->transport->tell(want->from, &note);
}

static void add_side(struct WNNStablehloWorldImpl *ranks, const struct shlo_note *note)
{
	struct side **link = &ranks->office->sides, *side;

	for (; *link; link = &(*link)->next) {
		side = *link;
		if (fit(&side->note, note))
			match(ranks, &side->note, note);
		else if (fit(note, &side->note))
			match(ranks, note, &side->note);
		else
			continue;
		*link = side->next;
		import_free(side);
		return;
	}
	side = import_alloc(sizeof(*side));
	if (!side) {
		fail_all(
			ranks, ranks->begun,
			"too little memory is free for messages between ranks: end other programs, "
			"or start fewer ranks on this machine");
		return;
	}
	side->note = *note;
	*link = side;
}

/*
 * Whether nothing can go on: every rank waits, either for rank 0, which has no answer, or for a
 * rank that is not in the same exchange.
 */
static bool is_stuck(const struct shlo_office *office, uint32_t ranks)
{
	for (uint32_t i = 0; i < ranks; i++) {
		const struct stall *stall = &office->stalls[i];

		if (stall->times < STALLS)
			return false;
		if (stall->peer >= 0 && office->stalls[stall->peer].peer >= 0 &&
		    office->stalls[stall->peer].key == stall->key)
			return false;
	}
	return true;
}

static void stalled(struct WNNStablehloWorldImpl *ranks, const struct shlo_note *note)
{
	struct stall *stall = &ranks->office->stalls[note->from];

	if (!stall->times || stall->wait != note->numbers[0])
		*stall = (struct stall){ .wait = note->numbers[0] };
	stall->times++;
	stall->key = note->numbers[1];
	stall->peer = note->numbers[2];
	if (is_stuck(ranks->office, ranks->seat.count)) {
		fail_all(
			ranks, ranks->begun,
			"all ranks wait for each other, as they came to different operations, "
			"groups, channels or sizes, or as the counterpart of a send or recv is "
			"missing or comes later: let all members of a group run the same "
			"operations in the same order, and one rank receive while the other sends");
		for (uint32_t i = 0; i < ranks->seat.count; i++)
			ranks->office->stalls[i].times = 0;
	}
}

void shlo_office_take(struct WNNStablehloWorldImpl *ranks, const struct shlo_note *note)
{
	struct shlo_office *office = ranks->office;
	struct shlo_note fed = { .kind = SHLO_NOTE_FED };

	switch (note->kind) {
	case SHLO_NOTE_ARRIVE:
		arrive(ranks, note);
		break;
	case SHLO_NOTE_OFFER:
	case SHLO_NOTE_WANT:
		add_side(ranks, note);
		break;
	case SHLO_NOTE_FEED:
		if (office->infeed != note->numbers[0])
			office->infeed_at = 0;
		office->infeed = note->numbers[0];
		fed.numbers[0] = office->infeed_at++;
		ranks->transport->tell(note->from, &fed);
		break;
	case SHLO_NOTE_STALLED:
		stalled(ranks, note);
		break;
	case SHLO_NOTE_MOVING:
		office->stalls[note->from].times = 0;
		break;
	default:
		break;
	}
}
