package contract

import "witlet.dev/plugin/internal/abi"

//go:wasmimport witlet:host/config@0.2.0 get
func configGet(result uint32)

// ConfigText is the plugin's configuration.
func ConfigText() string {
	abi.Enter()
	defer abi.Leave()
	result := abi.ImportResult()
	configGet(result)
	return abi.Text(result)
}

//go:wasmimport witlet:host/errors@0.2.0 [constructor]error
func errorNew(codeAddress, codeLength, messageAddress, messageLength uint32) uint32

//go:wasmimport witlet:host/errors@0.2.0 [method]error.set-retry-after-milliseconds
func errorSetRetryAfter(handle uint32, milliseconds uint64)

//go:wasmimport witlet:host/errors@0.2.0 [method]error.set-detail
func errorSetDetail(handle, keyAddress, keyLength, valueAddress, valueLength uint32)

//go:wasmimport witlet:host/errors@0.2.0 [method]error.code
func errorCode(handle, result uint32)

//go:wasmimport witlet:host/errors@0.2.0 [method]error.message
func errorMessage(handle, result uint32)

//go:wasmimport witlet:host/errors@0.2.0 [method]error.retry-after-milliseconds
func errorRetryAfter(handle, result uint32)

//go:wasmimport witlet:host/errors@0.2.0 [method]error.detail
func errorDetail(handle, keyAddress, keyLength, result uint32)

//go:wasmimport witlet:host/errors@0.2.0 [resource-drop]error
func dropError(handle uint32)

// WithTexts lays out two texts for an import.
func WithTexts(first, second string, call func(a, b, c, d uint32)) {
	abi.Enter()
	defer abi.Leave()
	abi.Arguments.Begin(2 * abi.TextSize)
	abi.Arguments.Text(0, first)
	abi.Arguments.Text(abi.TextSize, second)
	at := abi.Arguments.Address()
	call(abi.U32(at), abi.U32(at+4), abi.U32(at+8), abi.U32(at+12))
}

// Result is the address of a result without a value: nothing, or an error, which is the host's from then on.
func Result(err error) uint32 {
	var handle uint32
	if err != nil {
		handle = made(err)
	}
	abi.Result.Begin(8)
	if err != nil {
		abi.Result.Flag(0, 1)
		abi.Result.U32(4, handle)
	}
	return abi.Result.Address()
}

// made is an error that the host has.
func made(err error) uint32 {
	var handle uint32
	of := AsError(err)
	WithTexts(of.Code, of.Message, func(a, b, c, d uint32) { handle = errorNew(a, b, c, d) })
	if of.RetryAfterMilliseconds > 0 {
		errorSetRetryAfter(handle, of.RetryAfterMilliseconds)
	}
	for key, value := range of.Details {
		WithTexts(key, value, func(a, b, c, d uint32) { errorSetDetail(handle, a, b, c, d) })
	}
	return handle
}

// Received is the error that the host made. Its details are asked for while the call runs, after which it is given back.
func Received(handle uint32) *Error {
	lent := Lend(handle, dropError)
	retryAfter, _ := GetOption(errorRetryAfter, lent, abi.U64, 8)
	return &Error{
		Code: Get(errorCode, lent, abi.Text), Message: Get(errorMessage, lent, abi.Text), RetryAfterMilliseconds: retryAfter,
		detail: func(key string) (string, bool) { return GetOptional(errorDetail, lent, key, abi.Text, 4) },
	}
}

// Kept is an error as the host keeps it.
func Kept(err error) *Error { return Received(made(err)) }

// Done is the error of a call that returns nothing else.
func Done(call func(result uint32), layOut func()) error {
	_, err := Returned(call, func(uint32) struct{} { return struct{}{} }, layOut)
	return err
}

// Returned is what a call returns behind the flag that says that it is no error. The arguments are laid out by a function that is called
// between Enter and Leave, if there is one.
func Returned[T any](call func(result uint32), read func(at uint32) T, layOut func()) (value T, err error) {
	handle := func() uint32 {
		abi.Enter()
		defer abi.Leave()
		if layOut != nil {
			layOut()
		}
		result := abi.ImportResult()
		call(result)
		if abi.Flag(result) == 0 {
			value = read(result + 4)
			return 0
		}
		return abi.U32(result + 4)
	}()
	if handle != 0 {
		err = Received(handle)
	}
	return value, err
}

// A Lease is a handle that the host has lent until the call ends.
type Lease struct {
	handle uint32
	drop   func(handle uint32)
}

var leases []*Lease

// Lend notes a handle.
func Lend(handle uint32, drop func(handle uint32)) *Lease {
	lease := &Lease{handle, drop}
	leases = append(leases, lease)
	return lease
}

// GiveBack ends a call: the last is given back first, and what is used after that panics.
func GiveBack() {
	for i := len(leases) - 1; i >= 0; i-- {
		leases[i].drop(leases[i].handle)
		leases[i].handle = 0
	}
	leases = leases[:0]
}

// Live is the handle, while the call runs.
func (l *Lease) Live() uint32 {
	if l.handle == 0 {
		panic("something that a call was given was used after it")
	}
	return l.handle
}

// A Lent thing has a handle that the host has lent.
type Lent interface{ Live() uint32 }

// Get calls a getter whose result lies in memory.
func Get[T any](getter func(handle, result uint32), of Lent, read func(at uint32) T) T {
	handle := of.Live()
	abi.Enter()
	defer abi.Leave()
	result := abi.ImportResult()
	getter(handle, result)
	return read(result)
}

// GetOptional is GetOption of a getter with a text.
func GetOptional[T any](
	getter func(handle, address, length, result uint32), of Lent, text string, read func(at uint32) T, behind uint32,
) (value T, ok bool) {
	handle := of.Live()
	abi.Enter()
	defer abi.Leave()
	address, length := abi.TextArgument(text)
	result := abi.ImportResult()
	getter(handle, address, length, result)
	return optional(result, read, behind)
}

// GetOption calls a getter of what may not be there; the value lies so many bytes behind the flag that says so.
func GetOption[T any](
	getter func(handle, result uint32), of Lent, read func(at uint32) T, behind uint32,
) (value T, ok bool) {
	handle := of.Live()
	abi.Enter()
	defer abi.Leave()
	result := abi.ImportResult()
	getter(handle, result)
	return optional(result, read, behind)
}

func optional[T any](at uint32, read func(at uint32) T, behind uint32) (value T, ok bool) {
	if abi.Flag(at) == 0 {
		return value, false
	}
	return read(at + behind), true
}

// Asked calls a getter with a text whose result is returned as it is.
func Asked[T any](getter func(handle, address, length uint32) T, of Lent, text string) T {
	handle := of.Live()
	abi.Enter()
	defer abi.Leave()
	address, length := abi.TextArgument(text)
	return getter(handle, address, length)
}

// CallText calls a function with a text.
func CallText(function func(handle, address, length uint32), of Lent, text string) {
	handle := of.Live()
	abi.Enter()
	defer abi.Leave()
	address, length := abi.TextArgument(text)
	function(handle, address, length)
}
