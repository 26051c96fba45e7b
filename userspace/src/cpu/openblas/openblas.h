/* SPDX-License-Identifier: MIT */
/*
 * OpenBLAS, loaded on first use: it starts threads and maps memory as soon as it is loaded, and
 * waits for ever when the address space is too small.
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

/* The functions of OpenBLAS, set by cpu_blas_load(). */
extern struct openblas openblas;

#endif
