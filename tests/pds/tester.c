/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A client that tests the protocol on a registry and a peer. It prints a line for each check:
 * "check NAME: ok", or the value that it got instead. Its first request is for the registry's
 * space, its second for the peer's; its first PD capability is the peer's. At the end the
 * registry faults while the tester waits for its answer. */
#include "registry.h"
#include "storage.h"

CR_ASKS_WITHOUT_LIBRARY

static uint32_t registry;
static uint32_t space;
static uint32_t peer;
static uint32_t peer_space;
static uint32_t peer_pd;

/* Sends a message to the registry. Returns the first word of the answer; the other words are in
 * `out`. */
static uint64_t ask(uint32_t label, uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t words[2] = {a, b};
    uint64_t reply[3] = {0};
    uint32_t received;
    uint32_t answer = cr_call(registry, label, words, 2, reply, 3, &received);
    out[0] = reply[1];
    out[1] = reply[2];
    return answer == RG_OK ? reply[0] : 0x10000u + answer;
}

static uint64_t ask_peer_3(uint32_t label, uint64_t a, uint64_t b, uint64_t c, uint64_t *out)
{
    uint64_t words[3] = {a, b, c};
    uint64_t reply[2] = {0};
    uint32_t received;
    uint32_t answer = cr_call(peer, label, words, 3, reply, 2, &received);
    *out = reply[1];
    return answer == RG_OK ? reply[0] : 0x10000u + answer;
}

static uint64_t ask_peer(uint32_t label, uint64_t a, uint64_t b, uint64_t *out)
{
    return ask_peer_3(label, a, b, 0, out);
}

/* Calls a resource. Returns the object that the server answers, or CR_CALL_LOST. */
static uint64_t use(uint32_t slot)
{
    uint64_t reply = 0;
    uint32_t received;
    uint32_t answer = cr_call(slot, RG_WHO, 0, 0, &reply, 1, &received);
    return answer == RG_OK ? reply : answer;
}

/* Sends an operation with any value in message register 0. */
static uint64_t raw(uint64_t label, uint64_t magic, uint64_t argument, uint32_t length)
{
    seL4_SetMR(0, magic);
    seL4_SetMR(1, argument);
    return seL4_MessageInfo_get_label(
        seL4_Call(CR_SLOT_ROOT, seL4_MessageInfo_new(label, 0, 0, length)));
}

static void try_bad_messages(void)
{
    cr_say_check("wrong magic is refused", raw(CR_OP_CREATE_RESOURCE, 0x1234, space, 2),
                 CR_RESULT_BAD_MAGIC);
    cr_say_check("wrong version is refused",
                 raw(CR_OP_CREATE_RESOURCE, CR_PROTOCOL_MAGIC + 1, space, 2), CR_RESULT_BAD_MAGIC);
    cr_say_check("no operation is refused", raw(0, CR_PROTOCOL_MAGIC, 0, 2), CR_RESULT_BAD_OP);
    cr_say_check("an unknown operation is refused", raw(CR_OP_COUNT, CR_PROTOCOL_MAGIC, 0, 2),
                 CR_RESULT_BAD_OP);
    cr_say_check("an empty message is refused", raw(CR_OP_CREATE_RESOURCE, CR_PROTOCOL_MAGIC, 0, 0),
                 CR_RESULT_BAD_MAGIC);
    cr_say_check("a short message is refused", raw(CR_OP_CREATE_RESOURCE, CR_PROTOCOL_MAGIC, 0, 1),
                 CR_RESULT_BAD_LENGTH);
}

static void try_rights(void)
{
    uint32_t number;
    uint64_t arguments[3] = {space, 1, 0};
    cr_say_check("no space without the right to one", cr_create_space("OTHER", "other", &number),
                 CR_RESULT_DENIED);
    cr_say_check("no resource in a space of another's", cr_create_resource(space, &number),
                 CR_RESULT_DENIED);
    cr_say_check("no giving of what another manages", cr_call_root(CR_OP_GIVE, arguments, 3, 0, 0),
                 CR_RESULT_DENIED);
    cr_say_check("no deleting of what another manages",
                 cr_call_root(CR_OP_DELETE_SPACE, arguments, 1, 0, 0), CR_RESULT_DENIED);
    cr_say_check("no space that is not there", cr_create_resource(9999, &number),
                 CR_RESULT_NO_SUCH);
    cr_say_check("no spawning without the right to it",
                 cr_call_root(CR_OP_SPAWN, (uint64_t[]){0x72656c6469u, 0, 0, 0}, 4, 0, 0),
                 CR_RESULT_DENIED);
}

