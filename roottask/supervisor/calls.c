/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which PD waits for which. See calls.h. */
#include "calls.h"
#include "arena.h"
#include "faults.h"
#include "kernel/arch/arch.h"
#include "system/text.h"

/* A thread that runs can have any registers, but it cannot stay at a system call that does not
 * return. */
int cr_is_at_syscall(const cr_pd *pd, seL4_Word ip)
{
    const uint8_t *code = cr_code_of(pd, ip);
    return code != 0 && cr_arch_is_syscall(code);
}

/* FNV-1a, over words. */
uint64_t cr_sum_of(const seL4_UserContext *registers)
{
    uint64_t sum = 0xcbf29ce484222325u;
    for (uint32_t i = 0; i < CR_REGISTER_COUNT; i++) {
        sum = (sum ^ cr_arch_registers(registers)[i]) * 0x100000001b3u;
    }
    return sum;
}

uint64_t cr_sum_of_pd(const cr_pd *pd)
{
    seL4_UserContext registers;
    return cr_read_registers(cr_body_cap(&pd->body, CR_BODY_TCB), &registers)
               ? 0
               : cr_sum_of(&registers);
}

/* The slot of the system call that the PD is at, if it is one of these. 0: it is at none. */
static uint32_t slot_of(const cr_pd *pd, int (*is)(const seL4_UserContext *, seL4_CPtr *))
{
    seL4_UserContext registers;
    seL4_CPtr invoked;
    return pd->wait == CR_WAIT_NOTHING && !cr_pd_is_suspended(pd) &&
                   !cr_read_registers(cr_body_cap(&pd->body, CR_BODY_TCB), &registers) &&
                   is(&registers, &invoked) && invoked < 1u << pd->body.cspace_bits &&
                   cr_is_at_syscall(pd, cr_arch_ip(&registers))
               ? (uint32_t)invoked
               : 0;
}

uint32_t cr_receives_from(const cr_pd *pd)
{
    return slot_of(pd, cr_arch_is_receive);
}

static int is_call_or_send(const seL4_UserContext *registers, seL4_CPtr *invoked)
{
    return cr_arch_is_call(registers, invoked) || cr_arch_is_send(registers, invoked);
}

cr_pd *cr_called_by(const cr_pd *pd, uint32_t *slot)
{
    *slot = slot_of(pd, is_call_or_send);
    cr_pd *server = *slot != 0 ? cr_called_over(pd, *slot) : 0;
    return server != pd && server != 0 && server != &cr_sys.pds[0] && cr_pd_is_up(server) ? server
                                                                                          : 0;
}

static int has_interrupt(const cr_pd *pd)
{
    const cr_image_line *lines = cr_image_lines(cr_sys.image);
    int any = 0;
    for (uint32_t i = 0; i < cr_sys.image->lines.count; i++) {
        any |= lines[i].kind == CR_LINE_IRQ && lines[i].pd == pd->config;
    }
    return any;
}

int cr_device_is_awaited(void)
{
    for (uint32_t i = 1; cr_sys.image->lines.count > 0 && i < cr_most.pds; i++) {
        uint32_t slot;
        const cr_pd *called =
            cr_sys.pds[i].life == CR_LIFE_RUNS ? cr_called_by(&cr_sys.pds[i], &slot) : 0;
        if (called != 0 && has_interrupt(called) &&
            cr_receives_from(called) != cr_input_of(called)) {
            return 1;
        }
    }
    return 0;
}

cr_pd *cr_waited_for_by(const cr_pd *pd)
{
    uint32_t slot;
    return pd->life == CR_LIFE_FAULTED ? cr_fault_handler(pd) : cr_called_by(pd, &slot);
}

const cr_pd *cr_last_in_circle(const cr_pd *pd, cr_waits_on on)
{
    const cr_pd *last = pd;
    const cr_pd *at = on(pd);
    for (uint32_t i = 0; at != 0 && at != pd && i < cr_most.pds; i++) {
        last = at;
        at = on(at);
    }
    return at == pd ? last : 0;
}

/* More steps than PDs lead into a circle. */
cr_pd *cr_end_of_waits(const cr_pd *pd, cr_waits_on on)
{
    cr_pd *at = on(pd);
    cr_pd *next = on(at);
    for (uint32_t i = 0; next != 0 && i < cr_most.pds; i++) {
        at = next;
        next = on(at);
    }
    cr_pd *lowest = at;
    for (; next != 0 && next != at; next = on(next)) {
        lowest = next < lowest ? next : lowest;
    }
    return lowest;
}

cr_pd *cr_next_at_end(const cr_pd *pd, const cr_pd *first, cr_waits_on on)
{
    cr_pd *next = on(pd);
    return next != first ? next : 0;
}

/* A circle has a call: a fault handler is created before the PDs whose faults it handles. So one of
 * the PDs with held faults in a circle is called, and that is the one to take over. */
int cr_keeps_its_handler(const cr_pd *pd)
{
    const cr_pd *last = pd->life == CR_LIFE_FAULTED ? cr_last_in_circle(pd, cr_waited_for_by) : 0;
    return last != 0 && last->life != CR_LIFE_FAULTED;
}
