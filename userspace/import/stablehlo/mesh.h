/* SPDX-License-Identifier: MIT */
/* Meshes: devices in a grid with named axes, of which groups of processes are made. */
#ifndef SHLO_MESH_H
#define SHLO_MESH_H

#include "module.h"

/* Makes tables of ids of all replica_groups that name axes of a mesh that is known. */
void shlo_resolve_meshes(struct shlo_file *file);

#endif
