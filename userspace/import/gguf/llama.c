// SPDX-License-Identifier: MIT
/*
 * Reads a model of the architecture llama: its sizes, the frequencies of its rotation (RoPE), and
 * its weights.
 */
#include "llama.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../common/memory.h"

/* Limits that no known model reaches, so that no product of sizes overflows. */
#define MAX_SIZE   (1 << 20)
#define MAX_LAYERS 1024
#define MAX_TOKENS (1 << 24)

/* ---- sizes */

/*
 * Sets *size to the number of a key, or without the key to @usual; 0 there means that a file must
 * have the key. Returns 0, or -1 with a message.
 */
static int read_size(const struct gguf *gguf, const char *key, uint64_t most, uint32_t usual,
		     uint32_t *size, struct gguf_error *error)
{
	uint64_t value = usual;

	if (gguf_number(gguf, key, most, &value, error))
		return -1;
	if (!value && gguf_key(gguf, key))
		return gguf_fail(error, "key %s is 0; it must be at least 1", key);
	if (!value)
		return gguf_fail(error, "key %s is missing", key);
	*size = (uint32_t)value;
	return 0;
}

static int read_sizes(struct gguf_llama *m, const struct gguf *gguf, struct gguf_error *error)
{
	uint64_t experts = 0;
	uint32_t values;

	if (read_size(gguf, "llama.block_count", MAX_LAYERS, 0, &m->layer_count, error) ||
	    read_size(gguf, "llama.context_length", INT32_MAX, 0, &m->context, error) ||
	    read_size(gguf, "llama.embedding_length", MAX_SIZE, 0, &m->width, error) ||
	    read_size(gguf, "llama.feed_forward_length", MAX_SIZE, 0, &m->hidden, error) ||
	    read_size(gguf, "llama.attention.head_count", MAX_SIZE, 0, &m->heads, error) ||
	    read_size(gguf, "llama.attention.head_count_kv", MAX_SIZE, m->heads, &m->key_heads,
		      error) ||
	    read_size(gguf, "llama.attention.key_length", MAX_SIZE, m->width / m->heads, &m->size,
		      error) ||
	    read_size(gguf, "llama.attention.value_length", MAX_SIZE, m->size, &values, error) ||
	    read_size(gguf, "llama.rope.dimension_count", MAX_SIZE, m->size, &m->rotated, error) ||
	    gguf_number(gguf, "llama.expert_count", UINT32_MAX, &experts, error))
		return -1;
	if (m->heads % m->key_heads || values != m->size || m->rotated % 2 ||
	    m->rotated > m->size || (uint64_t)m->heads * m->size > MAX_SIZE)
		return gguf_fail(
			error,
			"llama.attention.head_count is %u, head_count_kv %u, key_length %u, "
			"value_length %u and llama.rope.dimension_count %u: the first must "
			"be a multiple of the second, the lengths equal, the last even and "
			"at most the lengths, and heads of up to %d numbers in all",
			m->heads, m->key_heads, m->size, values, m->rotated, MAX_SIZE);
	if (experts)
		return gguf_fail(error, "it is a mixture of %llu experts, which cannot be run",
				 (unsigned long long)experts);
	return 0;
}

/* ---- rotation */

/*
 * Sets *factor to the number that frequencies are divided by; without a key, it stays. Returns 0,
 * or -1 with a message.
 */
static int read_scaling(const struct gguf *gguf, double *factor, struct gguf_error *error)
{
	struct gguf_text type = { "linear", 6 };

	if (gguf_string(gguf, "llama.rope.scaling.type", &type, error) ||
	    gguf_real(gguf, "llama.rope.scale_linear", factor, error) ||
	    gguf_real(gguf, "llama.rope.scaling.factor", factor, error))
		return -1;
	if (gguf_text_is(type, "none"))
		*factor = 1;
	else if (!gguf_text_is(type, "linear"))
		return gguf_fail(error,
				 "llama.rope.scaling.type is \"%.*s\", which cannot be run; none "
				 "and linear can",
				 GGUF_ARGS(type));
	/* 0 says that nothing is scaled. */
	if (*factor == 0)
		*factor = 1;
	return 0;
}

