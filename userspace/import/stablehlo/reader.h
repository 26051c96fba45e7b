/* SPDX-License-Identifier: MIT */
/*
 * The reader of MLIR text: recursive descent over characters, because types such as 2x3xf32 cannot
 * be split into tokens.
 */
#ifndef SHLO_READER_H
#define SHLO_READER_H

#include "kinds.h"
#include "module.h"

/* A name that the text gives to values: %a to one, %a:2 to several, which are %a#0 and %a#1. */
struct shlo_name {
	struct shlo_name *next;	  /* next name in its bucket */
	struct shlo_name *before; /* the name that was added before this one */
	const char *text;
	size_t count;
	struct shlo_value **values;
	size_t bucket;
};

struct shlo_alias {
	struct shlo_alias *next;
	const char *text; /* the alias without its # or ! */
	const struct shlo_attr *attr;
	const struct shlo_type *type;
};

/* Bytes that dense_resource refers to by name. */
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
	bool bare; /* a colon after a number begins the types of the operation, not of the number */
	struct shlo_alias *aliases;
	struct shlo_resource *resources;
	const char *resources_start, *resources_end; /* NULL: there are none */
	struct shlo_module *module;
	/* The names and slots of values in the function that is being read. */
	struct shlo_name *names[SHLO_BUCKETS], *newest;
	size_t slot_count;
	/* whether arguments or results of the function have a sharding */
	bool is_sharded;
	/* attributes of the types that shlo_read_types() has read last; NULL: there are none */
	const struct shlo_attr **marks;
};

