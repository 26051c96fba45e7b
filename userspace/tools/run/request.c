// SPDX-License-Identifier: MIT
/*
 * webnn-run generate --server: reads the bodies of requests, JSON in the form of OpenAI's
 * interface, and refuses what is wrong or cannot be done with a message that names the field.
 */
#include "request.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Most texts of "stop". Each is searched in the whole answer after every token. */
#define MAX_STOPS 16

int refuse(struct refusal *refusal, unsigned int status, const char *field, const char *format, ...)
{
	va_list ap;

	refusal->status = status;
	refusal->field = field;
	va_start(ap, format);
	vsnprintf(refusal->text, sizeof(refusal->text), format, ap);
	va_end(ap);
	return -1;
}

static int refuse_memory(struct refusal *refusal)
{
	return refuse(refusal, 500, NULL, "memory is exhausted");
}

/* The text of a value in a message. */
struct shown {
	char text[64];
};

static struct shown show(const json_t *value)
{
	char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII);
	struct shown shown;

	snprintf(shown.text, sizeof(shown.text), "%.60s%s", text ? text : "?",
		 text && strlen(text) > 60 ? "…" : "");
	free(text);
	return shown;
}

/* Sets @refusal: it says what value the field has, and which is wanted. Returns -1. */
static int refuse_value(struct refusal *refusal, const char *field, const json_t *value,
			const char *wanted)
{
	return refuse(refusal, 400, field, "field \"%s\" is %s; it has to be %s", field,
		      show(value).text, wanted);
}

static struct gguf_text text_of(const json_t *string)
{
	return (struct gguf_text){ json_string_value(string), json_string_length(string) };
}

/* ---- the fields */

struct field;
typedef int (*read_fn)(struct request *request, const struct field *field, const json_t *value,
		       struct refusal *refusal);

/* A field that requests may have. A field without a function has no effect here. */
struct field {
	const char *name;
	enum { BOTH, TEXT, CHAT } where;
	read_fn read;
	const char *only; /* the only value that can be done, as JSON */
};

static int read_prompt(struct request *r, const struct field *field, const json_t *value,
		       struct refusal *refusal)
{
	static const char wanted[] = "a text, or an array of the numbers of tokens";

	if (json_is_string(value)) {
		r->prompt = text_of(value);
		return 0;
	}
	if (!json_is_array(value) || !json_array_size(value))
		return refuse_value(refusal, field->name, value, wanted);
	r->token_count = json_array_size(value);
	r->tokens = calloc(r->token_count, sizeof(*r->tokens));
	if (!r->tokens)
		return refuse_memory(refusal);
	for (size_t i = 0; i < r->token_count; i++) {
		const json_t *item = json_array_get(value, i);
		json_int_t number = json_integer_value(item);

		if (!json_is_integer(item) || number < 0 || number > INT32_MAX)
			return refuse_value(refusal, field->name, value, wanted);
		r->tokens[i] = (uint32_t)number;
	}
	return 0;
}

/*
 * Joins the texts of a message's parts in r->joined[@at]. Returns 0, or refuses a part that is no
 * text, or a lack of memory.
 */
static int read_parts(struct request *r, size_t at, const json_t *parts, struct refusal *refusal)
{
	size_t size = 0, count = json_array_size(parts);
	char *end;

	for (size_t i = 0; i < count; i++) {
		const json_t *part = json_array_get(parts, i);
		const json_t *type = json_object_get(part, "type");

		if (!json_is_string(type) || strcmp(json_string_value(type), "text") != 0 ||
		    !json_is_string(json_object_get(part, "text")))
			return refuse(
				refusal, 400, "messages",
				"field \"messages\" has the part %s; each part of a content "
				"has to be {\"type\": \"text\", \"text\": …}: only texts can be "
				"read",
				show(part).text);
		size += json_string_length(json_object_get(part, "text"));
	}
	r->joined[at] = end = malloc(size + 1);
	if (!end)
		return refuse_memory(refusal);
	for (size_t i = 0; i < count; i++) {
		struct gguf_text text = text_of(json_object_get(json_array_get(parts, i), "text"));

		end = mempcpy(end, text.data, text.size);
	}
	r->messages[at].text = (struct gguf_text){ r->joined[at], size };
	return 0;
}

