/* A client. In each round it sends 1 to the server and prints the total. When the server is gone,
 * it connects again. */
#include "adder.h"

static uint32_t request; /* the slot of the request to the server; 0: not connected */
static uint32_t space;

static int work(const cr_work_entry *notice)
{
    if (notice->kind == CR_NOTICE_LOST && notice->space == space) {
        request = 0;
        cr_say_text("the server is gone");
    }
    return 0;
}

static void ask(void)
{
    if (request == 0 && cr_connect("totals", 1, &request, &space) != CR_RESULT_OK) {
        request = 0;
        cr_say_text("there is no server");
        return;
    }
    uint64_t number = 1;
    uint64_t total = 0;
    uint32_t received;
    cr_line line = {.used = 0};
    if (cr_call(request, ADD, &number, 1, &total, 1, &received) == ADDED) {
        cr_say(cr_put_number(cr_put(&line, "the total is "), total));
    } else {
        cr_say_text("no answer");
    }
}

void cr_main(void)
{
    do {
        ask();
        cr_poll_work(work);
    } while (cr_next_round());
    cr_wait_for_work(work);
}
