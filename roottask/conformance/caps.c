/* SPDX-License-Identifier: BSD-2-Clause
 *
 * CNodes and the derivation tree: addresses, copies, badges, delete and revoke. */
#include "conformance.h"

enum { SMALL = 4 }; /* bits of the CNodes that these checks create */

static seL4_CPtr small_cnode(void)
{
    return cf_make(seL4_CapTableObject, SMALL, 1);
}

static seL4_Error copy_into(seL4_CPtr cnode, seL4_Word index, uint8_t depth, seL4_CPtr from)
{
    return cr_copy((cr_slot){cnode, index, depth}, cr_slot_at(from), seL4_AllRights);
}

/* -- addresses */

static void cnode_index_and_depth(void)
{
    seL4_CPtr cnode = small_cnode();
    seL4_CPtr endpoint = cf_endpoint();
    cf_is(copy_into(cnode, 3, SMALL, endpoint), seL4_NoError);
    cf_is((uint64_t)cf_empty_in(cr_slot_in(cnode, 3, SMALL)), 0);
    cf_is((uint64_t)cf_empty_in(cr_slot_in(cnode, 4, SMALL)), 1);
    /* Bits of the index above the depth are ignored. */
    cf_is(copy_into(cnode, 0x70 | 5, SMALL, endpoint), seL4_NoError);
    cf_is((uint64_t)cf_empty_in(cr_slot_in(cnode, 5, SMALL)), 0);
}

static void cnode_depth_too_small(void)
{
    cf_is(copy_into(small_cnode(), 3, SMALL - 1, cf_endpoint()), seL4_FailedLookup);
}

static void cnode_depth_too_large(void)
{
    cf_is(copy_into(small_cnode(), 3, SMALL + 1, cf_endpoint()), seL4_FailedLookup);
}

static void cnode_depth_out_of_range(void)
{
    seL4_CPtr cnode = small_cnode();
    seL4_CPtr endpoint = cf_endpoint();
    cf_is(copy_into(cnode, 3, 0, endpoint), seL4_RangeError);
    cf_is(copy_into(cnode, 3, seL4_WordBits + 1, endpoint), seL4_RangeError);
}

/* Returns a CNode capability with a guard of 4 bits. */
static seL4_CPtr guarded_cnode(seL4_Word guard)
{
    return cf_mint(small_cnode(), seL4_AllRights, seL4_CNode_CapData_new(guard, 4).words[0]);
}

static void cnode_guard(void)
{
    seL4_CPtr cnode = guarded_cnode(0xa);
    seL4_CPtr endpoint = cf_endpoint();
    cf_is(copy_into(cnode, 0xa3, 8, endpoint), seL4_NoError);
    cf_is(copy_into(cnode, 0xb4, 8, endpoint), seL4_FailedLookup);
    cf_is(copy_into(cnode, 0x4, SMALL, endpoint), seL4_FailedLookup);
}

static void cnode_two_levels(void)
{
    seL4_CPtr upper = small_cnode();
    seL4_CPtr lower = guarded_cnode(0);
    seL4_CPtr endpoint = cf_endpoint();
    cf_is(copy_into(upper, 2, SMALL, lower), seL4_NoError);
    cf_is(copy_into(upper, 0x203, 12, endpoint), seL4_NoError);
    cf_is((uint64_t)cf_empty_in((cr_slot){lower, 0x03, 8}), 0);
    /* An address cannot lead through an empty slot. */
    cf_is(copy_into(upper, 0x303, 12, endpoint), seL4_FailedLookup);
}

static void mutate_gives_a_guard(void)
{
    seL4_CPtr from = small_cnode();
    seL4_CPtr to = cf_slots(1);
    seL4_CPtr endpoint = cf_endpoint();
    cf_is(cr_mutate(cr_slot_at(to), cr_slot_at(from), cr_cnode_data(6)), seL4_NoError);
    cf_is((uint64_t)cf_empty(from), 1);
    cf_is(copy_into(to, 7, 10, endpoint), seL4_NoError);
    cf_is(copy_into(to, 8, SMALL, endpoint), seL4_FailedLookup);
}