static int read_rotation(struct gguf_llama *m, const struct gguf *gguf, struct gguf_error *error)
{
	double base = 10000, factor = 1;
	uint32_t half = m->rotated / 2;
	float *factors = NULL;

	if (gguf_real(gguf, "llama.rope.freq_base", &base, error) ||
	    read_scaling(gguf, &factor, error))
		return -1;
	if (base <= 0)
		return gguf_fail(error, "key llama.rope.freq_base is %g; it must be above 0", base);
	if (factor <= 0)
		return gguf_fail(error,
				 "key llama.rope.%s is %g; it must be 0 (no scaling) or more",
				 gguf_key(gguf, "llama.rope.scaling.factor") ? "scaling.factor" :
									       "scale_linear",
				 factor);
	if (gguf_tensor(gguf, "rope_freqs.weight")) {
		factors = gguf_vector(gguf, "rope_freqs.weight", half, error);
		if (!factors)
			return -1;
	}
	m->frequencies = import_alloc(half * sizeof(*m->frequencies));
	for (uint32_t i = 0; m->frequencies && i < half; i++)
		m->frequencies[i] = pow(base, -2.0 * i / m->rotated) / factor /
				    (factors ? (double)factors[i] : 1);
	import_free(factors);
	return m->frequencies ? 0 : gguf_fail_memory(error);
}

/* ---- weights */

/* Returns whether a layer has a tensor of this name. */
static bool is_of_layer(struct gguf_text name, uint32_t layer_count)
{
	static const char *const parts[] = {
		"attn_norm", "attn_q", "attn_k",   "attn_v",   "attn_output",
		"ffn_norm",  "ffn_up", "ffn_gate", "ffn_down",
	};
	char text[80];
	unsigned int layer;
	int end = 0;

	if (name.size >= sizeof(text))
		return false;
	memcpy(text, name.data, name.size);
	text[name.size] = 0;
	if (sscanf(text, "blk.%5u.%n", &layer, &end) != 1 || !end || layer >= layer_count)
		return false;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		size_t size = strlen(parts[i]);

		if (!strncmp(text + end, parts[i], size) && !strcmp(text + end + size, ".weight"))
			return true;
	}
	return false;
}

/* Returns 0; -1: the file has a tensor that the graph would not compute with. */
static int check_tensors(const struct gguf_llama *m, const struct gguf *gguf,
			 struct gguf_error *error)
{
	static const char *const names[] = { "token_embd.weight", "output_norm.weight",
					     "output.weight", "rope_freqs.weight" };

	for (size_t i = 0; i < gguf->tensor_count; i++) {
		struct gguf_text name = gguf->tensors[i].name;
		bool known = is_of_layer(name, m->layer_count);

		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
			known |= gguf_text_is(name, names[k]);
		if (!known)
			return gguf_fail(error,
					 "tensor \"%.*s\" is unknown in models of the architecture "
					 "llama with a block_count of %u",
					 GGUF_ARGS(name), m->layer_count);
	}
	return 0;
}

static int read_weight(const struct gguf_llama *m, uint32_t layer, const char *part, uint32_t depth,
		       uint32_t columns, uint32_t rotated_heads, struct import_matrix *weight,
		       struct gguf_error *error)
{
	struct gguf_heads heads = { rotated_heads, m->size, m->rotated };
	char name[80];

	snprintf(name, sizeof(name), "blk.%u.%s.weight", layer, part);
	return gguf_weight_init(weight, m->gguf, name, depth, columns, heads, error);
}

static int read_layer(const struct gguf_llama *m, uint32_t i, struct gguf_error *error)
{
	uint32_t wide = m->heads * m->size, narrow = m->key_heads * m->size;
	struct gguf_layer *layer = &m->layers[i];
	char name[80];

	snprintf(name, sizeof(name), "blk.%u.attn_norm.weight", i);
	layer->attention_norm = gguf_vector(m->gguf, name, m->width, error);
	snprintf(name, sizeof(name), "blk.%u.ffn_norm.weight", i);
	layer->feed_norm = layer->attention_norm ? gguf_vector(m->gguf, name, m->width, error) :
						   NULL;
	if (!layer->feed_norm)
		return -1;
	return read_weight(m, i, "attn_q", m->width, wide, m->heads, &layer->query, error) ||
			       read_weight(m, i, "attn_k", m->width, narrow, m->key_heads,
					   &layer->key, error) ||
			       read_weight(m, i, "attn_v", m->width, narrow, 0, &layer->value,
					   error) ||
			       read_weight(m, i, "attn_output", wide, m->width, 0, &layer->output,
					   error) ||
			       read_weight(m, i, "ffn_gate", m->width, m->hidden, 0, &layer->gate,
					   error) ||
			       read_weight(m, i, "ffn_up", m->width, m->hidden, 0, &layer->up,
					   error) ||
			       read_weight(m, i, "ffn_down", m->hidden, m->width, 0, &layer->down,
					   error) ?
		       -1 :
		       0;
}

