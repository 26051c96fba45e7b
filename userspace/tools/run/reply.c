// SPDX-License-Identifier: MIT
/* webnn-run generate --server: writes replies in the form of OpenAI's interface. */
#include "reply.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static json_t *text_json(const char *data, size_t size)
{
	return json_text(WNN_VALUE(WNNStringView, { data, size }));
}

static const char *finish(const char *end)
{
	return strcmp(end, "length") ? "stop" : "length";
}

/* Returns an object with one choice, which is taken over; NULL: with an empty list of choices. */
static json_t *object(const struct reply *reply, const char *kind, json_t *choice)
{
	char id[40];

	snprintf(id, sizeof(id), "%s-%" PRIu64, reply->chat ? "chatcmpl" : "cmpl", reply->number);
	return json_pack("{s:s, s:s, s:I, s:o, s:[o*]}", "id", id, "object", kind, "created",
			 (json_int_t)reply->created, "model", json_text(WNN_STR(reply->model)),
			 "choices", choice);
}

static json_t *usage(const struct reply_text *text)
{
	return json_pack("{s:I, s:I, s:I}", "prompt_tokens", (json_int_t)text->prompt_tokens,
			 "completion_tokens", (json_int_t)text->tokens, "total_tokens",
			 (json_int_t)(text->prompt_tokens + text->tokens));
}

json_t *reply_whole(const struct reply *reply, const struct reply_text *text)
{
	json_t *content = text_json(text->data, text->size), *choice, *root;

	if (reply->chat)
		choice = json_pack("{s:i, s:{s:s, s:o}, s:n, s:s}", "index", 0, "message", "role",
				   "assistant", "content", content, "logprobs", "finish_reason",
				   finish(text->end));
	else
		choice = json_pack("{s:i, s:o, s:n, s:s}", "index", 0, "text", content, "logprobs",
				   "finish_reason", finish(text->end));
	root = object(reply, reply->chat ? "chat.completion" : "text_completion", choice);
	if (root && !json_object_set_new(root, "usage", usage(text)))
		return root;
	json_decref(root);
	return NULL;
}

/* Returns a part of a stream; takes the text, or the change of a conversation, over. */
static json_t *part(const struct reply *reply, json_t *change, const char *end)
{
	json_t *choice = json_pack("{s:i, s:o, s:n, s:s?}", "index", 0,
				   reply->chat ? "delta" : "text", change, "logprobs",
				   "finish_reason", end);

	return object(reply, reply->chat ? "chat.completion.chunk" : "text_completion", choice);
}

json_t *reply_first(const struct reply *reply)
{
	return part(reply, json_pack("{s:s, s:s}", "role", "assistant", "content", ""), NULL);
}

json_t *reply_part(const struct reply *reply, const char *data, size_t size)
{
	json_t *text = text_json(data, size);

	return part(reply, reply->chat ? json_pack("{s:o}", "content", text) : text, NULL);
}

json_t *reply_last(const struct reply *reply, const char *end)
{
	return part(reply, reply->chat ? json_object() : json_string(""), finish(end));
}

json_t *reply_usage(const struct reply *reply, const struct reply_text *text)
{
	json_t *root =
		object(reply, reply->chat ? "chat.completion.chunk" : "text_completion", NULL);

	if (root && !json_object_set_new(root, "usage", usage(text)))
		return root;
	json_decref(root);
	return NULL;
}

json_t *reply_refusal(const struct refusal *refusal)
{
	return json_pack("{s:{s:o, s:s, s:s?, s:i}}", "error", "message",
			 json_text(WNN_STR(refusal->text)), "type",
			 refusal->status < 500 ? "invalid_request_error" : "server_error", "param",
			 refusal->field, "code", (int)refusal->status);
}