static void try_counts(void)
{
    uint64_t out[2];
    uint64_t left;
    cr_say_check("a resource is unwanted that is not allowed", ask(RG_MAKE, 0, 0, out),
                 CR_RESULT_UNWANTED);
    cr_say_check("two are allowed", cr_allow(space, 2), CR_RESULT_OK);
    cr_say_check("a resource is made", ask(RG_MAKE, 0, 0, out), CR_RESULT_OK);
    uint32_t object = (uint32_t)out[0];
    uint32_t slot = (uint32_t)out[1];
    cr_say_check("it can be used", use(slot), object);
    cr_say_check("it is given again", ask(RG_GIVE, object, 0, out), CR_RESULT_OK);
    cr_say_check("two holds are one capability", out[0], slot);
    cr_say_check("a third time is not allowed", ask(RG_GIVE, object, 0, out), CR_RESULT_UNWANTED);
    cr_say_check("holds are counted over all PDs", ask(RG_HOLDS, object, 0, out) + out[0], 3);
    cr_say_check("one hold is taken back", ask(RG_TAKE_BACK, object, 0, out), CR_RESULT_OK);
    cr_say_check("one hold is left", out[0], 1);
    cr_say_check("with one left it can be used", use(slot), object);
    uint64_t mine[2] = {space, object};
    cr_say_check("the last is released", cr_call_root(CR_OP_RELEASE, mine, 2, &left, 1) + left,
                 CR_RESULT_OK);
    cr_say_check("then it cannot be used", use(slot), CR_CALL_LOST);
    cr_say_check("what is not held is not released", cr_call_root(CR_OP_RELEASE, mine, 2, &left, 1),
                 CR_RESULT_NO_SUCH);
}

static void try_sharing(void)
{
    uint64_t out[2];
    uint64_t word;
    uint64_t slot; /* the peer's, of the request that is shared with it */
    uint32_t sent; /* the peer's, of the resource that is sent to it */
    cr_say_check("more is allowed", cr_allow(space, 2), CR_RESULT_OK);
    cr_say_check("another resource is made", ask(RG_MAKE, 0, 0, out), CR_RESULT_OK);
    uint32_t object = (uint32_t)out[0];
    uint32_t my_slot = (uint32_t)out[1];
    uint64_t mine[2] = {space, object};
    cr_say_check("sending needs the recipient's capability",
                 cr_call_root(CR_OP_SEND, mine, 2, &slot, 1), CR_RESULT_BAD_LENGTH);
    cr_say_check("a request does not serve as one",
                 cr_call_root_with_pd(CR_OP_SEND, registry, mine, 2, &slot, 1),
                 CR_RESULT_BAD_LENGTH);
    cr_say_check("a resource is not sent to a PD that does not allow it",
                 cr_call_root_with_pd(CR_OP_SEND, peer_pd, mine, 2, &slot, 1), CR_RESULT_UNWANTED);
    cr_say_check("the peer allows one edge", ask_peer_3(PE_ALLOW, 0, cr_info()->pd, 1, &word),
                 CR_RESULT_OK);
    cr_say_check("a resource is sent", cr_send(space, object, peer_pd, 0, &sent), CR_RESULT_OK);
    cr_say_check("the recipient can use it", ask_peer(PE_USE, sent, 0, &word), RG_OK);
    cr_say_check("it is the same resource", word, object);
    cr_say_check("a request is not shared with a PD that does not allow it",
                 cr_call_root_with_pd(CR_OP_SHARE_REQUEST, peer_pd, mine, 1, &slot, 1),
                 CR_RESULT_UNWANTED);
    cr_say_check("the peer allows one more", ask_peer_3(PE_ALLOW, 0, cr_info()->pd, 1, &word),
                 CR_RESULT_OK);
    cr_say_check("a request is shared",
                 cr_call_root_with_pd(CR_OP_SHARE_REQUEST, peer_pd, mine, 1, &slot, 1),
                 CR_RESULT_OK);
    uint64_t theirs = 0;
    cr_say_check("the recipient can ask", ask_peer(PE_WHO, slot, 0, &theirs), RG_OK);
    cr_say_check("as a client", cr_badge_kind_of(theirs), CR_BADGE_REQUEST);
    cr_say_check("my request is mine", ask(RG_WHO, 0, 0, out), CR_RESULT_OK);
    cr_say_check("theirs has another badge", out[0] != theirs, 1);
    cr_say_check("deleting takes it from all holders", ask(RG_DELETE, object, 0, out),
                 CR_RESULT_OK);
    cr_say_check("from me", use(my_slot), CR_CALL_LOST);
    cr_say_check("from the other", ask_peer(PE_USE, sent, 0, &word), CR_CALL_LOST);
    cr_say_check("and only that", ask_peer(PE_WHO, slot, 0, &theirs), RG_OK);
    cr_say_check("what is deleted is gone", ask(RG_DELETE, object, 0, out), CR_RESULT_GONE);
    cr_say_check("the other drops its request", ask_peer(PE_DROP, space, 0, &word), CR_RESULT_OK);
    cr_say_check("its badge names nobody any more", ask(RG_GIVE_TO, 1, theirs, out) != CR_RESULT_OK,
                 1);
    cr_say_check("one more resource is made", ask(RG_MAKE, 0, 0, out), CR_RESULT_OK);
    uint32_t kept = (uint32_t)out[0];
    cr_say_check("a stale badge is refused", ask(RG_GIVE_TO, kept, theirs, out),
                 CR_RESULT_BAD_BADGE);
    cr_say_check("another's resource cannot be deleted",
                 ask(RG_DELETE_OTHERS, peer_space, 1, out) == CR_RESULT_OK, 0);
}

