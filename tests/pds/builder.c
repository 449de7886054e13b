/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Makes one of everything that a PD can have made, and asks again as long as no memory is left. It
 * prints how often each was refused. At the end it terminates the PD that it spawned. */
#include <cellreap/client.h>

enum { ATTEMPTS = 200, MOST = CR_NAME_WORDS + CR_TYPE_WORDS };

typedef struct request {
    uint64_t words[MOST];
    uint32_t count;
    uint32_t pd_slot; /* 0: no PD capability is sent */
    uint64_t results[2];
} request;

static void put_words(request *r, uint32_t words, const char *text)
{
    for (uint32_t i = 0; text[i] != '\0'; i++) {
        r->words[r->count + i / 8] |= (uint64_t)(uint8_t)text[i] << (8 * (i % 8));
    }
    r->count += words;
}

static void make(const char *what, cr_op op, request *r)
{
    cr_line line = {0};
    uint32_t refused = 0;
    cr_result result = CR_RESULT_MEMORY;
    for (uint32_t i = 0; result == CR_RESULT_MEMORY && i < ATTEMPTS; i++) {
        result = r->pd_slot != 0
                     ? cr_call_root_with_pd(op, r->pd_slot, r->words, r->count, r->results, 2)
                     : cr_call_root(op, r->words, r->count, r->results, 2);
        refused += result == CR_RESULT_MEMORY;
    }
    cr_put_number(cr_put(cr_put(&line, what), ": refused "), refused);
    cr_say(cr_put_number(cr_put(&line, ", then result "), result));
}

static uint32_t make_space(const char *what, const char *name, uint32_t client)
{
    request r = {.pd_slot = client};
    put_words(&r, CR_TYPE_WORDS, "SITE");
    put_words(&r, CR_NAME_WORDS, name);
    make(what, CR_OP_CREATE_SPACE, &r);
    return (uint32_t)r.results[0];
}

void cr_main(void)
{
    cr_ticket_info info;
    request spawn = {0};
    put_words(&spawn, CR_NAME_WORDS, "idler");
    make("spawn", CR_OP_SPAWN, &spawn);
    const uint32_t child = (uint32_t)spawn.results[0];
    const uint32_t site = make_space("space", "site", 0);
    const uint32_t annex = make_space("space with client", "annex", child);
    request resource = {.words = {annex}, .count = 1};
    make("resource", CR_OP_CREATE_RESOURCE, &resource);
    request share = {.words = {site}, .count = 1, .pd_slot = child};
    make("request", CR_OP_SHARE_REQUEST, &share);
    request send = {.words = {annex, resource.results[0]}, .count = 2, .pd_slot = child};
    make("hold", CR_OP_SEND, &send);
    make("second hold", CR_OP_SEND, &send);
    request map = {.words = {site, 0, annex, 0}, .count = 4};
    make("map", CR_OP_MAP, &map);
    request subscribe = {.words = {0}, .count = 1, .pd_slot = child};
    make("subscription", CR_OP_SUBSCRIBE, &subscribe);
    cr_say_check("terminate", cr_terminate(child, &info), CR_RESULT_OK);
    cr_exit(0);
}
