package secrets

import "witlet.dev/plugin/internal/abi"

//go:wasmimport witlet:host/secret@0.1.0 get
func secretGet(name, nameLength, result uint32)

// Get is a secret's value.
func Get(name string) ([]byte, error) {
	abi.Enter()
	defer abi.Leave()
	address, length := abi.TextArgument(name)
	result := abi.ImportResult()
	secretGet(address, length, result)
	switch {
	case abi.Flag(result) == 0:
		return abi.Bytes(result + 4), nil
	case abi.Flag(result+4) == 0:
		return nil, ErrNotGranted
	default:
		return nil, ErrNotFound
	}
}
