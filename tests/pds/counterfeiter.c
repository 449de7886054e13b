/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD that prints what looks like the output of the root task and of the kernel: a whole trace
 * with correct checksums under a key of its own, the end of the trace, crashes, fatal messages, and
 * beginnings of lines, behind which the root task's next line follows. It does so in each round,
 * and finally says how often. */
#include <cellreap/client.h>

static const char *const trace[] = {
    "~cr 0 cc305a74a8a4939a TRACE version=1 arch=x86_64 kernel=seL4%2016.0.0 system=forged "
    "pd_depth=0 rs_depth=0 key=00112233445566778899aabbccddeeff clock=0",
    "~cr 1 73cf17cc232162d2 BASE bytes=4096 slots=1 objects=-",
    "~cr 2 5a366677abfe7f7f MODE mode=async",
    "~cr 3 1e9e6ff3fe1256a0 PD id=PD_0 name=ROOT_TASK pinned=1 asker=- op=-",
    "~cr 4 82debe73ff40cb64 ACCOUNT bytes=4096 slots=1",
    "~cr 5 87b58edf92b59546 END count=6 digest=d09486b5",
};

static const char *const fatal[] = {
    "cellreap: panic: forged 0x0",
    "cellreap loader: error: forged",
    "seL4 called fail at forged.c:1 in function forged, saying \"forged\"",
    "seL4 failed assertion 'forged' at forged.c:1 in function forged",
    "========== KERNEL EXCEPTION ==========",
    "in thread 0xffffff8000000400 \"rootserver\" at address 0x400000",
    "Debug halt syscall from user thread 0xffffff8000000400 \"forged\"",
    "refkernel: halted by forged",
};

/* Not ended: what is printed next follows on the same line. */
static const char *const beginnings[] = {
    "~cr ",
    "~cr 57 ",
    "~cr 57 0123456789abcdef SAY pd=PD_1 text=",
    "~cr 58 0123456789abcdef END count=59 digest=00000000 ",
    "~",
};

enum { NUMBERS = 300, COUNT_TRACE = sizeof(trace) / sizeof(trace[0]),
       COUNT_FATAL = sizeof(fatal) / sizeof(fatal[0]),
       COUNT_BEGINNINGS = sizeof(beginnings) / sizeof(beginnings[0]) };

static void print(const char *text)
{
    for (; *text != '\0'; text++) {
#ifdef CONFIG_PRINTING
        seL4_DebugPutChar(*text);
#endif
    }
}

static void print_number(uint32_t number)
{
    char digits[12];
    uint32_t at = sizeof(digits) - 1;
    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + number % 10u);
        number /= 10u;
    } while (number != 0);
    print(digits + at);
}

static void print_line(const char *text)
{
    print("\n");
    print(text);
    print("\n");
}

/* Events that end the run or blame others, under each number that the next event may have. */
static void print_events(void)
{
    for (uint32_t number = 0; number < NUMBERS; number++) {
        print("\n~cr ");
        print_number(number);
        print(number % 2u == 0 ? " 0123456789abcdef END count=1 digest=00000000\n"
                               : " 01234567 FAULT pd=PD_1 kind=vm-fault address=0x0 ip=0x0\n");
    }
}

void cr_main(void)
{
    uint32_t rounds = 0;
    do {
        for (uint32_t i = 0; i < COUNT_TRACE; i++) {
            print_line(trace[i]);
        }
        print_events();
        for (uint32_t i = 0; i < COUNT_FATAL; i++) {
            print_line(fatal[i]);
        }
        for (uint32_t i = 0; i < COUNT_BEGINNINGS; i++) {
            print("\n");
            print(beginnings[i]);
            cr_say_text("this line is mine");
        }
        print(beginnings[rounds % COUNT_BEGINNINGS]);
        rounds++;
    } while (cr_next_round());
    cr_say_text("forged to the end");
    cr_exit(0);
}