/* Ends the reading with an error that names line and column; text in bytecode has neither. */
_Noreturn void shlo_read_error(struct shlo_reader *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
struct shlo_location shlo_read_location(struct shlo_reader *r);

/* The functions down to shlo_read_integer() first skip white space and comments. */
void shlo_skip(struct shlo_reader *r);
char shlo_peek(struct shlo_reader *r); /* returns 0 at the end */
/* skips text; returns whether it was there */
bool shlo_take(struct shlo_reader *r, const char *text);
void shlo_expect(struct shlo_reader *r, const char *text);    /* skips text; otherwise an error */
bool shlo_take_word(struct shlo_reader *r, const char *word); /* skips a whole word */
bool shlo_peek_word(struct shlo_reader *r, const char *word);
/* Returns a word of letters, digits, _, ., $ and -; NULL: there is none. */
const char *shlo_read_word(struct shlo_reader *r);
/* Returns a string without quotes and escapes; sets *length unless @length is NULL. */
const char *shlo_read_string(struct shlo_reader *r, size_t *length);
/* Returns the name of a symbol, without its @. */
const char *shlo_read_symbol(struct shlo_reader *r);
/* Skips a bracket, and all up to its closing bracket. */
void shlo_skip_balanced(struct shlo_reader *r);
void shlo_skip_location(struct shlo_reader *r);
int64_t shlo_read_integer(struct shlo_reader *r);
/* Returns the dimension that the scales of a quantised type are for. */
int shlo_read_axis(struct shlo_reader *r);
/* Begin and end a nested part; SHLO_MAX_DEPTH levels are the most, and more an error. */
void shlo_enter(struct shlo_reader *r);
void shlo_leave(struct shlo_reader *r);

const struct shlo_type *shlo_read_type(struct shlo_reader *r);
bool shlo_at_type(struct shlo_reader *r);
/* Reads "(a, b)", or a single type; returns the list of types, and sets *count to their number. */
const struct shlo_type *const *shlo_read_types(struct shlo_reader *r, size_t *count);

const struct shlo_attr *shlo_read_attr(struct shlo_reader *r);
/* Reads dense<…>, and returns the attribute. */
const struct shlo_attr *shlo_read_dense(struct shlo_reader *r);
void shlo_read_dict(struct shlo_reader *r, struct shlo_attr *dict, char close);
void shlo_dict_add(struct shlo_reader *r, struct shlo_attr *dict, const char *name,
		   const struct shlo_attr *attr);
struct shlo_attr *shlo_attr_new(struct shlo_reader *r, enum shlo_attr_kind kind);
const struct shlo_attr *shlo_attr_ints(struct shlo_reader *r, const int64_t *numbers, size_t count);
const struct shlo_attr *shlo_attr_number(struct shlo_reader *r, int64_t number);
/* Reads dimension numbers such as [b, 0, f]x[i, o, 0]->[b, 0, f]. */
const struct shlo_attr *shlo_read_conv_dims(struct shlo_reader *r);

struct shlo_value *shlo_value_new(struct shlo_reader *r, const char *name,
				  const struct shlo_type *type, struct shlo_op *op);
void shlo_name_add(struct shlo_reader *r, const char *text, size_t count,
		   struct shlo_value **values);
struct shlo_value *shlo_read_operand(struct shlo_reader *r);
void shlo_op_add_operand(struct shlo_reader *r, struct shlo_op *op, struct shlo_value *value);
void shlo_op_add_region(struct shlo_reader *r, struct shlo_op *op, struct shlo_region *region);
/*
 * Reads a region from its { and returns it. If @arguments are given, the block uses these @count
 * values as its arguments. @mark: the last name that stays known after the region.
 */
struct shlo_region *shlo_read_region(struct shlo_reader *r, size_t count,
				     struct shlo_value **arguments, struct shlo_name *mark);
/* Forgets the names that were added after @mark. */
void shlo_forget(struct shlo_reader *r, struct shlo_name *mark);
void shlo_block_add(struct shlo_reader *r, struct shlo_block *block, struct shlo_op *op);
void shlo_op_results(struct shlo_reader *r, struct shlo_op *op, size_t count,
		     const struct shlo_type *const *types);
struct shlo_op *shlo_read_op(struct shlo_reader *r);
/*
 * Reads the printed form of an operation, after its name. @named: number of results on its left
 * side.
 */
void shlo_read_pretty(struct shlo_reader *r, struct shlo_op *op, size_t named);
void shlo_read_reduce(struct shlo_reader *r, struct shlo_op *op);
void shlo_read_while(struct shlo_reader *r, struct shlo_op *op);
void shlo_read_scan(struct shlo_reader *r, struct shlo_op *op);
/*
 * Reads an operation of Shardy after its name. Returns false, and reads nothing, for an operation
 * of another dialect, an unknown one, and sdy.constant.
 */
bool shlo_read_sharding(struct shlo_reader *r, struct shlo_op *op);
void shlo_read_mesh(struct shlo_reader *r); /* reads what follows sdy.mesh */
/* Adds the mesh of an sdy.mesh in generic form to the module. */
void shlo_take_mesh(struct shlo_reader *r, const struct shlo_op *op);
/* Returns the attributes of an argument or result; sets r->is_sharded if one is a sharding. */
const struct shlo_attr *shlo_read_marks(struct shlo_reader *r);
/* Reads "(types) -> types", and demands that the operands have these types. */
void shlo_read_signature(struct shlo_reader *r, struct shlo_op *op);
struct shlo_op *shlo_op_new(struct shlo_reader *r, const char *name, struct shlo_location location);
/* Adds a module to the file; it becomes the current module. */
void shlo_module_new(struct shlo_reader *r);
/* Makes a function of the module from func.func in generic form. */
void shlo_take_function(struct shlo_reader *r, struct shlo_op *op);
/* Takes the attributes of a module in generic form. */
void shlo_take_module_attrs(struct shlo_reader *r, const struct shlo_attr *attrs);
/* Finds the resources of the text, which come after their uses. */
void shlo_read_resources(struct shlo_reader *r);
/* Skips the resources; an error of reading unless they come next. */
void shlo_skip_resources(struct shlo_reader *r);
/* Reads what follows the word dense_resource, and returns the attribute with the elements. */
const struct shlo_attr *shlo_read_dense_resource(struct shlo_reader *r);
/*
 * Returns the bytes that hexadecimal digits after "0x" stand for, two digits each; other characters
 * end the reading with an error.
 */
const uint8_t *shlo_hex_bytes(struct shlo_reader *r, const char *text, size_t length);
/* Read what follows "#vhlo…" and "!vhlo…" in text, and return the attribute or type. */
const struct shlo_attr *shlo_read_vhlo_attr(struct shlo_reader *r, const char *name);
const struct shlo_type *shlo_read_vhlo_type(struct shlo_reader *r);
/*
 * Reads the angle brackets after the word tensor, quantised elements included, and returns the
 * type.
 */
const struct shlo_type *shlo_read_tensor(struct shlo_reader *r);
const struct shlo_type *shlo_read_list(struct shlo_reader *r, enum shlo_type_kind kind);
/*
 * Count the items within a type or attribute and limit them, because a small file may name one item
 * many times.
 */
void shlo_type_weigh(struct shlo_reader *r, struct shlo_type *type);
void shlo_attr_weigh(struct shlo_reader *r, struct shlo_attr *attr);
/*
 * Fills in elements from bytes: all elements, one for all, or booleans as bits; false: the size
 * fits none of these.
 */
bool shlo_dense_fill(struct shlo_arena *arena, struct shlo_attr *attr, const uint8_t *bytes,
		     size_t size);
/* Reads the block arguments "(%a: type, …)", and adds their names. */
void shlo_read_arguments(struct shlo_reader *r, struct shlo_block *block);

#endif
