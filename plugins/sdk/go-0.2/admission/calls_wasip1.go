package admission

import (
	"time"

	"witlet.dev/plugin/v0_2/internal/contract"
	"witlet.dev/plugin/internal/abi"
)

//go:wasmexport witlet:admission/handler@0.2.0#validate
func exportValidate(setup, address, length uint32) uint32 {
	defer abi.Guard()
	config := abi.ArgumentText(address, length)
	// Given back whatever comes of the configuration: the host ends a call that keeps it.
	lent := hostSetup{contract.Lend(setup, dropSetup)}
	handler, err := exported(config)
	if err == nil {
		err = Load(handler, lent)
	}
	contract.GiveBack()
	return contract.Result(err)
}

// kept is the handler of this instance, which never sees another configuration.
var kept Handler

//go:wasmexport witlet:admission/handler@0.2.0#admit
func exportAdmit(request, answer uint32) uint32 {
	defer abi.Guard()
	err := admit(hostRequest{contract.Lend(request, dropRequest)}, contract.Lend(answer, dropAnswer))
	contract.GiveBack()
	return contract.Result(err)
}

func admit(request Request, answer *contract.Lease) error {
	if kept == nil {
		handler, err := exported(contract.ConfigText())
		if err != nil {
			return err
		}
		kept = handler
	}
	verdict, err := kept.Admit(request)
	if err == nil {
		verdict.say(answer)
	}
	return err
}

func (v Verdict) say(answer *contract.Lease) {
	handle := answer.Live()
	switch v.Decision {
	case "admit":
		answerAdmit(handle)
	case "reject":
		contract.WithTexts(v.Reason, v.Message, func(a, b, c, d uint32) { answerReject(handle, a, b, c, d) })
	case "defer":
		milliseconds := uint64(max(0, v.RetryAfter/time.Millisecond))
		contract.WithTexts(v.Reason, v.Message, func(a, b, c, d uint32) { answerDefer(handle, a, b, c, d, milliseconds) })
	case "shortage":
		for _, short := range v.Shortages {
			contract.WithTexts(short.Resource, "", func(a, b, _, _ uint32) {
				answerShortage(handle, a, b, short.Requested, short.Used, short.Capacity)
			})
		}
	}
	for _, message := range v.Warnings {
		contract.WithTexts(message, "", func(a, b, _, _ uint32) { answerWarn(handle, a, b) })
	}
	for _, pair := range v.Annotations {
		contract.WithTexts(pair[0], pair[1], func(a, b, c, d uint32) { answerAnnotate(handle, a, b, c, d) })
	}
}

func listOf[T any](read func(at uint32) T) func(at uint32) []T {
	return func(at uint32) []T { return abi.List(at, 4, read) }
}

func texts(at uint32) []string { return abi.List(at, abi.TextSize, abi.Text) }

func readS64(at uint32) int64 { return int64(abi.U64(at)) }

func readTime(at uint32) time.Time {
	return time.Unix(int64(abi.U64(at)), int64(abi.U32(at+8))).UTC()
}
