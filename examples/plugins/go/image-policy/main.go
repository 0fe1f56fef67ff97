// Example admission handler: images come from places that the configuration names. What it does in detail stands at the top of
// examples/plugins/cases/image-policy.yaml; the same plugin exists in other languages.
package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"witlet.dev/plugin/admission"
)

// Reasons of rejections.
const (
	notAllowed = "ImageNotAllowed"
	notPinned  = "ImageNotPinned"
)

// config is the plugin's config:.
type config struct {
	// Allow are registries, or registries with the beginning of a path.
	Allow []string `json:"allow"`
	// RequireDigest is whether every image must have a digest.
	RequireDigest bool `json:"requireDigest"`
}

type handler struct{}

func (handler) Validate(config *config) error {
	if len(config.Allow) == 0 {
		return errors.New("allow: must have at least one repository")
	}
	for i, place := range config.Allow {
		if place == "" || strings.HasPrefix(place, "/") || strings.HasSuffix(place, "/") {
			return fmt.Errorf("allow[%d]: a place isn't empty and neither begins nor ends with a slash", i)
		}
	}
	return nil
}

func (handler) Admit(request admission.Request, config *config) (admission.Verdict, error) {
	// The images of a running pod were admitted before.
	if request.Operation() == admission.Resize {
		return admission.Admit{}, nil
	}
	for _, container := range request.Pod().Containers() {
		if reason, problem := judge(container.Image, config); reason != "" {
			message := fmt.Sprintf("container %q: %s", container.Name, problem)
			return admission.Reject{Reason: reason, Message: message}, nil
		}
	}
	return admission.Admit{}, nil
}

// judge is what is wrong with an image, a reason and words; empty if nothing is.
func judge(image string, config *config) (reason, problem string) {
	if image == "" {
		return notAllowed, "no image is named"
	}
	reference := parseReference(image)
	switch {
	case !slices.ContainsFunc(config.Allow, reference.isIn):
		return notAllowed, reference.place + " isn't allowed"
	case config.RequireDigest && !reference.isPinned:
		return notPinned, reference.place + " isn't pinned by a digest"
	default:
		return "", ""
	}
}

func init() { admission.Export(handler{}) }

func main() {}