static void mutate_gives_no_badge(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    cf_is(cr_mutate(cr_slot_at(cf_slots(1)), cr_slot_at(endpoint), 5), seL4_IllegalOperation);
    cf_is((uint64_t)cf_empty(endpoint), 0);
}

static void mutated_cnode_goes_with_its_untyped(void)
{
    seL4_CPtr untyped = cf_make(seL4_UntypedObject, 14, 1);
    seL4_CPtr from = cf_slots(1);
    seL4_CPtr to = cf_slots(1);
    cf_is(cf_retype(untyped, seL4_CapTableObject, SMALL, from, 1), seL4_NoError);
    cf_is(cr_mutate(cr_slot_at(to), cr_slot_at(from), cr_cnode_data(6)), seL4_NoError);
    cf_is(cr_revoke(cr_slot_at(untyped)), seL4_NoError);
    cf_is((uint64_t)cf_empty(to), 1);
}

static void copy_to_occupied_slot(void)
{
    seL4_CPtr a = cf_endpoint();
    seL4_CPtr b = cf_endpoint();
    cf_is(cr_copy(cr_slot_at(a), cr_slot_at(b), seL4_AllRights), seL4_DeleteFirst);
    cf_is(cr_mint(cr_slot_at(a), cr_slot_at(b), seL4_AllRights, 1), seL4_DeleteFirst);
    cf_is(cr_mutate(cr_slot_at(a), cr_slot_at(b), 0), seL4_DeleteFirst);
}

static void copy_from_empty_slot(void)
{
    cf_is(cr_copy(cr_slot_at(cf_slots(1)), cr_slot_at(cf_slots(1)), seL4_AllRights),
          seL4_FailedLookup);
}

static void delete_and_revoke_of_empty_slot(void)
{
    cr_slot at = cr_slot_at(cf_slots(1));
    cf_is(cr_delete(at), seL4_NoError);
    cf_is(cr_revoke(at), seL4_NoError);
}

/* -- derivation */

static void mint_from_badged_refused(void)
{
    seL4_CPtr badged = cf_mint(cf_endpoint(), seL4_AllRights, 5);
    seL4_CPtr to = cf_slots(1);
    cf_is(cr_mint(cr_slot_at(to), cr_slot_at(badged), seL4_AllRights, 6), seL4_IllegalOperation);
    cf_is((uint64_t)cf_empty(to), 1);
}

static void mint_notification_from_badged_refused(void)
{
    seL4_CPtr badged = cf_mint(cf_notification(), seL4_AllRights, 5);
    cf_is(cr_mint(cr_slot_at(cf_slots(1)), cr_slot_at(badged), seL4_AllRights, 6),
          seL4_IllegalOperation);
}

static void untyped_with_children_not_copied(void)
{
    seL4_CPtr untyped = cf_make(seL4_UntypedObject, 12, 1);
    seL4_CPtr child = cf_slots(1);
    cf_is(cf_retype(untyped, seL4_EndpointObject, 0, child, 1), seL4_NoError);
    cf_is(cr_copy(cr_slot_at(cf_slots(1)), cr_slot_at(untyped), seL4_AllRights), seL4_RevokeFirst);
}

static void revoke_badged_takes_copies(void)
{
    seL4_CPtr parent = cf_mint(cf_endpoint(), seL4_AllRights, 5);
    seL4_CPtr a = cf_copy(parent, seL4_AllRights);
    seL4_CPtr b = cf_copy(parent, seL4_CanWrite);
    seL4_CPtr of_a = cf_copy(a, seL4_AllRights);
    cf_is(cr_revoke(cr_slot_at(parent)), seL4_NoError);
    cf_is((uint64_t)cf_empty(a), 1);
    cf_is((uint64_t)cf_empty(b), 1);
    cf_is((uint64_t)cf_empty(of_a), 1);
    cf_is((uint64_t)cf_empty(parent), 0);
}

