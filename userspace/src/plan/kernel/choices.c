// SPDX-License-Identifier: MIT
/*
 * A cache of chosen tiles: a range is planned many times with few differences, and most of its
 * contractions equal those of an earlier plan.
 */
#include "plan/kernel/choices.h"

#include <stddef.h>
#include <string.h>

#include "util/hash.h"
#include "util/malloc.h"

#define TABLE_SIZE   1024 /* a power of two */
#define MOST_CHOICES 512

/*
 * All that the choice of a tile depends on. The contraction is last, as its unused further operands
 * are neither hashed nor compared.
 */
struct key {
	uint64_t sram;
	uint8_t eager, early, first_form, a_here, b_here, out_here, b_constant, weighted, slices;
	uint16_t post[CONTRACT_MAX_POSTS];
	struct contract_weights weights;
	struct contract c;
};

struct contract_choice {
	size_t size; /* bytes of the key that are in use */
	struct contract_tile tile;
	struct key key;
};

struct contract_choices {
	struct contract_choice *table[TABLE_SIZE]; /* open addressing */
	uint32_t count;
};

struct contract_choices *contract_choices_create(void)
{
	return wnn_calloc(1, sizeof(struct contract_choices));
}

void contract_choices_destroy(struct contract_choices *choices)
{
	for (uint32_t i = 0; choices && i < TABLE_SIZE; i++)
		wnn_free(choices->table[i]);
	wnn_free(choices);
}

/*
 * Removes the address of an operand from the key: tiles depend on its shape and strides, not on its
 * address.
 */
static void forget_address(struct npu_view *view)
{
	view->base = NPU_BASE_NONE;
	view->binding = 0;
	view->window = view->window_bytes = 0;
	view->offset = 0;
}

/* Fills in the key of a contraction; returns how many of its bytes are in use. */
static size_t make_key(const struct plan *plan, const struct contract *c, struct key *key)
{
	size_t size = offsetof(struct contract, extra) + c->num_extras * sizeof(c->extra[0]);

	memset(key, 0, sizeof(*key));
	key->sram = plan_sram(plan);
	key->eager = plan->eager;
	key->early = plan->early;
	key->first_form = plan->first_form;
	key->a_here = c->a_here;
	key->b_here = c->b_here;
	key->out_here = c->out_here;
	key->b_constant = c->b_constant != NULL;
	key->weighted = !c->weights ? 0 : c->weights->zero ? 2 : 1;
	key->slices = c->slices ? (uint8_t)c->slices->count : 0;
	for (uint32_t i = 0; i < c->num_posts; i++)
		key->post[i] = (uint16_t)(c->post[i].op << 1 | c->post[i].to_spare);
	if (c->weights) {
		key->weights = *c->weights;
		key->weights.data = key->weights.scale = key->weights.zero = NULL;
	}
	memcpy(&key->c, c, size);
	forget_address(&key->c.a);
	forget_address(&key->c.b);
	forget_address(&key->c.out);
	for (uint32_t i = 0; i < c->num_extras; i++)
		forget_address(&key->c.extra[i].mem);
	key->c.kernel = NULL;
	key->c.b_constant = NULL;
	key->c.b_offset = 0;
	key->c.weights = NULL;
	key->c.slices = NULL;
	return wnn_align_up(offsetof(struct key, c) + size, 8);
}

/* Returns the table entry that has a key, or the free entry where it belongs. */
static struct contract_choice **find(struct contract_choices *choices, const struct key *key,
				     size_t size)
{
	uint64_t at = wnn_hash_words(WNN_HASH_SEED, key, size);
	struct contract_choice **entry;

	while (*(entry = &choices->table[at++ % TABLE_SIZE]))
		if ((*entry)->size == size && !memcmp(&(*entry)->key, key, size))
			break;
	return entry;
}

bool contract_choose(const struct plan *plan, const struct contract *c, struct contract_tile *best)
{
	struct contract_choices *choices = plan->choices;
	struct contract_choice **entry = NULL;
	struct key key;
	size_t size;

	if (choices) {
		size = make_key(plan, c, &key);
		entry = find(choices, &key, size);
		if (*entry) {
			*best = (*entry)->tile;
			return true;
		}
	}
	if (!contract_search(plan, c, best))
		return false;
	if (!entry || choices->count == MOST_CHOICES)
		return true;
	*entry = wnn_calloc(1, sizeof(**entry));
	if (*entry) {
		(*entry)->size = size;
		(*entry)->tile = *best;
		memcpy(&(*entry)->key, &key, size);
		choices->count++;
	}
	return true;
}
