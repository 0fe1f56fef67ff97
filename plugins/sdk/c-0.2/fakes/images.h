/* References to images, taken apart as container runtimes do. */
#ifndef FAKES_IMAGES_H
#define FAKES_IMAGES_H

#include "fakes.h"

/* Each part is a view of the reference or of a literal; empty if the image is in no registry, or has none. */
struct fake_reference {
    witlet_text registry, tag, digest;
    /* The path is in the folder `library` of docker.io. */
    bool is_library;
    witlet_text path;
};

struct fake_reference fakes_reference(witlet_text text);

/* Its repository, and its name in full; empty, and the text itself, of one that is in no registry. Owned. */
plugin_string_t fakes_repository(const struct fake_reference *reference);
plugin_string_t fakes_image_name(const struct fake_reference *reference, witlet_text text);

#endif
