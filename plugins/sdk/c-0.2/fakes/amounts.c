#include "amounts.h"

typedef unsigned __int128 wide;

/* More digits than this are more than any amount has. */
#define DIGITS_MAX 36
#define QUANTITY_BYTES_MAX 64

/* A quantity in parts: sign, digits, how often times ten, how often times 1024. */
struct quantity {
    bool is_negative;
    wide digits;
    int power, kibi;
};

/* The unit at the end of a quantity: false if it is none. */
static bool unit(const char *text, struct quantity *quantity)
{
    static const char decimal[] = "num kMGTPE", binary[] = "KMGTPE";
    if (*text == '\0')
        return true;
    const char *of = strchr(binary, text[0]);
    if (of != NULL && text[1] == 'i' && text[2] == '\0') {
        quantity->kibi = (int)(of - binary) + 1;
        return true;
    }
    of = strchr(decimal, text[0]);
    if (of != NULL && *text != ' ' && text[1] == '\0') {
        quantity->power += 3 * (int)(of - decimal) - 9;
        return true;
    }
    if (*text != 'e' && *text != 'E')
        return false;
    bool is_negative = *++text == '-';
    text += *text == '-' || *text == '+';
    size_t length = strspn(text, "0123456789");
    if (length == 0 || length > 4 || text[length] != '\0')
        return false;
    int exponent = atoi(text);
    quantity->power += is_negative ? -exponent : exponent;
    return true;
}

static bool read(const char *text, struct quantity *quantity)
{
    *quantity = (struct quantity){.is_negative = *text == '-'};
    text += *text == '-' || *text == '+';
    bool has_digits = false, is_fraction = false;
    int digits = 0;
    for (;; text++) {
        if (*text == '.' && !is_fraction) {
            is_fraction = true;
            continue;
        }
        if (*text < '0' || *text > '9')
            break;
        has_digits = true;
        if (digits == DIGITS_MAX) {
            /* A digit that can't be kept: one of a fraction makes no difference but that there is something. */
            quantity->power += !is_fraction;
            quantity->digits |= *text != '0';
            continue;
        }
        quantity->digits = 10 * quantity->digits + (wide)(*text - '0');
        digits += quantity->digits > 0;
        quantity->power -= is_fraction;
    }
    return has_digits && unit(text, quantity);
}

int64_t fakes_quantity(const char *resource, witlet_text value)
{
    char text[QUANTITY_BYTES_MAX + 1];
    plugin_string_t string = witlet_json_string(value);
    witlet_text written = witlet_json_is_string(value) ? witlet_view(string) : value;
    bool fits = written.len <= QUANTITY_BYTES_MAX && (written.len == 0 || memchr(written.ptr, '\0', written.len) == NULL);
    snprintf(text, sizeof text, "%.*s", fits ? (int)written.len : 0, fits && written.len > 0 ? written.ptr : "");
    plugin_string_free(&string);
    struct quantity quantity;
    if (!read(text, &quantity))
        return 0;
    int power = quantity.power + (strcmp(resource, "cpu") == 0 ? 3 : 0);
    wide amount = quantity.digits;
    bool is_over = false;
    if (quantity.kibi > 0)
        is_over = __builtin_mul_overflow(amount, (wide)1 << (10 * quantity.kibi), &amount);
    for (; power > 0 && amount > 0 && !is_over; power--)
        is_over = __builtin_mul_overflow(amount, (wide)10, &amount);
    bool has_rest = false;
    for (; power < 0 && amount > 0 && !is_over; power++) {
        has_rest = has_rest || amount % 10 > 0;
        amount /= 10;
    }
    amount += has_rest;
    if (is_over || amount > INT64_MAX)
        return quantity.is_negative ? INT64_MIN : INT64_MAX;
    return quantity.is_negative ? -(int64_t)amount : (int64_t)amount;
}

