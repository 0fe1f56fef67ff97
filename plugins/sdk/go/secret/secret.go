// Package secret has values that stand neither in the configuration nor in pods. A component that imports it needs the grant secrets, and
// a world that imports witlet:host/secret@0.1.0.
package secret

import "witlet.dev/plugin/internal/secrets"

var (
	// ErrNotGranted: the plugin's grants don't name the secret.
	ErrNotGranted = secrets.ErrNotGranted
	// ErrNotFound: the grants name the secret, and the node doesn't have it (now).
	ErrNotFound = secrets.ErrNotFound
)

// Get is the newest value of the secret with this name. A value that the operator replaces is seen by the next call.
func Get(name string) ([]byte, error) { return secrets.Get(name) }
