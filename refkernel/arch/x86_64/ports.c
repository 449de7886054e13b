/* SPDX-License-Identifier: BSD-2-Clause
 *
 * I/O ports for users. The ranges of two capabilities do not overlap, unless one capability is a
 * copy of the other. The object of a capability is its range: the first port in the lower 16
 * bits, the last port in the bits above. */
#include "machine.h"

enum { PORT_BITS = 16 };

static word taken[(1u << PORT_BITS) / 64]; /* one bit for each port: set if it is taken */

static bool is_taken(word port)
{
    return (taken[port / 64] & BIT(port % 64)) != 0;
}

static seL4_Error issue(struct invocation *call)
{
    struct slot *to;
    if (call->label != X86IOPortControlIssue) {
        return seL4_IllegalOperation;
    }
    if (call->length < 4 || call->extras < 1) {
        return seL4_TruncatedMessage;
    }
    word first = message_get(call->from, 0) & MASK(PORT_BITS);
    word last = message_get(call->from, 1) & MASK(PORT_BITS);
    if (last < first) {
        return bad_argument(call, 1);
    }
    for (word port = first; port <= last; port++) {
        if (is_taken(port)) {
            return seL4_RevokeFirst;
        }
    }
    seL4_Error error = invocation_target(call, call->extra[0], message_get(call->from, 2),
                                         message_get(call->from, 3), &to);
    if (error != seL4_NoError) {
        return error;
    }
    for (word port = first; port <= last; port++) {
        taken[port / 64] |= BIT(port % 64);
    }
    slot_create(to, call->slot,
                (struct slot){
                    .type = CAP_PORTS, .object = first | last << PORT_BITS, .rights = RIGHTS_ALL});
    return seL4_NoError;
}

static seL4_Error transfer(struct invocation *call)
{
    bool wide = call->label == X86IOPortIn16 || call->label == X86IOPortOut16;
    bool in = call->label == X86IOPortIn8 || call->label == X86IOPortIn16;
    if (!in && !wide && call->label != X86IOPortOut8) {
        return seL4_IllegalOperation;
    }
    if (call->length < (in ? 1u : 2u)) {
        return seL4_TruncatedMessage;
    }
    word port = message_get(call->from, 0) & MASK(PORT_BITS);
    if (port < (call->slot->object & MASK(PORT_BITS)) ||
        port + (wide ? 1 : 0) > call->slot->object >> PORT_BITS) {
        return seL4_IllegalOperation;
    }
    if (in) {
        call->out_length = 1;
        call->out[0] = wide ? in16((uint16_t)port) : in8((uint16_t)port);
    } else if (wide) {
        out16((uint16_t)port, (uint16_t)message_get(call->from, 1));
    } else {
        out8((uint16_t)port, (uint8_t)message_get(call->from, 1));
    }
    return seL4_NoError;
}

seL4_Error arch_ports_invoke(struct invocation *call)
{
    return call->slot->type == CAP_PORT_CONTROL ? issue(call) : transfer(call);
}

void arch_ports_released(const struct slot *cap)
{
    for (word port = cap->object & MASK(PORT_BITS); port <= cap->object >> PORT_BITS; port++) {
        taken[port / 64] &= ~BIT(port % 64);
    }
}
