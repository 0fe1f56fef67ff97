#include "attack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes of an answer far beyond what a host takes at once. */
#define HUGE_BYTES (8u << 20)

/* What is written here can't be left out. */
static volatile unsigned char sink;
static unsigned char *volatile kept;

static unsigned recurse(unsigned depth)
{
    volatile unsigned char frame[512];
    frame[depth % sizeof frame] = (unsigned char)depth;
    return depth == 0 ? 0 : recurse(depth - 1) + frame[depth % sizeof frame];
}

static void grow(void)
{
    for (;;) {
        unsigned char *block = malloc(1 << 20);
        if (block == NULL)
            abort();
        memset(block, 1, 1 << 20);
        kept = block;
    }
}

static void huge(exports_witlet_admission_handler_borrow_answer_t answer)
{
    char *text = malloc(HUGE_BYTES);
    if (text == NULL)
        abort();
    memset(text, 'x', HUGE_BYTES);
    witlet_reject(answer, "Huge", "%.*s", (int)HUGE_BYTES, text);
    free(text);
}

void attack(witlet_text name, exports_witlet_admission_handler_borrow_answer_t answer)
{
    if (witlet_json_equal(name, "spin")) {
        for (;;)
            sink = 1;
    } else if (witlet_json_equal(name, "grow")) {
        grow();
    } else if (witlet_json_equal(name, "recurse")) {
        sink = (unsigned char)recurse(UINT32_MAX);
    } else if (witlet_json_equal(name, "crash")) {
        abort();
    } else if (witlet_json_equal(name, "exit")) {
        exit(1);
    } else if (witlet_json_equal(name, "sleep")) {
        sleep(86400);
    } else if (witlet_json_equal(name, "log-forever")) {
        for (;;)
            witlet_log(WITLET_HOST_LOG_LEVEL_ERROR, WITLET_TEXT("spam"), (witlet_field[]){{"language", WITLET_TEXT("c")}}, 1);
    } else if (witlet_json_equal(name, "print-forever")) {
        for (;;)
            puts("spam");
    } else if (witlet_json_equal(name, "huge-answer")) {
        huge(answer);
        return;
    }
    witlet_reject(answer, "Unknown", "%.*s", WITLET_ARGS(name));
}
