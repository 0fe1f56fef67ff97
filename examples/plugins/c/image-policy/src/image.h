/* References to images, as container runtimes read them. */
#ifndef IMAGE_H
#define IMAGE_H

#include "witlet.h"

/* Where an image comes from. */
struct image {
    /* Registry and repository, without tag and digest: docker.io/library/nginx. Owned. */
    plugin_string_t place;
    /* Whether the reference has a SHA-256 digest. */
    bool pinned;
};

/* Reads a reference; the image is owned: `image_free`. Whether the runtime could pull it isn't checked. */
struct image image_read(witlet_text reference);

void image_free(struct image *image);

#endif
