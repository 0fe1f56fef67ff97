package admissiontest

import (
	"regexp"
	"strings"

	"witlet.dev/plugin/v0_2/admission"
)

const (
	component    = `[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*`
	label        = `[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?`
	referenceMax = 4096
	nameMax      = 255
)

var (
	registries   = regexp.MustCompile(`^(?:\[[0-9a-fA-F:]+\]|` + label + `(?:\.` + label + `)*)(?::[0-9]+)?$`)
	repositories = regexp.MustCompile(`^` + component + `(?:/` + component + `)*$`)
	tags         = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	digests      = regexp.MustCompile(`^(?:sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128})$`)
	notInAny     = regexp.MustCompile(`^file:|^[0-9a-f]{64}$|[\s\p{Cc}]`)
)

// image is a reference taken apart, as container runtimes do; without a registry it is in none.
type image struct{ reference, place, registry, repository, tag, digest string }

func newImage(reference, place string) image {
	none := image{reference: reference, place: place}
	if len(reference) > referenceMax || notInAny.MatchString(reference) {
		return none
	}
	named, digest, hasDigest := strings.Cut(reference, "@")
	last := strings.LastIndexByte(named, '/') + 1
	name, tag, hasTag := strings.Cut(named[last:], ":")
	registry, path := splitRegistry(named[:last] + name)
	if registry == "docker.io" && !strings.Contains(path, "/") {
		path = "library/" + path
	}
	isOne := registries.MatchString(registry) && repositories.MatchString(path) && len(registry)+1+len(path) <= nameMax
	if !isOne || (hasTag && !tags.MatchString(tag)) || (hasDigest && !digests.MatchString(digest)) {
		return none
	}
	if !hasTag && !hasDigest {
		tag = "latest"
	}
	return image{reference, place, registry, path, tag, digest}
}

// splitRegistry takes the first part for a registry if it can't be a folder: it has a dot, a port or capitals, or is localhost.
func splitRegistry(name string) (registry, path string) {
	first, rest, ok := strings.Cut(name, "/")
	switch {
	case ok && first == "index.docker.io":
		return "docker.io", rest
	case ok && (first == "localhost" || strings.ContainsAny(first, ".:") || first != strings.ToLower(first)):
		return first, rest
	default:
		return "docker.io", name
	}
}

func (i image) String() string             { return admission.ImageText(i) }
func (i image) Reference() string          { return i.reference }
func (i image) Place() string              { return i.place }
func (i image) Registry() (string, bool)   { return present(i.registry) }
func (i image) Repository() (string, bool) { return present(i.repository) }
func (i image) Tag() (string, bool)        { return present(i.tag) }
func (i image) Digest() (string, bool)     { return present(i.digest) }

func (i image) Name() string {
	if i.registry == "" {
		return i.reference
	}
	name := i.registry + "/" + i.repository
	if i.tag != "" {
		name += ":" + i.tag
	}
	if i.digest != "" {
		name += "@" + i.digest
	}
	return name
}
