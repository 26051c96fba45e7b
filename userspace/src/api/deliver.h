/* SPDX-License-Identifier: MIT */
/* Calls the callback of a request, each kind with its own arguments. */
#ifndef WNN_API_DELIVER_H
#define WNN_API_DELIVER_H

#include "api/events.h"

/* Runs the callback; call it without any lock. Frees what the callback does not take over. */
void deliver_run(struct request *request);

/* Undoes the effects of an operation that failed or was cancelled. */
void deliver_failed(struct request *request);
/* Tells the debug layer of the object that the application gets. */
void deliver_note(const struct request *request, const union request_result *result);

/* Frees the result of a request that nobody took. */
void deliver_discard(struct request *request);

#endif
