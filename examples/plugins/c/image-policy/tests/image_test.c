/* References, and where they say that an image comes from. */
#include "check.h"
#include "fake.h"
#include "image.h"

int main(void)
{
    static const struct {
        const char *reference, *place;
        bool pinned;
    } cases[] = {
        {"nginx", "docker.io/library/nginx", false},
        {"nginx:1.27", "docker.io/library/nginx", false},
        {"team/app:1", "docker.io/team/app", false},
        {"team/more/app", "docker.io/team/more/app", false},
        {"localhost/web", "localhost/web", false},
        {"localhost:5000/web:2", "localhost:5000/web", false},
        {"localhost:5000/web", "localhost:5000/web", false},
        {"registry.example.com/shop/web:1.2", "registry.example.com/shop/web", false},
        {"Elsewhere/web", "Elsewhere/web", false},
        {"nginx@sha256:00ff", "docker.io/library/nginx", true},
        {"nginx:1.27@sha256:00ff", "docker.io/library/nginx", true},
        {"registry.example.com/web@sha256:00ff", "registry.example.com/web", true},
        {"nginx@sha512:00ff", "docker.io/library/nginx", false},
        {"", "docker.io/library/", false},
        {"/", "docker.io//", false},
        {":", "docker.io/library/", false},
        {"@sha256:", "docker.io/library/", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct image image = image_read(witlet_view_c(cases[i].reference));
        CHECK(fake_is(image.place, cases[i].place));
        CHECK(image.pinned == cases[i].pinned);
        image_free(&image);
    }
    return CHECKS_END();
}
