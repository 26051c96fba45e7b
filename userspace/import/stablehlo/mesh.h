/* SPDX-License-Identifier: MIT */
/* Meshes: grids of devices with named axes, along which processes form groups. */
#ifndef SHLO_MESH_H
#define SHLO_MESH_H

#include "module.h"

/* Replaces replica_groups that name axes of a known mesh by tables of ids, in the whole file. */
void shlo_resolve_meshes(struct shlo_file *file);

#endif
