/* SPDX-License-Identifier: MIT */
/*
 * OpenBLAS, which is loaded when it is needed first: it starts threads and takes memory as soon as it
 * is there, and where address space is limited it waits for ever.
 */
#ifndef WNN_CPU_OPENBLAS_H
#define WNN_CPU_OPENBLAS_H

#include <cblas.h>

struct openblas {
	__typeof__(cblas_sgemm) *sgemm;
	__typeof__(cblas_sgemv) *sgemv;
	__typeof__(openblas_get_num_threads) *get_num_threads;
	__typeof__(openblas_set_num_threads) *set_num_threads;
	__typeof__(openblas_get_config) *get_config;
	__typeof__(openblas_get_corename) *get_corename;
};

/* What cpu_blas_load() has loaded. */
extern struct openblas openblas;

#endif
