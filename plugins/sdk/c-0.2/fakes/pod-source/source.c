#include "pod_source.h"

#include "../fakes.h"

#define T(name) witlet_pod_source_source_types_##name
/* The arguments of a `%.*s` for a text that the plugin hands over. */
#define GIVEN(text) WITLET_ARGS(fakes_given(text))
/* The contract's bound. */
#define CURSOR_BYTES_MAX 4096

static char said_cursor[CURSOR_BYTES_MAX + 1], handed_cursor[CURSOR_BYTES_MAX + 1];
const char *fake_cursor;

const char *fake_validate(const char *config)
{
    plugin_string_t text = witlet_copy(witlet_view_c(config));
    witlet_host_errors_own_error_t error = {0};
    fakes_begin();
    bool good = exports_witlet_pod_source_source_validate((T(borrow_setup_t)){1}, &text, &error);
    const char *said = fakes_end(good, error);
    return said[0] == '\0' ? "ok" : said;
}

const char *fake_poll(const char *cursor)
{
    /* It may be that of the last poll, which this one replaces. */
    snprintf(handed_cursor, sizeof handed_cursor, "%s", cursor != NULL ? cursor : "");
    plugin_string_t handed = witlet_copy(witlet_view_c(handed_cursor));
    witlet_host_errors_own_error_t error = {0};
    fake_cursor = NULL;
    fakes_begin();
    bool good = exports_witlet_pod_source_source_poll(cursor != NULL ? &handed : NULL, (T(borrow_answer_t)){1}, &error);
    return fakes_end(good, error);
}

void T(method_setup_warn)(T(borrow_setup_t) self, plugin_string_t *message)
{
    (void)self;
    fakes_say("warn %.*s", GIVEN(message));
}

void T(method_answer_pod)(T(borrow_answer_t) self, plugin_string_t *manifest)
{
    (void)self;
    fakes_say("pod %.*s", GIVEN(manifest));
}

void T(method_answer_empty)(T(borrow_answer_t) self)
{
    (void)self;
    fakes_say("empty");
}

void T(method_answer_unchanged)(T(borrow_answer_t) self)
{
    (void)self;
    fakes_say("unchanged");
}

void T(method_answer_cursor)(T(borrow_answer_t) self, plugin_string_t *cursor)
{
    (void)self;
    fakes_say("cursor %.*s", GIVEN(cursor));
    if (cursor->len > CURSOR_BYTES_MAX)
        fakes_say("the cursor has more than %d bytes", CURSOR_BYTES_MAX);
    snprintf(said_cursor, sizeof said_cursor, "%.*s", GIVEN(cursor));
    fake_cursor = said_cursor;
}

void T(method_answer_next_poll_milliseconds)(T(borrow_answer_t) self, uint64_t milliseconds)
{
    (void)self;
    fakes_say("next poll %llu ms", (unsigned long long)milliseconds);
}

/* ---- News ---- */

static const struct fake_change *news;
static size_t news_count, news_next;

void fakes_news(const struct fake_change *of, size_t count)
{
    news = of;
    news_count = count;
    news_next = 0;
}

bool T(method_news_next)(T(borrow_news_t) self, T(own_change_t) * ret)
{
    (void)self;
    if (news_next == news_count)
        return false;
    *ret = (T(own_change_t)){fakes_make("change", (witlet_text){NULL, 0}, (witlet_text){NULL, 0})};
    fakes_thing(ret->__handle, "change")->number = (int64_t)news_next++;
    return true;
}

T(borrow_change_t) T(borrow_change)(T(own_change_t) handle)
{
    return (T(borrow_change_t)){handle.__handle};
}

void T(change_drop_own)(T(own_change_t) handle)
{
    fakes_drop(handle.__handle, "change");
}

#define TEXT(getter, field)                                                                                            \
    void T(method_change_##getter)(T(borrow_change_t) self, plugin_string_t * ret)                                     \
    {                                                                                                                  \
        const struct fake_change *it = &news[fakes_thing(self.__handle, "change")->number];                            \
        *ret = witlet_copy(witlet_view_c(it->field != NULL ? it->field : ""));                                         \
    }
TEXT(kind, kind)
TEXT(namespace, namespace_)
TEXT(name, name)
TEXT(uid, uid)
TEXT(phase, phase)
TEXT(reason, reason)
TEXT(message, message)

bool T(method_change_status)(T(borrow_change_t) self, plugin_string_t *ret)
{
    const struct fake_change *it = &news[fakes_thing(self.__handle, "change")->number];
    if (it->status != NULL)
        *ret = witlet_copy(witlet_view_c(it->status));
    return it->status != NULL;
}
