package main

import "strings"

// defaultRegistry is that of a reference that names none.
const defaultRegistry = "docker.io"

// A reference is what of a reference to an image the policy checks. Its tag is left out: anyone can move it.
type reference struct {
	// place is registry and repository, such as docker.io/library/nginx.
	place string
	// isPinned is whether a SHA-256 digest names the image.
	isPinned bool
}

// parseReference reads a reference as container runtimes do. Every text has a reading; one that no runtime takes isn't pulled.
func parseReference(image string) reference {
	name, digest, _ := strings.Cut(image, "@")
	registry, repository := defaultRegistry, name
	if first, rest, ok := strings.Cut(name, "/"); !ok {
		repository = "library/" + name
	} else if isRegistry(first) {
		registry, repository = first, rest
	}
	// A colon before the last slash isn't a tag's.
	last := strings.LastIndexByte(repository, '/') + 1
	if colon := strings.IndexByte(repository[last:], ':'); colon >= 0 {
		repository = repository[:last+colon]
	}
	return reference{place: registry + "/" + repository, isPinned: strings.HasPrefix(digest, "sha256:")}
}

// isIn is whether a place, a registry or the beginning of a path in it, is where the image is from: in whole parts between slashes.
func (r reference) isIn(place string) bool {
	rest, ok := strings.CutPrefix(r.place, place)
	return ok && (rest == "" || rest[0] == '/')
}

// isRegistry is whether what stands before the first slash looks like a host's name. Folders of the default registry have no capitals.
func isRegistry(first string) bool {
	return first == "localhost" || strings.ContainsAny(first, ".:") || first != strings.ToLower(first)
}
