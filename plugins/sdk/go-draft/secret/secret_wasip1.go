package secret

import (
	"witlet.dev/plugin/draft/internal/contract"
	"witlet.dev/plugin/internal/abi"
)

//go:wasmimport witlet:host/secret@0.2.0 get
func secretGet(name, nameLength, result uint32)

// Get is the newest value of the secret with this name. Errors have the codes NotGranted and NotFound.
func Get(name string) ([]byte, error) {
	value, failure := get(name)
	if failure != 0 {
		return nil, contract.Received(failure)
	}
	return value, nil
}

// get is the value, or the handle of an error.
func get(name string) ([]byte, uint32) {
	abi.Enter()
	defer abi.Leave()
	address, length := abi.TextArgument(name)
	result := abi.ImportResult()
	secretGet(address, length, result)
	if abi.Flag(result) == 0 {
		return abi.Bytes(result + 4), 0
	}
	return nil, abi.U32(result + 4)
}
