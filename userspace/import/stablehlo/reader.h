/* SPDX-License-Identifier: MIT */
/* The reader of MLIR's text: a descent over characters, as types such as 2x3xf32 have no tokens. */
#ifndef SHLO_READER_H
#define SHLO_READER_H

#include "kinds.h"
#include "module.h"

struct shlo_name {
	struct shlo_name *next;	  /* in its bucket */
	struct shlo_name *before; /* the one that was added before this one */
	const char *text;
	size_t count;
	struct shlo_value **values;
	size_t bucket;
};

struct shlo_alias {
	struct shlo_alias *next;
	const char *text; /* with its # or ! */
	const struct shlo_attr *attr;
	const struct shlo_type *type;
};

/* Bytes that are named by dense_resource. */
struct shlo_resource {
	struct shlo_resource *next;
	const char *name;
	const uint8_t *bytes;
	size_t size;
};

#define SHLO_BUCKETS 512

struct shlo_reader {
	struct shlo_file *file;
	struct shlo_arena *arena;
	const char *text, *end, *at;
	unsigned int line;
	const char *line_start;
	int depth;
	bool bare; /* numbers are without their types */
	struct shlo_alias *aliases;
	struct shlo_resource *resources;
	const char *resources_start, *resources_end; /* NULL: there are none */
	struct shlo_module *module;
	/* The names and slots of values of the function that is read. */
	struct shlo_name *names[SHLO_BUCKETS], *newest;
	size_t slot_count;
	bool in_parts; /* see struct shlo_function */
};

