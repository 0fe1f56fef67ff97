package podsource

import (
	"time"

	"witlet.dev/plugin/v0_2/internal/contract"
	"witlet.dev/plugin/internal/abi"
)

//go:wasmimport witlet:pod-source/source-types@0.2.0 [method]setup.warn
func setupWarn(handle, address, length uint32)

//go:wasmimport witlet:pod-source/source-types@0.2.0 [resource-drop]setup
func dropSetup(handle uint32)

//go:wasmimport witlet:pod-source/source-types@0.2.0 [method]answer.pod
func answerPod(handle, address, length uint32)

//go:wasmimport witlet:pod-source/source-types@0.2.0 [method]answer.empty
func answerEmpty(handle uint32)

//go:wasmimport witlet:pod-source/source-types@0.2.0 [method]answer.unchanged
func answerUnchanged(handle uint32)

//go:wasmimport witlet:pod-source/source-types@0.2.0 [method]answer.cursor
func answerCursor(handle, address, length uint32)

//go:wasmimport witlet:pod-source/source-types@0.2.0 [method]answer.next-poll-milliseconds
func answerNextPoll(handle uint32, milliseconds uint64)

//go:wasmimport witlet:pod-source/source-types@0.2.0 [resource-drop]answer
func dropAnswer(handle uint32)

//go:wasmexport witlet:pod-source/source@0.2.0#validate
func exportValidate(setup, address, length uint32) uint32 {
	defer abi.Guard()
	config := abi.ArgumentText(address, length)
	lent := contract.Lend(setup, dropSetup)
	source, err := exported(config)
	if err == nil {
		err = Load(source, func(message string) { contract.CallText(setupWarn, lent, message) })
	}
	contract.GiveBack()
	return contract.Result(err)
}

//go:wasmexport witlet:pod-source/source@0.2.0#poll
func exportPoll(there, address, length, answer uint32) uint32 {
	defer abi.Guard()
	cursor := ""
	if there != 0 {
		cursor = abi.ArgumentText(address, length)
	}
	lent := contract.Lend(answer, dropAnswer)
	source, err := exported(contract.ConfigText())
	if err == nil {
		var poll Poll
		if poll, err = source.Poll(cursor); err == nil {
			poll.say(lent)
		}
	}
	contract.GiveBack()
	return contract.Result(err)
}

func (p Poll) say(answer *contract.Lease) {
	switch p.Snapshot {
	case "pods":
		for _, manifest := range p.Manifests {
			contract.CallText(answerPod, answer, manifest)
		}
	case "empty":
		answerEmpty(answer.Live())
	case "unchanged":
		answerUnchanged(answer.Live())
	}
	if p.Cursor != "" {
		contract.CallText(answerCursor, answer, p.Cursor)
	}
	if p.NextPoll > 0 {
		answerNextPoll(answer.Live(), uint64(p.NextPoll/time.Millisecond))
	}
}
