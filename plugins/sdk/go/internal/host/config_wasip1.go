package host

import "witlet.dev/plugin/internal/abi"

//go:wasmimport witlet:host/config@0.1.0 get
func configGet(result uint32)

func configText() string {
	abi.Enter()
	defer abi.Leave()
	result := abi.ImportResult()
	configGet(result)
	return abi.Text(result)
}