static void revoke_badged_takes_copies_in_other_cnodes(void)
{
    seL4_CPtr one = small_cnode();
    seL4_CPtr two = small_cnode();
    seL4_CPtr parent = cf_mint(cf_endpoint(), seL4_AllRights, 5);
    cf_is(copy_into(one, 3, SMALL, parent), seL4_NoError);
    cf_is(copy_into(two, 9, SMALL, parent), seL4_NoError);
    cf_is(cr_revoke(cr_slot_at(parent)), seL4_NoError);
    cf_is((uint64_t)cf_empty_in(cr_slot_in(one, 3, SMALL)), 1);
    cf_is((uint64_t)cf_empty_in(cr_slot_in(two, 9, SMALL)), 1);
}

static void revoke_badged_spares_other_badges(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr five = cf_mint(endpoint, seL4_AllRights, 5);
    seL4_CPtr six = cf_mint(endpoint, seL4_AllRights, 6);
    seL4_CPtr copy_of_six = cf_copy(six, seL4_AllRights);
    seL4_CPtr seven = cf_mint(endpoint, seL4_AllRights, 7);
    cf_is(cr_revoke(cr_slot_at(six)), seL4_NoError);
    cf_is((uint64_t)cf_empty(copy_of_six), 1);
    cf_is((uint64_t)cf_empty(five), 0);
    cf_is((uint64_t)cf_empty(seven), 0);
    cf_is((uint64_t)cf_empty(endpoint), 0);
}

static void revoke_spares_second_mint_of_same_badge(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr one = cf_mint(endpoint, seL4_AllRights, 5);
    seL4_CPtr two = cf_mint(endpoint, seL4_AllRights, 5);
    cf_is(cr_revoke(cr_slot_at(one)), seL4_NoError);
    cf_is((uint64_t)cf_empty(two), 0);
    cf_is(cr_revoke(cr_slot_at(two)), seL4_NoError);
    cf_is((uint64_t)cf_empty(one), 0);
}

static void copy_of_badged_is_no_parent(void)
{
    seL4_CPtr parent = cf_mint(cf_endpoint(), seL4_AllRights, 5);
    seL4_CPtr copy = cf_copy(parent, seL4_AllRights);
    seL4_CPtr of_copy = cf_copy(copy, seL4_AllRights);
    cf_is(cr_revoke(cr_slot_at(copy)), seL4_NoError);
    cf_is((uint64_t)cf_empty(of_copy), 0);
    cf_is((uint64_t)cf_empty(parent), 0);
}

static void copy_of_unbadged_is_no_parent(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr copy = cf_copy(endpoint, seL4_AllRights);
    seL4_CPtr minted = cf_mint(copy, seL4_AllRights, 5);
    cf_is(cr_revoke(cr_slot_at(copy)), seL4_NoError);
    cf_is((uint64_t)cf_empty(minted), 0);
    cf_is((uint64_t)cf_empty(endpoint), 0);
    /* Capabilities minted from the minted one are descendants of the first capability. */
    cf_is(cr_revoke(cr_slot_at(endpoint)), seL4_NoError);
    cf_is((uint64_t)cf_empty(minted), 1);
    cf_is((uint64_t)cf_empty(copy), 1);
}

static void revoke_unbadged_takes_all(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr copy = cf_copy(endpoint, seL4_CanRead);
    seL4_CPtr badged = cf_mint(endpoint, seL4_AllRights, 5);
    seL4_CPtr copy_of_badged = cf_copy(badged, seL4_CanWrite);
    cf_is(cr_revoke(cr_slot_at(endpoint)), seL4_NoError);
    cf_is((uint64_t)cf_empty(copy), 1);
    cf_is((uint64_t)cf_empty(badged), 1);
    cf_is((uint64_t)cf_empty(copy_of_badged), 1);
    cf_is((uint64_t)cf_empty(endpoint), 0);
}

static void delete_of_parent_leaves_copies(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr parent = cf_mint(endpoint, seL4_AllRights, 5);
    seL4_CPtr copy = cf_copy(parent, seL4_AllRights);
    cf_is(cr_delete(cr_slot_at(parent)), seL4_NoError);
    cf_is((uint64_t)cf_empty(parent), 1);
    cf_is((uint64_t)cf_empty(copy), 0);
    /* They are still descendants of the grandparent. */
    cf_is(cr_revoke(cr_slot_at(endpoint)), seL4_NoError);
    cf_is((uint64_t)cf_empty(copy), 1);
}