static int read_message(struct request *r, size_t at, const json_t *message,
			struct refusal *refusal)
{
	static const struct {
		const char *name;
		enum gguf_role role;
	} roles[] = {
		{ "system", GGUF_SYSTEM },
		{ "developer", GGUF_SYSTEM },
		{ "user", GGUF_USER },
		{ "assistant", GGUF_ASSISTANT },
	};
	const json_t *role = json_object_get(message, "role");
	const json_t *content = json_object_get(message, "content");
	const char *name = json_is_string(role) ? json_string_value(role) : "";
	size_t i = 0;

	while (i < sizeof(roles) / sizeof(roles[0]) && strcmp(roles[i].name, name) != 0)
		i++;
	if (i == sizeof(roles) / sizeof(roles[0]) ||
	    (!json_is_string(content) && !json_is_array(content)))
		return refuse(
			refusal, 400, "messages",
			"field \"messages\" has the message %s; each has to be {\"role\": "
			"\"system\", \"developer\", \"user\" or \"assistant\", \"content\": a "
			"text}",
			show(message).text);
	r->messages[at].role = roles[i].role;
	if (json_is_array(content))
		return read_parts(r, at, content, refusal);
	r->messages[at].text = text_of(content);
	return 0;
}

static int read_messages(struct request *r, const struct field *field, const json_t *value,
			 struct refusal *refusal)
{
	size_t count = json_array_size(value);

	if (!count)
		return refuse_value(refusal, field->name, value,
				    "an array of at least one message");
	r->messages = calloc(count, sizeof(*r->messages));
	r->joined = calloc(count, sizeof(*r->joined));
	if (!r->messages || !r->joined)
		return refuse_memory(refusal);
	r->message_count = count;
	for (size_t i = 0; i < count; i++)
		if (read_message(r, i, json_array_get(value, i), refusal))
			return -1;
	return 0;
}

static int read_max_tokens(struct request *r, const struct field *field, const json_t *value,
			   struct refusal *refusal)
{
	json_int_t number = json_integer_value(value);

	if (!json_is_integer(value) || number < 1 || number > INT32_MAX)
		return refuse_value(refusal, field->name, value, "an integer from 1 to 2147483647");
	r->max_tokens = (uint64_t)number;
	return 0;
}

static int read_temperature(struct request *r, const struct field *field, const json_t *value,
			    struct refusal *refusal)
{
	double number = json_number_value(value);

	if (!json_is_number(value) || number < 0 || !isfinite(number))
		return refuse_value(refusal, field->name, value, "a number from 0 on");
	r->sampling.temperature = number;
	return 0;
}

static int read_share(struct request *r, const struct field *field, const json_t *value,
		      struct refusal *refusal)
{
	double number = json_number_value(value);

	if (!json_is_number(value) || !(number >= 0 && number <= 1))
		return refuse_value(refusal, field->name, value, "a number from 0 to 1");
	*(field->name[0] == 't' ? &r->sampling.top_p : &r->sampling.min_p) = number;
	return 0;
}

static int read_top_k(struct request *r, const struct field *field, const json_t *value,
		      struct refusal *refusal)
{
	r->sampling.top_k = json_integer_value(value);
	if (!json_is_integer(value) || r->sampling.top_k < 0 || r->sampling.top_k > INT32_MAX)
		return refuse_value(refusal, field->name, value,
				    "an integer from 0, which means all tokens, to 2147483647");
	return 0;
}

static int read_seed(struct request *r, const struct field *field, const json_t *value,
		     struct refusal *refusal)
{
	r->seed = json_integer_value(value);
	if (!json_is_integer(value) || r->seed < 0)
		return refuse_value(refusal, field->name, value,
				    "an integer from 0 to 9223372036854775807");
	return 0;
}

