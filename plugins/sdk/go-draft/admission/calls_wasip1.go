package admission

import (
	"time"

	"witlet.dev/plugin/internal/abi"
)

//go:wasmexport witlet:admission/handler@0.2.0-draft.1#validate
func exportValidate(setup, address, length uint32) uint32 {
	defer abi.Guard()
	config := abi.ArgumentText(address, length)
	// Given back whatever comes of the configuration: the host ends a call that keeps it.
	lent := hostSetup{lend(setup, dropSetup)}
	handler, err := exported(config)
	if err == nil {
		err = Load(handler, lent)
	}
	giveBack()
	return result(err)
}

// kept is the handler of this instance, which never sees another configuration.
var kept Handler

//go:wasmexport witlet:admission/handler@0.2.0-draft.1#admit
func exportAdmit(request, answer uint32) uint32 {
	defer abi.Guard()
	err := admit(hostRequest{lend(request, dropRequest)}, lend(answer, dropAnswer))
	giveBack()
	return result(err)
}

func admit(request Request, answer *lease) error {
	if kept == nil {
		handler, err := exported(configText())
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

//go:wasmimport witlet:host/config@0.2.0-draft.1 get
func configGet(result uint32)

func configText() string {
	abi.Enter()
	defer abi.Leave()
	result := abi.ImportResult()
	configGet(result)
	return abi.Text(result)
}

func (v Verdict) say(answer *lease) {
	handle := answer.live()
	switch v.Decision {
	case "admit":
		answerAdmit(handle)
	case "reject":
		withTexts(v.Reason, v.Message, func(a, b, c, d uint32) { answerReject(handle, a, b, c, d) })
	case "defer":
		milliseconds := uint64(max(0, v.RetryAfter/time.Millisecond))
		withTexts(v.Reason, v.Message, func(a, b, c, d uint32) { answerDefer(handle, a, b, c, d, milliseconds) })
	case "shortage":
		for _, short := range v.Shortages {
			withTexts(short.Resource, "", func(a, b, _, _ uint32) {
				answerShortage(handle, a, b, short.Requested, short.Used, short.Capacity)
			})
		}
	}
	for _, message := range v.Warnings {
		withTexts(message, "", func(a, b, _, _ uint32) { answerWarn(handle, a, b) })
	}
	for _, pair := range v.Annotations {
		withTexts(pair[0], pair[1], func(a, b, c, d uint32) { answerAnnotate(handle, a, b, c, d) })
	}
}

// withTexts lays out two texts for an import.
func withTexts(first, second string, call func(a, b, c, d uint32)) {
	abi.Enter()
	defer abi.Leave()
	abi.Arguments.Begin(2 * abi.TextSize)
	abi.Arguments.Text(0, first)
	abi.Arguments.Text(abi.TextSize, second)
	at := abi.Arguments.Address()
	call(abi.U32(at), abi.U32(at+4), abi.U32(at+8), abi.U32(at+12))
}

//go:wasmimport witlet:host/errors@0.2.0-draft.1 [constructor]error
func errorNew(codeAddress, codeLength, messageAddress, messageLength uint32) uint32

//go:wasmimport witlet:host/errors@0.2.0-draft.1 [method]error.set-retry-after-milliseconds
func errorSetRetryAfter(handle uint32, milliseconds uint64)

//go:wasmimport witlet:host/errors@0.2.0-draft.1 [method]error.set-detail
func errorSetDetail(handle, keyAddress, keyLength, valueAddress, valueLength uint32)

// result is the address of a result without a value: nothing, or an error, which is the host's from then on.
func result(err error) uint32 {
	var handle uint32
	if err != nil {
		of := asError(err)
		withTexts(of.Code, of.Message, func(a, b, c, d uint32) { handle = errorNew(a, b, c, d) })
		if of.RetryAfterMilliseconds > 0 {
			errorSetRetryAfter(handle, of.RetryAfterMilliseconds)
		}
		for key, value := range of.Details {
			withTexts(key, value, func(a, b, c, d uint32) { errorSetDetail(handle, a, b, c, d) })
		}
	}
	abi.Result.Begin(8)
	if err != nil {
		abi.Result.Flag(0, 1)
		abi.Result.U32(4, handle)
	}
	return abi.Result.Address()
}

// A lease is a handle that the host has lent until the call ends.
type lease struct {
	handle uint32
	drop   func(handle uint32)
}

var leases []*lease

func lend(handle uint32, drop func(handle uint32)) *lease {
	lease := &lease{handle, drop}
	leases = append(leases, lease)
	return lease
}

// giveBack ends a call: the last is given back first, and what is used after that panics.
func giveBack() {
	for i := len(leases) - 1; i >= 0; i-- {
		leases[i].drop(leases[i].handle)
		leases[i].handle = 0
	}
	leases = leases[:0]
}

func (l *lease) live() uint32 {
	if l.handle == 0 {
		panic("admission: something that a call was given was used after it")
	}
	return l.handle
}

type handled interface{ live() uint32 }

// get calls a getter whose result lies in memory.
func get[T any](getter func(handle, result uint32), of handled, read func(at uint32) T) T {
	handle := of.live()
	abi.Enter()
	defer abi.Leave()
	result := abi.ImportResult()
	getter(handle, result)
	return read(result)
}

// getOptional is get of what may not be there; the value lies so many bytes behind the flag that says so.
func getOptional[T any](getter func(handle, result uint32), of handled, read func(at uint32) T, behind uint32) (value T, ok bool) {
	return optional(get(getter, of, optionOf(read, behind)))
}

// withOptional is getOptional of a getter with a text.
func withOptional[T any](
	getter func(handle, address, length, result uint32), of handled, text string, read func(at uint32) T, behind uint32,
) (value T, ok bool) {
	handle := of.live()
	abi.Enter()
	defer abi.Leave()
	address, length := abi.TextArgument(text)
	result := abi.ImportResult()
	getter(handle, address, length, result)
	return optional(optionOf(read, behind)(result))
}

func optional[T any](value *T) (T, bool) {
	if value == nil {
		return *new(T), false
	}
	return *value, true
}

func optionOf[T any](read func(at uint32) T, behind uint32) func(at uint32) *T {
	return func(at uint32) *T {
		if abi.Flag(at) == 0 {
			return nil
		}
		value := read(at + behind)
		return &value
	}
}

// asked calls a getter with a text whose result is returned as it is.
func asked[T any](getter func(handle, address, length uint32) T, of handled, text string) T {
	handle := of.live()
	abi.Enter()
	defer abi.Leave()
	address, length := abi.TextArgument(text)
	return getter(handle, address, length)
}

// callText calls a function with a text.
func callText(function func(handle, address, length uint32), of handled, text string) {
	handle := of.live()
	abi.Enter()
	defer abi.Leave()
	address, length := abi.TextArgument(text)
	function(handle, address, length)
}

func listOf[T any](read func(at uint32) T) func(at uint32) []T {
	return func(at uint32) []T { return abi.List(at, 4, read) }
}

func texts(at uint32) []string { return abi.List(at, abi.TextSize, abi.Text) }

func readS64(at uint32) int64 { return int64(abi.U64(at)) }

func readTime(at uint32) time.Time {
	return time.Unix(int64(abi.U64(at)), int64(abi.U32(at+8))).UTC()
}
