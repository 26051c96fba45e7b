/* SPDX-License-Identifier: MIT */
/* Calls the callback of a request; each kind of request has its own arguments. */
#ifndef WNN_API_DELIVER_H
#define WNN_API_DELIVER_H

#include "api/events.h"

/*
 * Runs the callback of a request, and frees what the callback does not take over. Call it without
 * locks.
 */
void deliver_run(struct request *request);

/* Undoes the effects of an operation that has failed or was cancelled. */
void deliver_failed(struct request *request);
/* Tells the debug layer of the object that the application gets as the result of a request. */
void deliver_note(const struct request *request, const union request_result *result);

/* Frees the result of a request that no caller has taken over. */
void deliver_discard(struct request *request);

#endif
