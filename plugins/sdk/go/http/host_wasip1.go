package http

import (
	"net/url"
	"strings"
	"time"

	"witlet.dev/plugin/internal/abi"
	"witlet.dev/plugin/internal/streams"
)

// readBytes is how much is read of a body at once.
const readBytes = 64 << 10

// methods are the contract's in their order; any other has its own name.
var methods = [...]string{"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"}

func send(request Request, to *url.URL, deadline time.Time) (*Response, error) {
	outgoing, err := outgoingRequest(request, to)
	if err != nil {
		return nil, err
	}
	body, err := taken(func(result uint32) { requestBody(outgoing, result) })
	if err != nil {
		dropRequest(outgoing)
		return nil, err
	}
	future, err := handled(outgoing, to.Host)
	if err != nil {
		dropOutgoingBody(body)
		return nil, err
	}
	defer dropFuture(future)
	if err := write(body, request.Body, deadline); err != nil {
		return nil, err
	}
	response, err := answered(future, to.Host, deadline)
	if err != nil {
		return nil, err
	}
	defer dropResponse(response)
	header := headers(response)
	received, err := read(response, to.Host, request.BodyBytesMax, deadline)
	if err != nil {
		return nil, err
	}
	return &Response{Status: int(responseStatus(response)), Header: header, Body: received}, nil
}

func outgoingRequest(request Request, to *url.URL) (uint32, error) {
	fields, err := fields(request.Header)
	if err != nil {
		return 0, err
	}
	outgoing := newRequest(fields)
	scheme := uint32(0)
	if to.Scheme == "https" {
		scheme = 1
	}
	isTaken := setMethod(outgoing, request.Method) &&
		requestSetScheme(outgoing, 1, scheme, 0, 0) == 0 &&
		set(requestSetAuthority, outgoing, to.Host) &&
		set(requestSetPath, outgoing, to.RequestURI())
	if !isTaken {
		dropRequest(outgoing)
		return 0, &Error{Message: "the request can't be sent: " + request.Method + " " + request.URL}
	}
	return outgoing, nil
}

func fields(header map[string]string) (uint32, error) {
	abi.Enter()
	defer abi.Leave()
	const size = 2 * abi.TextSize
	abi.Arguments.Begin(abi.TextSize)
	at := abi.Arguments.List(0, len(header), size)
	for name, value := range header {
		abi.Arguments.Text(at, name)
		abi.Arguments.Bytes(at+abi.TextSize, []byte(value))
		at += size
	}
	arguments, result := abi.Arguments.Address(), abi.ImportResult()
	fieldsFromList(abi.U32(arguments), abi.U32(arguments+4), result)
	if abi.Flag(result) != 0 {
		return 0, &Error{Message: "a header can't be sent, because it has other characters than headers may, or is the host's to set"}
	}
	return abi.U32(result + 4), nil
}

func setMethod(outgoing uint32, method string) bool {
	abi.Enter()
	defer abi.Leave()
	for number, name := range methods {
		if name == method {
			return requestSetMethod(outgoing, uint32(number), 0, 0) == 0
		}
	}
	address, length := abi.TextArgument(method)
	return requestSetMethod(outgoing, uint32(len(methods)), address, length) == 0
}

func set(function func(request, isSome, text, length uint32) uint32, outgoing uint32, text string) bool {
	abi.Enter()
	defer abi.Leave()
	address, length := abi.TextArgument(text)
	return function(outgoing, 1, address, length) == 0
}

// taken is the handle of a result whose error says nothing but that it was taken before.
func taken(function func(result uint32)) (uint32, error) {
	abi.Enter()
	defer abi.Leave()
	result := abi.ImportResult()
	function(result)
	if abi.Flag(result) != 0 {
		return 0, &Error{Message: "it was taken before"}
	}
	return abi.U32(result + 4), nil
}

func handled(outgoing uint32, authority string) (uint32, error) {
	abi.Enter()
	defer abi.Leave()
	result := abi.ImportResult()
	handle(outgoing, 0, 0, result)
	if abi.Flag(result) != 0 {
		return 0, failed(result+8, authority)
	}
	return abi.U32(result + 8), nil
}

