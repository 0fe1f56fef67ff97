//go:build !wasip1

package secret

import "witlet.dev/plugin/v0_2/internal/contract"

// Values are the secrets that unit tests have; no component has them.
var Values = map[string][]byte{}

// Get is the value of the secret with this name.
func Get(name string) ([]byte, error) {
	if value, ok := Values[name]; ok {
		return value, nil
	}
	return nil, &contract.Error{Code: "NotFound", Message: "the node doesn't have the secret " + name}
}
