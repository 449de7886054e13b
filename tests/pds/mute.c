/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server that lives and never answers a message. */
#include "storage.h"
#include <cellreap/image.h>

static uint32_t serve(cr_incoming *m)
{
    cr_crash(CR_CRASH_BLOCK);
    return m->label;
}

void cr_main(void)
{
    static const cr_server server = {serve, st_note, 0, 0};
    (void)cr_own_space();
    cr_serve(&server);
}
