package secret

import (
	"witlet.dev/plugin/v0_2/internal/contract"
	"witlet.dev/plugin/internal/abi"
)

//go:wasmimport witlet:host/secret@0.2.0 get
func secretGet(name, nameLength, result uint32)

// Get is the newest value of the secret with this name. Errors have the codes NotGranted and NotFound.
func Get(name string) ([]byte, error) {
	var address, length uint32
	layOut := func() { address, length = abi.TextArgument(name) }
	return contract.Returned(func(result uint32) { secretGet(address, length, result) }, abi.Bytes, layOut)
}