static int read_stop(struct request *r, const struct field *field, const json_t *value,
		     struct refusal *refusal)
{
	size_t count = json_is_array(value) ? json_array_size(value) : 1;

	r->stops.items = calloc(count ? count : 1, sizeof(*r->stops.items));
	if (!r->stops.items)
		return refuse_memory(refusal);
	for (size_t i = 0; i < count && count <= MAX_STOPS; i++) {
		const json_t *item = json_is_array(value) ? json_array_get(value, i) : value;

		if (!json_is_string(item) || !json_string_length(item))
			break;
		r->stops.items[r->stops.count++].text = json_string_value(item);
	}
	if (r->stops.count == count)
		return 0;
	return refuse_value(refusal, field->name, value,
			    "a text that is not empty, or an array of up to 16 such texts");
}

static int read_stream(struct request *r, const struct field *field, const json_t *value,
		       struct refusal *refusal)
{
	r->stream = json_is_true(value);
	if (!json_is_boolean(value))
		return refuse_value(refusal, field->name, value, "true or false");
	return 0;
}

static int read_stream_options(struct request *r, const struct field *field, const json_t *value,
			       struct refusal *refusal)
{
	const json_t *usage = json_object_get(value, "include_usage");

	r->usage = json_is_true(usage);
	if (!json_is_object(value) || (usage && !json_is_boolean(usage)))
		return refuse_value(refusal, field->name, value,
				    "{\"include_usage\": true or false}");
	return 0;
}

static int read_model(struct request *r, const struct field *field, const json_t *value,
		      struct refusal *refusal)
{
	(void)r;
	if (json_is_string(value))
		return 0;
	return refuse_value(refusal, field->name, value,
			    "a text; it may be any, since there is one model");
}

/*
 * Accepts only the value field->only, which asks for nothing that the server lacks. Returns 0, or
 * -1 with a refusal.
 */
static int read_only(struct request *r, const struct field *field, const json_t *value,
		     struct refusal *refusal)
{
	json_t *only = json_loads(field->only, JSON_DECODE_ANY, NULL);
	bool same = only && (json_equal(only, value) ||
			     (json_is_number(only) && json_is_number(value) &&
			      json_number_value(only) == json_number_value(value)));
	char wanted[80];

	(void)r;
	json_decref(only);
	if (same)
		return 0;
	snprintf(wanted, sizeof(wanted), "%s or left out: nothing else can be done", field->only);
	return refuse_value(refusal, field->name, value, wanted);
}

static const struct field fields[] = {
	{ "prompt", TEXT, read_prompt, NULL },
	{ "messages", CHAT, read_messages, NULL },
	{ "model", BOTH, read_model, NULL },
	{ "max_tokens", BOTH, read_max_tokens, NULL },
	{ "max_completion_tokens", CHAT, read_max_tokens, NULL },
	{ "temperature", BOTH, read_temperature, NULL },
	{ "top_p", BOTH, read_share, NULL },
	{ "top_k", BOTH, read_top_k, NULL },
	{ "min_p", BOTH, read_share, NULL },
	{ "seed", BOTH, read_seed, NULL },
	{ "stop", BOTH, read_stop, NULL },
	{ "stream", BOTH, read_stream, NULL },
	{ "stream_options", BOTH, read_stream_options, NULL },
	/* Fields for what cannot be done, with the value that asks for nothing. */
	{ "n", BOTH, read_only, "1" },
	{ "best_of", TEXT, read_only, "1" },
	{ "echo", TEXT, read_only, "false" },
	{ "suffix", TEXT, read_only, "\"\"" },
	{ "logprobs", CHAT, read_only, "false" },
	{ "logit_bias", BOTH, read_only, "{}" },
	{ "frequency_penalty", BOTH, read_only, "0" },
	{ "presence_penalty", BOTH, read_only, "0" },
	{ "repeat_penalty", BOTH, read_only, "1" },
	{ "response_format", CHAT, read_only, "{\"type\":\"text\"}" },
	{ "modalities", CHAT, read_only, "[\"text\"]" },
	{ "tools", CHAT, read_only, "[]" },
	{ "tool_choice", CHAT, read_only, "\"none\"" },
	/* Fields without effect: most are for services that keep an account of requests. */
	{ "user", BOTH, NULL, NULL },
	{ "store", BOTH, NULL, NULL },
	{ "metadata", BOTH, NULL, NULL },
	{ "service_tier", BOTH, NULL, NULL },
	{ "safety_identifier", BOTH, NULL, NULL },
	{ "prompt_cache_key", BOTH, NULL, NULL },
	{ "parallel_tool_calls", CHAT, NULL, NULL },
};

