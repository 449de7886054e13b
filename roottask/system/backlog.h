/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Notices that a receiver was never handed: one of them can stand for many, or be withdrawn. So
 * a server that fetches nothing cannot use up its clients' accounts, nor hold up extractions. */
#ifndef CELLREAP_SYSTEM_BACKLOG_H
#define CELLREAP_SYSTEM_BACKLOG_H

#include "system.h"

/* Merges what the destroyed PDs of an account left behind: for each receiver and space, one notice
 * remains, which counts for the receiver's account. None remains about a space that is gone. What a
 * receiver was handed is not touched. */
void cr_backlog_merge(uint32_t account);

/* Withdraws a notice that the PD was never handed. Stops the system if there is no such notice. */
void cr_backlog_withdraw(const cr_pd *pd, uint64_t token);

#endif
