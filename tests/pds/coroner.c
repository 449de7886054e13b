/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Subscribes to the PD of its first PD capability, and reads its memory before it is destroyed.
 * Argument 0: whether the configuration lets it. Argument 1: the word that the PD has left in its
 * IPC buffer. */
#include "storage.h"

enum { AT = CR_VADDR_IPC_BUFFER + 8 + 8 * 90, UNMAPPED = 0xdead000, PAGE = 4096 };

static uint32_t victim;

static void try(const char *what, uint64_t address, cr_result wanted, uint64_t word)
{
    uint64_t words[CR_DUMP_WORDS + 2];
    const int may = cr_info()->args[0] != 0;
    cr_say_check(what, cr_dump(victim, address, words, CR_DUMP_WORDS + 2),
                 may || wanted == CR_RESULT_GONE ? wanted : CR_RESULT_DENIED);
    cr_say_check(what, words[0], may ? word : 0);
    cr_say_check(what, words[CR_DUMP_WORDS], 0);
}

static int note(const cr_work_entry *w)
{
    if (w->kind == CR_NOTICE_PRE_DESTROY) {
        try("buffer", AT, CR_RESULT_OK, cr_info()->args[1]);
        try("startup", CR_VADDR_STARTUP, CR_RESULT_OK, CR_PROTOCOL_MAGIC);
        try("odd", AT + 1, CR_RESULT_FAILED, 0);
        try("unmapped", UNMAPPED, CR_RESULT_FAILED, 0);
        try("beyond", (uint64_t)-8, CR_RESULT_FAILED, 0);
        try("end", CR_VADDR_IPC_BUFFER + PAGE - 8, CR_RESULT_OK, 0);
    }
    if (w->kind == CR_NOTICE_LOST) {
        try("destroyed", AT, CR_RESULT_GONE, 0);
    }
    return 0;
}

void cr_main(void)
{
    victim = cr_info()->pds[0].number;
    try("alive", AT, CR_RESULT_DENIED, 0);
    cr_say_check("subscribed", cr_subscribe(0, cr_info()->pds[0].slot), CR_RESULT_OK);
    do {
        cr_poll_work(note);
    } while (cr_next_round());
    cr_wait_for_work(note);
}