static void orphans_are_nobodys_children(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr parent = cf_mint(endpoint, seL4_AllRights, 5);
    seL4_CPtr orphan = cf_copy(parent, seL4_AllRights);
    cf_is(cr_delete(cr_slot_at(parent)), seL4_NoError);
    seL4_CPtr other = cf_mint(endpoint, seL4_AllRights, 6);
    cf_is(cr_revoke(cr_slot_at(other)), seL4_NoError);
    cf_is((uint64_t)cf_empty(orphan), 0);
}

static void object_lives_while_a_capability_does(void)
{
    seL4_CPtr notification = cf_notification();
    seL4_CPtr badged = cf_mint(notification, seL4_AllRights, 5);
    seL4_Word badge = 0;
    cf_is(cr_delete(cr_slot_at(notification)), seL4_NoError);
    seL4_Signal(badged);
    (void)seL4_Poll(badged, &badge);
    cf_is(badge, 5);
}

static void slot_can_be_used_again_after_revoke(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr cnode = small_cnode();
    seL4_CPtr parent = cf_mint(endpoint, seL4_AllRights, 5);
    cf_is(copy_into(cnode, 3, SMALL, parent), seL4_NoError);
    cf_is(cr_revoke(cr_slot_at(parent)), seL4_NoError);
    cf_is(cr_delete(cr_slot_at(parent)), seL4_NoError);
    cf_is(cr_mint(cr_slot_at(parent), cr_slot_at(endpoint), seL4_AllRights, 6), seL4_NoError);
    cf_is(copy_into(cnode, 3, SMALL, parent), seL4_NoError);
    cf_is((uint64_t)cf_empty_in(cr_slot_in(cnode, 3, SMALL)), 0);
}

static void cnode_takes_its_capabilities_along(void)
{
    seL4_CPtr cnode = small_cnode();
    seL4_CPtr notification = cf_notification();
    seL4_Word badge = 0;
    cf_is(copy_into(cnode, 3, SMALL, notification), seL4_NoError);
    cf_is(cr_delete(cr_slot_at(cnode)), seL4_NoError);
    /* The object has another capability, so it is not destroyed. */
    seL4_Signal(notification);
    cf_is((uint64_t)cf_empty(notification), 0);
    (void)seL4_Poll(notification, &badge);
    cf_is(badge, 0);
}

/* -- cancelling sends */

static void cancel_needs_all_rights(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    cf_is(cr_cancel_sends(cr_slot_at(cf_mint(endpoint, seL4_CapRights_new(1, 0, 0, 1), 5))),
          seL4_IllegalOperation);
    cf_is(cr_cancel_sends(cr_slot_at(cf_mint(endpoint, seL4_NoRead, 6))), seL4_IllegalOperation);
    cf_is(cr_cancel_sends(cr_slot_at(cf_mint(endpoint, seL4_AllRights, 7))), seL4_NoError);
}

static void cancel_takes_messages_of_one_badge(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr five = cf_mint(endpoint, seL4_AllRights, 5);
    seL4_CPtr six = cf_mint(endpoint, seL4_AllRights, 6);
    volatile cf_worker *a = cf_start(cf_do_call, cf_copy(five, seL4_CapRights_new(1, 0, 0, 1)), 0);
    volatile cf_worker *b = cf_start(cf_do_call, cf_copy(six, seL4_CapRights_new(1, 0, 0, 1)), 0);
    volatile cf_worker *c = cf_start(cf_do_call, cf_copy(five, seL4_CapRights_new(1, 0, 0, 1)), 0);
    cf_settle();
    /* If this send were cancelled too, it could not be made again. */
    cf_is(cr_delete(cr_slot_at(b->cap)), seL4_NoError);
    cf_is(cr_cancel_sends(cr_slot_at(five)), seL4_NoError);
    cf_is(cr_revoke(cr_slot_at(five)), seL4_NoError);
    cf_message m = cf_receive(endpoint);
    cf_is(m.badge, 6);
    cf_is(a->progress, 1);
    cf_is(a->label, seL4_InvalidCapability);
    cf_is(c->progress, 1);
    cf_is(c->label, seL4_InvalidCapability);
    cf_is(b->progress, 0);
    cf_is(cf_receive(endpoint).badge, 0);
}