/* Ends the reading: says line and column. */
_Noreturn void shlo_read_error(struct shlo_reader *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
struct shlo_place shlo_read_place(struct shlo_reader *r);

/* White space and comments are skipped in front of all of these. */
void shlo_skip(struct shlo_reader *r);
char shlo_peek(struct shlo_reader *r);			      /* 0 at the end */
bool shlo_take(struct shlo_reader *r, const char *text);      /* whether it was there */
void shlo_expect(struct shlo_reader *r, const char *text);    /* or an error */
bool shlo_take_word(struct shlo_reader *r, const char *word); /* a whole word */
bool shlo_peek_word(struct shlo_reader *r, const char *word);
/* Letters, digits, and _ . $ -; NULL if there is none. */
const char *shlo_read_word(struct shlo_reader *r);
const char *shlo_read_string(struct shlo_reader *r, size_t *length);
/* The name of a symbol behind its @. */
const char *shlo_read_symbol(struct shlo_reader *r);
/* Skips to behind the bracket that closes the one at hand. */
void shlo_skip_balanced(struct shlo_reader *r);
void shlo_skip_location(struct shlo_reader *r);
int64_t shlo_read_integer(struct shlo_reader *r);
void shlo_enter(struct shlo_reader *r);
void shlo_leave(struct shlo_reader *r);

const struct shlo_type *shlo_read_type(struct shlo_reader *r);
bool shlo_at_type(struct shlo_reader *r);
/* "(a, b)", or one type alone. */
const struct shlo_type *const *shlo_read_types(struct shlo_reader *r, size_t *count);

const struct shlo_attr *shlo_read_attr(struct shlo_reader *r);
/* Numbers of an element of this type at hand, into data. */
const struct shlo_attr *shlo_read_dense(struct shlo_reader *r);
void shlo_read_dict(struct shlo_reader *r, struct shlo_attr *dict, char close);
void shlo_dict_add(struct shlo_reader *r, struct shlo_attr *dict, const char *name,
		   const struct shlo_attr *attr);
struct shlo_attr *shlo_attr_new(struct shlo_reader *r, enum shlo_attr_kind kind);
const struct shlo_attr *shlo_attr_ints(struct shlo_reader *r, const int64_t *numbers, size_t count);
const struct shlo_attr *shlo_attr_number(struct shlo_reader *r, int64_t number);
/* [b, 0, f]x[i, o, 0]->[b, 0, f] */
const struct shlo_attr *shlo_read_conv_dims(struct shlo_reader *r);

/* Values. */
struct shlo_value *shlo_value_new(struct shlo_reader *r, const char *name,
				  const struct shlo_type *type, struct shlo_op *op);
void shlo_name_add(struct shlo_reader *r, const char *text, size_t count,
		   struct shlo_value **values);
struct shlo_value *shlo_read_operand(struct shlo_reader *r);
void shlo_op_add_operand(struct shlo_reader *r, struct shlo_op *op, struct shlo_value *value);
void shlo_op_add_region(struct shlo_reader *r, struct shlo_op *op, struct shlo_region *region);
/* A region at its {; arguments that are given take the place of those of a block. */
struct shlo_region *shlo_read_region(struct shlo_reader *r, size_t count,
				     struct shlo_value **arguments, struct shlo_name *mark);
void shlo_forget(struct shlo_reader *r, struct shlo_name *mark);
void shlo_block_add(struct shlo_reader *r, struct shlo_block *block, struct shlo_op *op);
void shlo_op_results(struct shlo_reader *r, struct shlo_op *op, size_t count,
		     const struct shlo_type *const *types);
struct shlo_op *shlo_read_op(struct shlo_reader *r);
/*
 * Reads the custom form of an operation behind its name. @named: how many results are on its left.
 */
void shlo_read_pretty(struct shlo_reader *r, struct shlo_op *op, size_t named);
void shlo_read_reduce(struct shlo_reader *r, struct shlo_op *op);
void shlo_read_while(struct shlo_reader *r, struct shlo_op *op);
void shlo_read_scan(struct shlo_reader *r, struct shlo_op *op);
/* An operation of Shardy; false: it is none that is known. */
bool shlo_read_sharding(struct shlo_reader *r, struct shlo_op *op);
void shlo_read_mesh(struct shlo_reader *r); /* behind sdy.mesh */
/* Takes a mesh from sdy.mesh in its generic form. */
void shlo_take_mesh(struct shlo_reader *r, const struct shlo_op *op);
/* Attributes of an argument or result, of which only marks of shardings matter. */
void shlo_skip_marks(struct shlo_reader *r);
/* "(types) -> types" where the operands must be of these types. */
void shlo_read_signature(struct shlo_reader *r, struct shlo_op *op);
struct shlo_op *shlo_op_new(struct shlo_reader *r, const char *name, struct shlo_place place);
/* A new module of the file, which is the one at hand from then on. */
void shlo_module_new(struct shlo_reader *r);
/* Makes a function of the module out of func.func in its generic form. */
void shlo_take_function(struct shlo_reader *r, struct shlo_op *op);
/* The attributes of a module in the generic form. */
void shlo_take_module_attrs(struct shlo_reader *r, const struct shlo_attr *attrs);
/* Finds the resources of the text at hand, which stand behind their use. */
void shlo_read_resources(struct shlo_reader *r);
void shlo_skip_resources(struct shlo_reader *r); /* at their start */
/* Reads what stands behind the word dense_resource. */
const struct shlo_attr *shlo_read_dense_resource(struct shlo_reader *r);
/* Two digits for each byte behind "0x"; ends the reading where there are others. */
const uint8_t *shlo_hex_bytes(struct shlo_reader *r, const char *text, size_t length);
/* "#vhlo…" and "!vhlo…" in text, behind these. */
const struct shlo_attr *shlo_read_vhlo_attr(struct shlo_reader *r, const char *name);
const struct shlo_type *shlo_read_vhlo_type(struct shlo_reader *r);
/*
 * Reads what stands in angle brackets behind the word tensor, elements that are quantised included.
 */
const struct shlo_type *shlo_read_tensor(struct shlo_reader *r);
const struct shlo_type *shlo_read_list(struct shlo_reader *r, enum shlo_type_kind kind);
/* Limits what holds others, as a small file may name the same part many times. */
void shlo_type_weigh(struct shlo_reader *r, struct shlo_type *type);
void shlo_attr_weigh(struct shlo_reader *r, struct shlo_attr *attr);
/* Fills in elements from bytes: all of them, one for all, or booleans as bits; false: neither. */
bool shlo_dense_fill(struct shlo_arena *arena, struct shlo_attr *attr, const uint8_t *bytes,
		     size_t size);
/* The block arguments "(%a: type, …)", which are named. */
void shlo_read_arguments(struct shlo_reader *r, struct shlo_block *block);

#endif
