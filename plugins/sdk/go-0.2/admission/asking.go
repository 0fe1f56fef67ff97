package admission

import (
	"encoding/json"
	"fmt"
	"strings"
)

// At is the value at a JSON pointer from a pod, a container, a volume or a node on; false where nothing is.
func At[T any](thing interface{ Pointer(string) (string, bool) }, path string) (value T, ok bool, err error) {
	text, ok := thing.Pointer(path)
	if !ok {
		return value, false, nil
	}
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return value, false, &Error{Code: "UnexpectedType", Message: fmt.Sprintf("decode %s: %v", path, err)}
	}
	return value, true, nil
}

// IsWithin is whether an image is in a registry, or below a path of one: docker.io, docker.io/library. In whole parts between slashes.
func IsWithin(image Image, place string) bool {
	registry, inRegistry := image.Registry()
	repository, _ := image.Repository()
	return inRegistry && strings.HasPrefix(registry+"/"+repository+"/", place+"/")
}

// Controller is the owner that manages a pod.
func Controller(pod Pod) (Owner, bool) {
	for _, owner := range pod.Owners() {
		if owner.IsController() {
			return owner, true
		}
	}
	return nil, false
}

// ImageText is an image in messages: image "docker.io/library/nginx:latest" (spec.containers[0].image).
func ImageText(image Image) string { return fmt.Sprintf("image %q (%s)", image.Name(), image.Place()) }

// ContainerText is a container in messages: container "app", init container "setup", sidecar "proxy", ephemeral container "debug".
func ContainerText(container Container) string {
	switch kind := container.Kind(); kind {
	case "app":
		return fmt.Sprintf("container %q", container.Name())
	case "sidecar":
		return fmt.Sprintf("sidecar %q", container.Name())
	default:
		return fmt.Sprintf("%s container %q", kind, container.Name())
	}
}

// VolumeText is a volume in messages: volume "data".
func VolumeText(volume Volume) string { return fmt.Sprintf("volume %q", volume.Name()) }
