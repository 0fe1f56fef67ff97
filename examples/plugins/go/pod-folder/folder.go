package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"witlet.dev/plugin"
	"witlet.dev/plugin/v0_2/podsource"
)

const (
	// fileBytesMax is how large a file can be.
	fileBytesMax = 1 << 20
	// depthMax is how many objects and lists a file can have in each other.
	depthMax = 128
)

// readFolder returns names and texts of the folder's own files that end in .json and aren't hidden, one after the other, in the order of
// the names' bytes.
func readFolder(folder string) ([]string, error) {
	// The entries are sorted by name.
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, unavailable(folder, err)
	}
	var parts []string
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".json") || strings.HasPrefix(name, ".") || !entry.Type().IsRegular() {
			continue
		}
		text, err := readFile(folder, name)
		if err != nil {
			return nil, err
		}
		parts = append(parts, name, text)
	}
	return parts, nil
}

func readFile(folder, name string) (string, error) {
	path := filepath.Join(folder, name)
	file, err := os.Open(path)
	if err != nil {
		return "", unavailable(path, err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, fileBytesMax+1))
	switch {
	case err != nil:
		return "", unavailable(path, err)
	case len(text) > fileBytesMax:
		return "", podsource.Errorf("Invalid", "%s: must have at most %d bytes", name, fileBytesMax)
	case !utf8.Valid(text):
		return "", podsource.Errorf("Invalid", "%s: it isn't UTF-8", name)
	}
	return string(text), nil
}

// checkManifest is what is wrong with a file as far as a source can tell; the host checks all of it.
func checkManifest(name, text string) error {
	if plugin.Depth(text) > depthMax {
		return podsource.Errorf("Invalid", "%s: more than %d objects and lists are in each other", name, depthMax)
	}
	var manifest map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &manifest); err != nil {
		return podsource.Errorf("Invalid", "%s: %v", name, err)
	}
	var kind any
	if err := json.Unmarshal(manifest["kind"], &kind); err != nil || kind != "Pod" {
		return podsource.Errorf("Invalid", "%s: it is no object of kind Pod", name)
	}
	return nil
}

// unavailable: nothing is known about the pods, and those of the last check go on.
func unavailable(path string, err error) error {
	return podsource.Errorf("Unavailable", "read %s: %v", path, err)
}