// write sends the body. What breaks here is better explained by the answer.
func write(body uint32, bytes []byte, deadline time.Time) error {
	if len(bytes) > 0 {
		output, err := taken(func(result uint32) { bodyWrite(body, result) })
		if err == nil {
			_, err = streams.Write(output, bytes, deadline)
			streams.DropOutput(output)
		}
		if err != nil {
			dropOutgoingBody(body)
			if failure, ok := err.(streams.Failure); ok {
				failure.Drop()
			}
			if err == streams.ErrTimedOut {
				return err
			}
			return nil
		}
	}
	abi.Enter()
	defer abi.Leave()
	bodyFinish(body, 0, 0, abi.ImportResult())
	return nil
}

func answered(future uint32, authority string, deadline time.Time) (uint32, error) {
	for {
		response, is, err := got(future, authority)
		if is || err != nil {
			return response, err
		}
		if err := streams.Wait(futureSubscribe(future), deadline); err != nil {
			return 0, err
		}
	}
}

// got is the response if there is one already. Three results lie in each other, each at the 8th byte of the one before.
func got(future uint32, authority string) (response uint32, is bool, err error) {
	abi.Enter()
	defer abi.Leave()
	result := abi.ImportResult()
	futureGet(future, result)
	switch {
	case abi.Flag(result) == 0:
		return 0, false, nil
	case abi.Flag(result+8) != 0:
		return 0, false, &Error{Message: "the answer was taken before"}
	case abi.Flag(result+16) != 0:
		return 0, false, failed(result+24, authority)
	default:
		return abi.U32(result + 24), true, nil
	}
}

// headers are in small letters; of several with one name the last counts.
func headers(response uint32) map[string]string {
	fields := responseHeaders(response)
	defer dropFields(fields)
	abi.Enter()
	defer abi.Leave()
	result := abi.ImportResult()
	fieldsEntries(fields, result)
	header := map[string]string{}
	abi.List(result, 2*abi.TextSize, func(at uint32) struct{} {
		header[strings.ToLower(abi.Text(at))] = string(abi.Bytes(at + abi.TextSize))
		return struct{}{}
	})
	return header
}

// read reads the body. A stream is a child of its body, and goes first.
func read(response uint32, authority string, bytesMax int, deadline time.Time) ([]byte, error) {
	body, err := taken(func(result uint32) { responseConsume(response, result) })
	if err != nil {
		return nil, err
	}
	defer dropIncomingBody(body)
	input, err := taken(func(result uint32) { bodyStream(body, result) })
	if err != nil {
		return nil, err
	}
	defer streams.DropInput(input)
	var received []byte
	for len(received) < bytesMax {
		bytes, err := streams.Read(input, uint64(min(bytesMax-len(received), readBytes)), deadline)
		if err == streams.ErrClosed {
			break
		}
		if failure, ok := err.(streams.Failure); ok {
			return nil, broken(failure, authority)
		}
		if err != nil {
			return nil, err
		}
		received = append(received, bytes...)
	}
	return received, nil
}

func broken(failure streams.Failure, authority string) error {
	defer failure.Drop()
	abi.Enter()
	defer abi.Leave()
	result := abi.ImportResult()
	httpErrorCode(failure.Cause, result)
	if abi.Flag(result) == 0 {
		return &Error{Message: authority + ": the answer breaks off"}
	}
	return failed(result+8, authority)
}

// failed is the error whose code lies at an address, with what belongs to it at the 8th byte: of the codes that have words, an option of
// a text at its beginning, behind an option of a byte, or alone.
func failed(at uint32, authority string) *Error {
	number := int(abi.Flag(at))
	if number >= len(codes) {
		return words("unknown", "", authority)
	}
	code, detail := codes[number], ""
	switch code {
	case "DNS-error", "internal-error":
		detail, _ = abi.OptionalText(at + 8)
	case "TLS-alert-received":
		detail, _ = abi.OptionalText(at + 12)
	}
	return words(code, detail, authority)
}
