/* A server. It adds up the numbers that its clients send, and answers with the total. */
#include "adder.h"

static uint64_t total;

/* Called for each message. Returns the label of the answer. */
static uint32_t serve(cr_incoming *message)
{
    if (message->label != ADD || message->count != 1) {
        return REFUSED;
    }
    cr_checkpoint(); /* [[crash]] in system.toml makes the server crash here */
    total += message->words[0];
    message->reply[message->reply_count++] = total;
    return ADDED;
}

/* Called for each notice of the root task, for example that a client is gone. 0: done. */
static int work(const cr_work_entry *notice)
{
    (void)notice;
    return 0;
}

void cr_main(void)
{
    static const cr_server server = {.serve = serve, .work = work};
    (void)cr_own_space();
    cr_serve(&server);
}
