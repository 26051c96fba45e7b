/* SPDX-License-Identifier: MIT */
/* Included by the decoder, nothing of it is used. */
