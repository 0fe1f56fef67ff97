// Example of contract 0.2: a pod source. Every file NAME.json of a folder is one pod, and which of its pods aren't run is logged. What it does
// in detail stands at the top of examples/plugins/cases/folder-source.yaml; the same plugin exists in other languages.
package main

import (
	"fmt"
	"log/slog"
	"strings"

	"witlet.dev/plugin/v0_2/podsource"
	"witlet.dev/plugin/v0_2/podsource/feedback"
)

// folder is the source; its fields are those of the plugin's config:.
type folder struct {
	// Folder is the absolute path of the folder, as the plugin sees it.
	Folder string `json:"folder"`
}

func (f folder) Validate(func(string)) error {
	if !strings.HasPrefix(f.Folder, "/") {
		return podsource.Invalid("folder", "must be an absolute path")
	}
	return nil
}

func (f folder) Poll(cursor string) (podsource.Poll, error) {
	parts, err := readFolder(f.Folder)
	if err != nil {
		return podsource.Poll{}, err
	}
	current := podsource.Fingerprint(parts...)
	if cursor == current {
		return podsource.Unchanged().At(current), nil
	}
	var manifests []string
	for i := 0; i < len(parts); i += 2 {
		if err := checkManifest(parts[i], parts[i+1]); err != nil {
			return podsource.Poll{}, err
		}
		manifests = append(manifests, parts[i+1])
	}
	return podsource.All(manifests).At(current), nil
}

func (folder) Notify(news []feedback.Change) error {
	for _, pod := range news {
		if pod.IsRefused() {
			slog.Warn(fmt.Sprintf("pod %s/%s isn't run: %s: %s", pod.Namespace, pod.Name, pod.Reason, pod.Message))
		}
	}
	return nil
}

func init() { podsource.Export[folder]() }

func main() {}
