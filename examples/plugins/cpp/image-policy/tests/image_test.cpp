// References, and where they say that an image comes from.
#include "image.hpp"
#include "testing/testing.hpp"

int main()
{
    static constexpr struct {
        std::string_view reference, place;
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
    for (const auto &[reference, place, pinned] : cases) {
        Image image = Image::read(reference);
        CHECK_TEXT(image.place, place);
        CHECK(image.pinned == pinned);
    }
    return witlet::testing::end(__FILE__);
}
