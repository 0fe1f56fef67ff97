package main

import (
	"fmt"
	"slices"
	"strings"

	"witlet.dev/plugin/v0_2/admission"
)

// allowedRegistries: images come from these places: registries, or registries with the beginning of a path. What is in no registry doesn't.
type allowedRegistries struct {
	Allow []string `json:"allow"`
}

func (p allowedRegistries) Validate(admission.Setup) error {
	for _, place := range p.Allow {
		if place == "" || strings.HasPrefix(place, "/") || strings.HasSuffix(place, "/") {
			return admission.Invalid("allow", fmt.Sprintf("%q is no registry, nor a path of one", place))
		}
	}
	if len(p.Allow) == 0 {
		return admission.Invalid("allow", "name one place at least")
	}
	return nil
}

func (p allowedRegistries) Admit(request admission.Request) (admission.Verdict, error) {
	for _, image := range request.Pod().Images() {
		isWithin := func(place string) bool { return admission.IsWithin(image, place) }
		if !slices.ContainsFunc(p.Allow, isWithin) {
			return admission.Reject("ImageNotAllowed", "%s doesn't come from %s", image, strings.Join(p.Allow, " or ")), nil
		}
	}
	return admission.Admit(), nil
}

// noLatestTag: no image has the tag latest, which is also that of images that name no tag; a digest outweighs it.
type noLatestTag struct{}

func (noLatestTag) Admit(request admission.Request) (admission.Verdict, error) {
	for _, image := range request.Pod().Images() {
		_, isPinned := image.Digest()
		if tag, _ := image.Tag(); tag == "latest" && !isPinned {
			return admission.Reject("LatestTag", "%s may change at any time", image), nil
		}
	}
	return admission.Admit(), nil
}

// digestRequired: every image has a digest.
type digestRequired struct{}

func (digestRequired) Admit(request admission.Request) (admission.Verdict, error) {
	for _, image := range request.Pod().Images() {
		if _, isPinned := image.Digest(); !isPinned {
			return admission.Reject("ImageNotPinned", "%s has no digest", image), nil
		}
	}
	return admission.Admit(), nil
}

// pullPolicy: containers state this pull policy, such as Always.
type pullPolicy struct {
	ImagePullPolicy string `json:"imagePullPolicy"`
}

func (p pullPolicy) Admit(request admission.Request) (admission.Verdict, error) {
	for _, container := range request.Pod().Containers() {
		if container.PullPolicy() != p.ImagePullPolicy {
			return admission.Reject("PullPolicy", "%s doesn't have the pull policy %s", container, p.ImagePullPolicy), nil
		}
	}
	return admission.Admit(), nil
}

// imagesAtMost: a pod has at most so many different images.
type imagesAtMost struct {
	Count int `json:"count"`
}

func (p imagesAtMost) Admit(request admission.Request) (admission.Verdict, error) {
	images := make(map[string]bool)
	for _, image := range request.Pod().Images() {
		images[image.Name()] = true
	}
	if len(images) > p.Count {
		return admission.Reject("TooManyImages", "%d images are more than %d", len(images), p.Count), nil
	}
	return admission.Admit(), nil
}

// imageUpdates: an image of a running pod is replaced by another tag or digest of its repository only.
type imageUpdates struct{ onUpdate }

func (imageUpdates) Admit(request admission.Request) (admission.Verdict, error) {
	old, isKnown := request.OldPod()
	for _, image := range request.Pod().Images() {
		isSame := func(before admission.Image) bool { return part(before) == part(image) }
		if isKnown && !slices.ContainsFunc(old.Images(), isSame) {
			return admission.Reject("OtherImage", "%s is no version of the image before", image), nil
		}
	}
	return admission.Admit(), nil
}

// part is where an image stands, and its repository.
func part(image admission.Image) string {
	registry, _ := image.Registry()
	repository, _ := image.Repository()
	return image.Place() + " " + registry + "/" + repository
}