/* The amount of a resource, made if it isn't there. */
static int64_t *amount_of(struct fake_amounts *amounts, const char *name)
{
    for (size_t i = 0; i < amounts->len; i++) {
        if (strcmp(amounts->items[i].name, name) == 0)
            return &amounts->items[i].amount;
    }
    if (amounts->len == FAKES_RESOURCES_MAX)
        fakes_fail("the manifests of a test name more than %d resources", FAKES_RESOURCES_MAX);
    snprintf(amounts->items[amounts->len].name, sizeof amounts->items[0].name, "%s", name);
    amounts->items[amounts->len].amount = 0;
    return &amounts->items[amounts->len++].amount;
}

static bool has(const struct fake_amounts *amounts, const char *name)
{
    int64_t amount;
    return fakes_amount(amounts, witlet_view_c(name), &amount);
}

static void add(int64_t *total, int64_t amount)
{
    *total = amount > 0 && *total > INT64_MAX - amount ? INT64_MAX : *total + amount;
}

void fakes_add_amount(struct fake_amounts *total, const char *name, int64_t amount)
{
    add(amount_of(total, name), amount);
}

void fakes_add_amounts(struct fake_amounts *total, const struct fake_amounts *more)
{
    for (size_t i = 0; i < more->len; i++)
        fakes_add_amount(total, more->items[i].name, more->items[i].amount);
}

static void raise_all(struct fake_amounts *total, const struct fake_amounts *other)
{
    for (size_t i = 0; i < other->len; i++) {
        bool is_new = !has(total, other->items[i].name);
        int64_t *most = amount_of(total, other->items[i].name);
        if (is_new || other->items[i].amount > *most)
            *most = other->items[i].amount;
    }
}

void fakes_amounts(struct fake_amounts *amounts, witlet_text object)
{
    if (!witlet_json_is_object(object))
        return;
    for (witlet_json_items items = witlet_json_each(object); witlet_json_next(&items);) {
        plugin_string_t key = witlet_json_string(items.key);
        char name[sizeof amounts->items[0].name];
        snprintf(name, sizeof name, "%.*s", WITLET_ARGS(witlet_view(key)));
        plugin_string_free(&key);
        add(amount_of(amounts, name), fakes_quantity(name, items.value));
    }
}

bool fakes_amount(const struct fake_amounts *amounts, witlet_text resource, int64_t *amount)
{
    for (size_t i = 0; i < amounts->len; i++) {
        if (!witlet_equal(witlet_view_c(amounts->items[i].name), resource))
            continue;
        *amount = amounts->items[i].amount;
        return true;
    }
    return false;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((const char *)a, (const char *)b);
}

void fakes_amount_names(const struct fake_amounts *one, const struct fake_amounts *other, plugin_list_string_t *names)
{
    struct fake_amounts both = {0};
    raise_all(&both, one);
    raise_all(&both, other);
    /* An item begins with its name. */
    qsort(both.items, both.len, sizeof both.items[0], by_name);
    *names = (plugin_list_string_t){(plugin_string_t *)fakes_allocate(both.len, sizeof *names->ptr), both.len};
    for (size_t i = 0; i < both.len; i++)
        names->ptr[i] = witlet_copy(witlet_view_c(both.items[i].name));
}

bool fakes_is_sidecar(witlet_text container)
{
    return witlet_json_equal(witlet_json_member(container, "restartPolicy"), "Always");
}

static void of_container(struct fake_amounts *amounts, witlet_text container, const char *part)
{
    *amounts = (struct fake_amounts){0};
    fakes_amounts(amounts, FAKES_GET(container, "resources", part));
}