#define NUM_FIELDS (sizeof(fields) / sizeof(fields[0]))

static const struct field *find_field(const char *name, bool chat)
{
	for (size_t i = 0; i < NUM_FIELDS; i++)
		if (fields[i].where != (chat ? TEXT : CHAT) && !strcmp(fields[i].name, name))
			return &fields[i];
	return NULL;
}

static int refuse_unknown(struct refusal *refusal, const char *name, bool chat)
{
	char known[300] = "";

	for (size_t i = 0; i < NUM_FIELDS; i++)
		if (fields[i].where != (chat ? TEXT : CHAT) && fields[i].read &&
		    fields[i].read != read_only) {
			size_t size = strlen(known);

			snprintf(known + size, sizeof(known) - size, "%s%s", size ? ", " : "",
				 fields[i].name);
		}
	return refuse(refusal, 400, name, "field \"%.60s\" is unknown %s; there are %s", name,
		      chat ? "in a conversation" : "for a text", known);
}

/* ---- the body */

int request_read(struct request *r, const char *body, size_t size, bool chat,
		 struct refusal *refusal)
{
	const char *name;
	json_error_t error;
	json_t *value;

	*r = (struct request){ .chat = chat, .sampling = GGUF_SAMPLING_INIT, .seed = -1 };
	r->root = json_loadb(size ? body : "", size, JSON_REJECT_DUPLICATES, &error);
	if (!r->root)
		return refuse(refusal, 400, NULL, "the body is no JSON: line %d, column %d: %.200s",
			      error.line, error.column, error.text);
	if (!json_is_object(r->root))
		return refuse(refusal, 400, NULL, "the body is an array; it has to be an object");
	json_object_foreach(r->root, name, value)
	{
		const struct field *field = find_field(name, chat);

		/* Clients write null for what they leave out. */
		if (json_is_null(value))
			continue;
		if (!field)
			return refuse_unknown(refusal, name, chat);
		if (field->read && field->read(r, field, value, refusal))
			return -1;
	}
	name = chat ? "messages" : "prompt";
	if (chat ? !r->messages : !r->tokens && !r->prompt.data)
		return refuse(refusal, 400, name, "field \"%s\" is missing: it has %s", name,
			      chat ? "the conversation, an array of {\"role\": …, \"content\": …}" :
				     "the text to go on with");
	return 0;
}

static void free_prompt(struct request *r)
{
	for (size_t i = 0; r->joined && i < r->message_count; i++)
		free(r->joined[i]);
	free(r->joined);
	free(r->messages);
	free(r->tokens);
}

void request_trim(struct request *r)
{
	json_t *stop = json_incref(json_object_get(r->root, "stop"));

	free_prompt(r);
	r->prompt = (struct gguf_text){ 0 };
	r->tokens = NULL;
	r->messages = NULL;
	r->joined = NULL;
	r->token_count = r->message_count = 0;
	json_decref(r->root);
	r->root = stop;
}

void request_exit(struct request *r)
{
	free_prompt(r);
	free(r->stops.items);
	json_decref(r->root);
	*r = (struct request){ 0 };
}