static void try_spaces(void)
{
    uint64_t out[2];
    uint64_t word;
    cr_say_check("no space for a first client that does not allow it",
                 ask(RG_FIRST_CLIENT, 0, 0, out), CR_RESULT_UNWANTED);
    cr_say_check("the peer allows the registry two edges", ask_peer_3(PE_ALLOW, space, 0, 2, &word),
                 CR_RESULT_OK);
    cr_say_check("a space is made for a first client", ask(RG_FIRST_CLIENT, 0, 0, out),
                 CR_RESULT_OK);
    uint64_t slot = out[1];
    cr_say_check("who has a request to it at once", ask_peer(PE_WHO, slot, 0, &word), RG_OK);
    cr_say_check("one name, one space", ask(RG_FIRST_CLIENT, 0, 0, out), CR_RESULT_EXISTS);
    cr_say_check("its manager deletes it", ask(RG_DELETE_SPACE, 0, 0, out), CR_RESULT_OK);
    cr_say_check("its client has lost it", ask_peer(PE_WHO, slot, 0, &word), CR_CALL_LOST);
    cr_say_check("its manager is told nothing of that", ask(RG_DESTROYED, 0, 0, out) + out[0], 0);
    cr_say_check("the right to make spaces cannot be shared", ask(RG_SHARE_CORE, 0, 0, out),
                 CR_RESULT_DENIED);
    cr_say_check("no number with a space", ask_peer_3(PE_ALLOW, space, 1, 2, &word),
                 CR_RESULT_FAILED);
    cr_say_check("no consent to the root task", cr_allow(1, 1), CR_RESULT_DENIED);
    cr_say_check("nor by its number", cr_allow_pd(0, 1), CR_RESULT_DENIED);
    cr_say_check("nor to itself", cr_allow_pd(cr_info()->pd, 1), CR_RESULT_DENIED);
    cr_say_check("nor to what is not there", cr_allow_pd(9999, 1), CR_RESULT_NO_SUCH);
    cr_say_check("it can be made anew", ask(RG_FIRST_CLIENT, 0, 0, out), CR_RESULT_OK);
}

void cr_main(void)
{
    uint64_t out[2];
    const cr_startup *info = cr_info();
    if (info->n_requests != 2 || info->n_pds != 1 ||
        cr_connect(info->requests[0], 1, &registry, &space) != CR_RESULT_OK ||
        cr_connect(info->requests[1], 1, &peer, &peer_space) != CR_RESULT_OK) {
        cr_say_text("no registry or no peer");
        cr_exit(1);
    }
    peer_pd = info->pds[0].slot;
    try_bad_messages();
    try_rights();
    try_counts();
    try_sharing();
    try_spaces();
    cr_say_check("a depth is set while running",
                 ask(RG_SET_DEPTH, info->args[0], info->args[1], out), CR_RESULT_OK);
    cr_say_text("all checks made");
    uint64_t answer = ask(RG_FAIL, 0, 0, out);
    cr_say_check("who waits for a dead server is answered", answer, 0x10000u + CR_CALL_LOST);
    while (cr_next_round()) {
        cr_poll_work(st_note);
    }
    cr_wait_for_work(st_note);
}