/* The greater of what containers and sidecars have together and what each init container has while it runs. */
static void of_containers(struct fake_amounts *total, witlet_text spec, const char *part)
{
    struct fake_amounts needed, sidecars = {0}, starting = {0};
    for (witlet_json_items items = witlet_json_each(witlet_json_member(spec, "containers")); witlet_json_next(&items);) {
        of_container(&needed, items.value, part);
        fakes_add_amounts(total, &needed);
    }
    for (witlet_json_items items = witlet_json_each(witlet_json_member(spec, "initContainers")); witlet_json_next(&items);) {
        of_container(&needed, items.value, part);
        if (fakes_is_sidecar(items.value)) {
            fakes_add_amounts(total, &needed);
            fakes_add_amounts(&sidecars, &needed);
            needed = sidecars;
        } else {
            fakes_add_amounts(&needed, &sidecars);
        }
        raise_all(&starting, &needed);
    }
    raise_all(total, &starting);
}

void fakes_amounts_of_pod(struct fake_amounts *total, witlet_text spec, const char *part)
{
    struct fake_amounts stated = {0}, overhead = {0};
    of_containers(total, spec, part);
    /* What the pod as a whole states goes before that; overhead comes on top. */
    fakes_amounts(&stated, FAKES_GET(spec, "resources", part));
    for (size_t i = 0; i < stated.len; i++) {
        const char *name = stated.items[i].name;
        if (strcmp(name, "cpu") == 0 || strcmp(name, "memory") == 0 || strncmp(name, "hugepages-", 10) == 0)
            *amount_of(total, name) = stated.items[i].amount;
    }
    fakes_amounts(&overhead, witlet_json_member(spec, "overhead"));
    for (size_t i = 0; i < overhead.len; i++) {
        int64_t amount = 0;
        fakes_amount(total, witlet_view_c(overhead.items[i].name), &amount);
        /* Only what is limited is limited to more. */
        if (strcmp(part, "limits") != 0 || amount != 0)
            add(amount_of(total, overhead.items[i].name), overhead.items[i].amount);
    }
}

/* CPU and memory of these resources that are more than nothing are added. How many there are. */
static int counted(struct fake_amounts *total, witlet_text resources, const char *part)
{
    static const char *const counting[] = {"cpu", "memory"};
    struct fake_amounts of = {0};
    int count = 0;
    fakes_amounts(&of, witlet_json_member(resources, part));
    for (size_t i = 0; i < 2; i++) {
        int64_t amount;
        if (!fakes_amount(&of, witlet_view_c(counting[i]), &amount) || amount <= 0)
            continue;
        add(amount_of(total, counting[i]), amount);
        count++;
    }
    return count;
}

static bool are_equal(const struct fake_amounts *one, const struct fake_amounts *other)
{
    for (size_t i = 0; i < one->len; i++) {
        int64_t amount;
        if (!fakes_amount(other, witlet_view_c(one->items[i].name), &amount) || amount != one->items[i].amount)
            return false;
    }
    return one->len == other->len;
}

const char *fakes_qos(witlet_text pod)
{
    static const char *const classes[] = {"Guaranteed", "Burstable", "BestEffort"};
    for (size_t i = 0; i < 3; i++) {
        if (witlet_json_equal(FAKES_GET(pod, "status", "qosClass"), classes[i]))
            return classes[i];
    }
    witlet_text spec = witlet_json_member(pod, "spec"), whole = witlet_json_member(spec, "resources");
    struct fake_amounts requests = {0}, limits = {0};
    bool all_limited = true;
    if (witlet_json_count(witlet_json_member(whole, "requests")) + witlet_json_count(witlet_json_member(whole, "limits")) > 0) {
        all_limited = counted(&limits, whole, "limits") == 2;
        counted(&requests, whole, "requests");
    } else {
        static const char *const lists[] = {"containers", "initContainers"};
        for (size_t i = 0; i < 2; i++) {
            for (witlet_json_items items = witlet_json_each(witlet_json_member(spec, lists[i])); witlet_json_next(&items);) {
                witlet_text resources = witlet_json_member(items.value, "resources");
                all_limited = (counted(&limits, resources, "limits") == 2) && all_limited;
                counted(&requests, resources, "requests");
            }
        }
    }
    if (requests.len + limits.len == 0)
        return "BestEffort";
    return all_limited && are_equal(&requests, &limits) ? "Guaranteed" : "Burstable";
}
