# SPDX-License-Identifier: MIT
"""Writes machines.h and machines.c: the table of the named machines."""

from .common import banner, c_string, comment, define

HEADER = '''
#ifndef ONPU_MACHINES_H
#define ONPU_MACHINES_H

#include <stdint.h>

#include "onpu/isa.h"

#ifdef __cplusplus
extern "C" {
#endif

'''

DECLARATIONS = '''
extern const struct onpu_machine_info onpu_machines[ONPU_MACHINE_COUNT];

/* The machine that a device is when nothing else is asked for. */
extern const struct onpu_machine_info *const onpu_machine_default;

/* Returns the machine of that name, or NULL. */
const struct onpu_machine_info *onpu_machine_by_name(const char *name);

/* Returns the name of a machine from its CAP_MACHINE: "onpu-custom" for a number without a name. */
const char *onpu_machine_name(uint32_t id);

/*
 * Returns the factors of all instructions, by enum onpu_op, on a machine whose CAP_FEATURES reads so;
 * those of the instructions when its FACTORS name no machine.
 */
const uint8_t *onpu_machine_factors(uint32_t features);

#ifdef __cplusplus
}
#endif

#endif /* ONPU_MACHINES_H */
'''

FUNCTIONS = '''
const struct onpu_machine_info *onpu_machine_by_name(const char *name)
{
	for (int i = 0; i < ONPU_MACHINE_COUNT; i++)
		if (!strcmp(onpu_machines[i].name, name))
			return &onpu_machines[i];
	return NULL;
}

const char *onpu_machine_name(uint32_t id)
{
	for (int i = 0; i < ONPU_MACHINE_COUNT; i++)
		if (onpu_machines[i].id == id)
			return onpu_machines[i].name;
	return "onpu-custom";
}

const uint8_t *onpu_machine_factors(uint32_t features)
{
	uint32_t id = (features & ONPU_CAP_FEATURES_FACTORS__MASK) >> ONPU_CAP_FEATURES_FACTORS__SHIFT;

	for (int i = 0; i < ONPU_MACHINE_COUNT; i++)
		if (onpu_machines[i].id == id)
			return factors[i + 1];
	return factors[0];
}
'''


def machines_header(machines, registers):
    docs = {item.name: item.doc for domain in registers.domains if domain.name == 'ONPU'
            for item in domain.items}
    text = banner('machines.xml', 'The named machines.') + HEADER
    text += define('ONPU_MACHINE_COUNT', len(machines.all))
    text += comment('The names, for messages.')
    names = ', '.join(machine.name for machine in machines.all)
    text += define('ONPU_MACHINE_NAMES', c_string(names))
    text += '\n/* A named machine. */\nstruct onpu_machine_info {\n'
    text += '\tuint32_t id; /* enum onpu_machine_id */\n\tconst char *name;\n\tconst char *doc;\n'
    for name in machines.caps:
        text += comment(docs[f'CAP_{name}'], '\t') + f'\tuint32_t {name.lower()};\n'
    return text + '};\n' + DECLARATIONS


def factors_table(machines, isa):
    """Returns the table of factors: a row of the instructions' own, then one for each machine."""
    text = '\nstatic const uint8_t factors[ONPU_MACHINE_COUNT + 1][ONPU_OP_COUNT] = {\n'
    for changed in [{}] + [machine.factors for machine in machines.all]:
        text += '\t{\n'
        for leaf in isa.leaves:
            text += f'\t\t[{leaf.enumerator}] = {changed.get(leaf.name, leaf.factor)},\n'
        text += '\t},\n'
    return text + '};\n'


def machines_source(machines, isa):
    text = banner('machines.xml', 'The named machines.')
    text += '\n#include "onpu/machines.h"\n\n#include <stddef.h>\n#include <string.h>\n\n#include "onpu/registers.h"\n'
    text += '\nconst struct onpu_machine_info onpu_machines[ONPU_MACHINE_COUNT] = {\n'
    for machine in machines.all:
        text += (f'\t{{\n\t\t.id = {machines.ids[machine.id]},\n\t\t.name = {c_string(machine.name)},\n'
                 f'\t\t.doc = {c_string(machine.doc)},\n')
        for name, value in machine.caps.items():
            text += f'\t\t.{name.lower()} = {value},\n'
        text += '\t},\n'
    text += ('};\n\nconst struct onpu_machine_info *const onpu_machine_default = '
             f'&onpu_machines[{machines.all.index(machines.default)}];\n')
    return text + factors_table(machines, isa) + FUNCTIONS


def write_sources(machines, registers, isa, out):
    out.write('machines.h', machines_header(machines, registers))
    out.write('machines.c', machines_source(machines, isa))
