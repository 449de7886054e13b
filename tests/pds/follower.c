/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A subscriber with a handler to the PD of its first PD capability. It subscribes at once, and anew
 * whenever it was told that the PD went. Argument 0: the handler is dropped at once and subscribed
 * again. */
#include <cellreap/client.h>

static uint32_t due = 1;

static int told(const cr_work_entry *about, cr_moment moment, uint64_t data)
{
    cr_line line = {0};
    cr_put_number(cr_put(&line, "handler "), data);
    cr_put(&line, moment == CR_BEFORE ? " before" : " after");
    cr_say(cr_put_hex(cr_put(&line, " PD_"), about->pd));
    due |= moment == CR_AFTER;
    return 0;
}

static int work(const cr_work_entry *w)
{
    return cr_tell_handlers(w);
}

/* As long as the PD is not there, its slot is empty. */
static void subscribe(void)
{
    const cr_startup *info = cr_info();
    const cr_subject subject = {0, info->pds[0].slot, info->pds[0].number};
    if (cr_subscribe_handler(subject, told, 7) != CR_RESULT_OK) {
        return;
    }
    due = 0;
    if (info->args[0] != 0) {
        cr_say_check("dropped", cr_unsubscribe_handler(subject, told, 7), CR_RESULT_OK);
        cr_say_check("surplus", cr_unsubscribe_handler(subject, told, 7), CR_RESULT_NO_SUCH);
        cr_say_check("again", cr_subscribe_handler(subject, told, 7), CR_RESULT_OK);
    }
}

void cr_main(void)
{
    subscribe();
    cr_say_check("subscribed", due, 0);
    while (cr_next_round()) {
        cr_poll_work(work);
        if (due) {
            subscribe();
        }
    }
    cr_wait_for_work(work);
}
