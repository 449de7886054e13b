/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CELLREAP_CORE_JOURNAL_H
#define CELLREAP_CORE_JOURNAL_H

#include <cellreap/steps.h>

/* Writes the checksum. Everything that changes a journal must do this last. */
void cr_journal_seal(cr_journal *journal);

#endif
