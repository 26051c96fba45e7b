/* SPDX-License-Identifier: MIT */
/* Calls the callback of a request, each kind with its own arguments. */
#ifndef WNN_API_DELIVER_H
#define WNN_API_DELIVER_H

#include "api/events.h"

/* Call it without any lock. What the callback does not take over is freed. */
void deliver_run(struct request *request);

/* Undoes what an operation did that failed or was given up. */
void deliver_failed(struct request *request);
/* Tells the debug layer of the object that the application gets. */
void deliver_note(const struct request *request, const union request_result *result);

/* Frees the result of a request that nobody took. */
void deliver_discard(struct request *request);

#endif
