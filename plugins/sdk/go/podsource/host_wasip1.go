package podsource

import "witlet.dev/plugin/internal/abi"

//go:wasmexport witlet:pod-source/source@0.1.0#validate
func exportValidate(address, length uint32) uint32 {
	defer abi.Guard()
	return abi.Refusal(exported.validate(abi.ArgumentText(address, length)))
}

//go:wasmexport witlet:pod-source/source@0.1.0#poll
func exportPoll(there, address, length uint32) uint32 {
	defer abi.Guard()
	cursor := ""
	if there != 0 {
		cursor = abi.ArgumentText(address, length)
	}
	return encode(exported.poll(cursor))
}
