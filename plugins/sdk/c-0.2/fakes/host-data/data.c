#include "data.h"

#include "../bytes.h"

/* As much as the host gives at once. */
#define PART_BYTES_MAX (1u << 20)

const char *const *fake_data;

void witlet_host_data_names(plugin_list_string_t *ret)
{
    size_t count = 0;
    while (fake_data != NULL && fake_data[2 * count] != NULL)
        count++;
    *ret = (plugin_list_string_t){(plugin_string_t *)fakes_allocate(count, sizeof *ret->ptr), count};
    for (size_t i = 0; i < count; i++)
        ret->ptr[i] = witlet_copy(witlet_view_c(fake_data[2 * i]));
}

bool witlet_host_data_open(plugin_string_t *name, witlet_host_data_own_snapshot_t *ret, witlet_host_data_own_error_t *err)
{
    for (const char *const *data = fake_data; data != NULL && *data != NULL; data += 2) {
        if (!witlet_equal(witlet_view_c(*data), fakes_given(name)))
            continue;
        *ret = (witlet_host_data_own_snapshot_t){fakes_make("snapshot", witlet_view_c(data[1]), (witlet_text){NULL, 0})};
        return true;
    }
    *err = fakes_error("NotFound", "the entry has no such data");
    return false;
}

static witlet_text contents(witlet_host_data_borrow_snapshot_t self)
{
    return fakes_thing(self.__handle, "snapshot")->json;
}

/* Not SHA-256, which a unit test has no need of, but a text of its form that changes with the contents. */
void witlet_host_data_method_snapshot_digest(witlet_host_data_borrow_snapshot_t self, plugin_string_t *ret)
{
    uint64_t hash = 0xcbf29ce484222325u;
    witlet_text bytes = contents(self);
    for (size_t i = 0; i < bytes.len; i++)
        hash = (hash ^ (uint8_t)bytes.ptr[i]) * 0x100000001b3u;
    *ret = witlet_format("sha256:%064llx", (unsigned long long)hash);
}

uint64_t witlet_host_data_method_snapshot_size(witlet_host_data_borrow_snapshot_t self)
{
    return contents(self).len;
}

void witlet_host_data_method_snapshot_read(witlet_host_data_borrow_snapshot_t self, uint64_t offset, uint64_t length,
                                           plugin_list_u8_t *ret)
{
    witlet_text bytes = contents(self);
    uint64_t left = offset < bytes.len ? bytes.len - offset : 0;
    uint64_t most = length < PART_BYTES_MAX ? length : PART_BYTES_MAX;
    witlet_text part = {left > 0 ? bytes.ptr + offset : NULL, (size_t)(left < most ? left : most)};
    *ret = fakes_bytes(part);
}

void witlet_host_data_snapshot_drop_own(witlet_host_data_own_snapshot_t handle)
{
    fakes_drop(handle.__handle, "snapshot");
}

witlet_host_data_borrow_snapshot_t witlet_host_data_borrow_snapshot(witlet_host_data_own_snapshot_t handle)
{
    return (witlet_host_data_borrow_snapshot_t){handle.__handle};
}
