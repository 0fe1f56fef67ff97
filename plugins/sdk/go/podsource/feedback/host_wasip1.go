package feedback

import "witlet.dev/plugin/internal/abi"

//go:wasmexport witlet:pod-source/feedback@0.1.0#statuses
func exportStatuses(address, length uint32) uint32 {
	defer abi.Guard()
	return abi.Refusal(exported(statuses(address, length)))
}

func statuses(address, length uint32) []PodStatus {
	abi.EnterExport()
	defer abi.LeaveExport()
	return readStatuses(address, length)
}
