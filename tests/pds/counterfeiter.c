/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD that prints what looks like the output of the root task and of the kernel: a whole trace
 * with correct checksums under a key of its own (docs/trace-format.md), the end of the trace,
 * crashes, fatal messages, and beginnings of lines, behind which the root task's next line follows.
 * It does so in each round, and finally says how often. */
#include <cellreap/client.h>

static const char *const trace[] = {
    "~:0101gn00112233445566778899aabbccddeeff gnx86_64 gnseL4%2016.0.0 gnforged 110Vg7IZm4F",
    "~:112i1001gn- 000000008m0=Jff^",
    "~:213gnmode gnasync 000QV]0nNPI",
    "~:316gnPD_0 gnROOT_TASK 1gn- gn- 9ZXTWJ=3",
    "~:412i1001gn- 00000000:da;BJRJ",
    "~:5116gndba29538 jX@fVD7=",
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
    "~:", "~:Xi", "~:Xi1X]gnPD_1 gn", "~:Xj11Xkgn00000000 @@@@@@@@ ", "~",
};

enum {
    NUMBERS = 300,
    COUNT_TRACE = sizeof(trace) / sizeof(trace[0]),
    COUNT_FATAL = sizeof(fatal) / sizeof(fatal[0]),
    COUNT_BEGINNINGS = sizeof(beginnings) / sizeof(beginnings[0])
};

static void print(const char *text)
{
    for (; *text != '\0'; text++) {
#ifdef CONFIG_PRINTING
        seL4_DebugPutChar(*text);
#endif
    }
}

/* As the root task prints numbers below 1,024. */
static void print_number(uint32_t number)
{
    const char two[] = {(char)('X' + (number >> 6)), (char)('0' + (number & 63u)), '\0'};
    const char one[] = {(char)('0' + number), '\0'};
    print(number < 40 ? one : two);
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
        print("\n~:");
        print_number(number);
        print(number % 2u == 0 ? "111gn00000000 @@@@@@@@\n"                /* END */
                               : "1XfgnPD_1 gnvm-fault 00gn- @@@@@@@@\n"); /* FAULT */
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
