//go:build !wasip1

package secret_test

import (
	"errors"
	"testing"

	"witlet.dev/plugin/secret"
	"witlet.dev/plugin/secret/secrettest"
)

func TestASecretIsATestsOwn(t *testing.T) {
	t.Run("set", func(t *testing.T) {
		secrettest.Set(t, "token", "s3cret")
		secrettest.SetError(t, "lost", secret.ErrNotFound)
		if value, err := secret.Get("token"); err != nil || string(value) != "s3cret" {
			t.Errorf("%q, %v", value, err)
		}
		if _, err := secret.Get("lost"); !errors.Is(err, secret.ErrNotFound) {
			t.Errorf("%v", err)
		}
	})
	if _, err := secret.Get("token"); !errors.Is(err, secret.ErrNotGranted) {
		t.Errorf("%v", err)
	}
}