static int read_embedding(struct gguf_llama *m, struct gguf_error *error)
{
	const struct gguf_heads none = { 0 };
	const struct gguf_tensor *tensor = gguf_tensor(m->gguf, "token_embd.weight");
	bool tied = !gguf_tensor(m->gguf, "output.weight");

	if (!tensor)
		return gguf_fail(error, "tensor \"token_embd.weight\" is missing");
	if (tensor->size[2] != 1 || tensor->size[3] != 1)
		return gguf_fail(error,
				 "tensor \"token_embd.weight\" has %u dimensions; it must have 2",
				 tensor->rank);
	if (tensor->size[0] != m->width)
		return gguf_fail(error,
				 "tensor \"token_embd.weight\" has rows of %llu numbers, but key "
				 "llama.embedding_length is %u",
				 (unsigned long long)tensor->size[0], m->width);
	if (tensor->size[1] > MAX_TOKENS)
		return gguf_fail(
			error,
			"tensor \"token_embd.weight\" has rows for %llu tokens; %d are the "
			"most",
			(unsigned long long)tensor->size[1], MAX_TOKENS);
	if (!import_block_is_read(tensor->type))
		return gguf_fail(error,
				 "tensor \"token_embd.weight\" has type %s, which cannot be read",
				 tensor->type->name);
	m->embedding = tensor;
	m->vocabulary = (uint32_t)tensor->size[1];
	m->norm = gguf_vector(m->gguf, "output_norm.weight", m->width, error);
	if (!m->norm)
		return -1;
	return gguf_weight_init(&m->logits, m->gguf, tied ? "token_embd.weight" : "output.weight",
				m->width, m->vocabulary, none, error);
}

int gguf_llama_init(struct gguf_llama *m, const struct gguf *gguf, struct gguf_error *error)
{
	struct gguf_text architecture = { "", 0 };
	double epsilon = 0;

	*m = (struct gguf_llama){ .gguf = gguf };
	if (gguf_string(gguf, "general.architecture", &architecture, error))
		return -1;
	if (!gguf_key(gguf, "general.architecture"))
		return gguf_fail(error, "key general.architecture is missing");
	if (!gguf_text_is(architecture, "llama"))
		return gguf_fail(error,
				 "its architecture is \"%.*s\", which cannot be run; llama can",
				 GGUF_ARGS(architecture));
	if (read_sizes(m, gguf, error) || read_rotation(m, gguf, error) ||
	    gguf_real(gguf, "llama.attention.layer_norm_rms_epsilon", &epsilon, error))
		return -1;
	if (!gguf_key(gguf, "llama.attention.layer_norm_rms_epsilon"))
		return gguf_fail(error, "key llama.attention.layer_norm_rms_epsilon is missing");
	if (!(epsilon > 0))
		return gguf_fail(
			error,
			"key llama.attention.layer_norm_rms_epsilon is %g; it must be above 0",
			epsilon);
	m->epsilon = (float)epsilon;
	if (check_tensors(m, gguf, error))
		return -1;
	m->layers = import_alloc(m->layer_count * sizeof(*m->layers));
	if (!m->layers)
		return gguf_fail_memory(error);
	for (uint32_t i = 0; i < m->layer_count; i++)
		if (read_layer(m, i, error))
			return -1;
	return read_embedding(m, error);
}

void gguf_llama_exit(struct gguf_llama *m)
{
	for (uint32_t i = 0; m->layers && i < m->layer_count; i++) {
		struct gguf_layer *layer = &m->layers[i];

		import_matrix_exit(&layer->query);
		import_matrix_exit(&layer->key);
		import_matrix_exit(&layer->value);
		import_matrix_exit(&layer->output);
		import_matrix_exit(&layer->gate);
		import_matrix_exit(&layer->up);
		import_matrix_exit(&layer->down);
		import_free(layer->attention_norm);
		import_free(layer->feed_norm);
	}
	import_matrix_exit(&m->logits);
	import_free(m->layers);
	import_free(m->norm);
	import_free(m->frequencies);
	*m = (struct gguf_llama){ 0 };
}

void gguf_llama_embed(const struct gguf_llama *m, uint32_t token, float *vector)
{
	import_blocks_read(m->embedding->type, m->embedding->data, (uint64_t)token * m->width,
			   m->width, vector);
}
