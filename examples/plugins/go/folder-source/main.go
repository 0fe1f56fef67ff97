// Example pod source: every file NAME.json of a folder is one pod. What it does in detail stands at the top of
// examples/plugins/cases/folder-source.yaml; the same plugin exists in other languages.
package main

import (
	"errors"
	"strings"

	"witlet.dev/plugin/podsource"
)

// config is the plugin's config:.
type config struct {
	// Folder is the absolute path of the folder, as the plugin sees it.
	Folder string `json:"folder"`
}

type source struct{}

func (source) Validate(config *config) error {
	if !strings.HasPrefix(config.Folder, "/") {
		return errors.New("folder: must be an absolute path")
	}
	return nil
}

func (source) Poll(cursor string, config *config) (podsource.Poll, error) {
	parts, err := readFolder(config.Folder)
	if err != nil {
		return podsource.Poll{}, err
	}
	current := podsource.Fingerprint(parts...)
	if cursor == current {
		return podsource.Poll{Snapshot: podsource.Unchanged{}, Cursor: current}, nil
	}
	var manifests []string
	for i := 0; i < len(parts); i += 2 {
		if err := checkManifest(parts[i], parts[i+1]); err != nil {
			return podsource.Poll{}, err
		}
		manifests = append(manifests, parts[i+1])
	}
	return podsource.Poll{Snapshot: podsource.All(manifests), Cursor: current}, nil
}

func init() { podsource.Export(source{}) }

func main() {}
