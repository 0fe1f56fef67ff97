//go:build !wasip1

// Package secrettest has secrets for unit tests. One that wasn't set isn't granted.
package secrettest

import (
	"testing"

	"witlet.dev/plugin/internal/secrets"
)

// Set gives a secret a value for the rest of a test.
func Set(t testing.TB, name, value string) { t.Cleanup(secrets.Set(name, []byte(value), nil)) }

// SetError has a secret not be there for the rest of a test: secret.ErrNotFound or secret.ErrNotGranted.
func SetError(t testing.TB, name string, err error) { t.Cleanup(secrets.Set(name, nil, err)) }
