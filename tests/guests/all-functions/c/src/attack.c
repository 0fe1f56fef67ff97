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

static plugin_string_t huge(void)
{
    plugin_string_t text = {malloc(HUGE_BYTES), HUGE_BYTES};
    if (text.ptr == NULL)
        abort();
    memset(text.ptr, 'x', HUGE_BYTES);
    return text;
}

bool attack(witlet_text name, witlet_admission_types_verdict_t *verdict, plugin_string_t *error)
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
        *verdict = witlet_reject("Huge", huge());
        return true;
    }
    return witlet_fail(error, "there is no such attack");
}