static void cancelled_send_is_begun_again(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr five = cf_mint(endpoint, seL4_AllRights, 5);
    volatile cf_worker *a = cf_start(cf_do_call, cf_copy(five, seL4_CapRights_new(1, 0, 0, 1)), 0);
    cf_settle();
    cf_is(cr_cancel_sends(cr_slot_at(five)), seL4_NoError);
    /* The sender still has its capability, so the message is queued again. */
    cf_is(cf_receive(endpoint).badge, 5);
    cf_is(cf_receive(endpoint).badge, 0);
    cf_is(a->progress, 0);
}

static void queued_message_outlives_its_capability(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr five = cf_mint(endpoint, seL4_AllRights, 5);
    volatile cf_worker *a = cf_start(cf_do_call, cf_copy(five, seL4_CapRights_new(1, 0, 0, 1)), 0);
    cf_settle();
    cf_is(cr_revoke(cr_slot_at(five)), seL4_NoError);
    cf_is(cr_delete(cr_slot_at(five)), seL4_NoError);
    cf_is((uint64_t)cf_empty(a->cap), 1);
    cf_is(cf_receive(endpoint).badge, 5);
    cf_reply(77, 0);
    cf_is(a->label, 77);
}

const cf_check cf_caps_checks[] = {
    {"cnode-index-and-depth", cnode_index_and_depth},
    {"cnode-depth-too-small", cnode_depth_too_small},
    {"cnode-depth-too-large", cnode_depth_too_large},
    {"cnode-depth-out-of-range", cnode_depth_out_of_range},
    {"cnode-guard", cnode_guard},
    {"cnode-two-levels", cnode_two_levels},
    {"mutate-gives-a-guard", mutate_gives_a_guard},
    {"mutate-gives-no-badge", mutate_gives_no_badge},
    {"mutated-cnode-goes-with-its-untyped", mutated_cnode_goes_with_its_untyped},
    {"copy-to-occupied-slot", copy_to_occupied_slot},
    {"copy-from-empty-slot", copy_from_empty_slot},
    {"delete-and-revoke-of-empty-slot", delete_and_revoke_of_empty_slot},
    {"mint-from-badged-refused", mint_from_badged_refused},
    {"mint-notification-from-badged-refused", mint_notification_from_badged_refused},
    {"untyped-with-children-not-copied", untyped_with_children_not_copied},
    {"revoke-badged-takes-copies", revoke_badged_takes_copies},
    {"revoke-badged-takes-copies-in-other-cnodes", revoke_badged_takes_copies_in_other_cnodes},
    {"revoke-badged-spares-other-badges", revoke_badged_spares_other_badges},
    {"revoke-spares-second-mint-of-same-badge", revoke_spares_second_mint_of_same_badge},
    {"copy-of-badged-is-no-parent", copy_of_badged_is_no_parent},
    {"copy-of-unbadged-is-no-parent", copy_of_unbadged_is_no_parent},
    {"revoke-unbadged-takes-all", revoke_unbadged_takes_all},
    {"delete-of-parent-leaves-copies", delete_of_parent_leaves_copies},
    {"orphans-are-nobodys-children", orphans_are_nobodys_children},
    {"object-lives-while-a-capability-does", object_lives_while_a_capability_does},
    {"slot-can-be-used-again-after-revoke", slot_can_be_used_again_after_revoke},
    {"cnode-takes-its-capabilities-along", cnode_takes_its_capabilities_along},
    {"cancel-sends-needs-all-rights", cancel_needs_all_rights},
    {"cancel-sends-takes-messages-of-one-badge", cancel_takes_messages_of_one_badge},
    {"cancelled-send-is-begun-again", cancelled_send_is_begun_again},
    {"queued-message-outlives-its-capability", queued_message_outlives_its_capability},
    {0, 0},
};
