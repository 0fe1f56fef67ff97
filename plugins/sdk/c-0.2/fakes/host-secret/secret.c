#include "secret.h"

#include "../bytes.h"

const char *const *fake_secrets;

bool witlet_host_secret_get(plugin_string_t *name, plugin_list_u8_t *ret, witlet_host_secret_own_error_t *err)
{
    for (const char *const *secret = fake_secrets; secret != NULL && *secret != NULL; secret += 2) {
        if (!witlet_equal(witlet_view_c(*secret), fakes_given(name)))
            continue;
        if (secret[1][0] == '\0') {
            *err = fakes_error("NotFound", "the node doesn't have the secret");
            return false;
        }
        *ret = fakes_bytes(witlet_view_c(secret[1]));
        return true;
    }
    *err = fakes_error("NotGranted", "the grants don't name the secret");
    return false;
}
