/* SPDX-License-Identifier: MIT */
/* A cache of the tiles of contractions, for the plans of one range. */
#ifndef WNN_PLAN_CHOICES_H
#define WNN_PLAN_CHOICES_H

#include "plan/kernel/contract.h"

/* Returns an empty cache; NULL: no memory, so that each plan searches for its tiles again. */
struct contract_choices *contract_choices_create(void);
void contract_choices_destroy(struct contract_choices *choices);

#endif
