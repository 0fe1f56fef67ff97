// Package secrets is where secrets come from: the host, or a test.
package secrets

import "errors"

// Why there is no value.
var (
	ErrNotGranted = errors.New("the plugin isn't granted this secret")
	ErrNotFound   = errors.New("the node doesn't have this secret")
)
