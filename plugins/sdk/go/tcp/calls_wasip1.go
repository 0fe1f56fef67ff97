package tcp

import (
	"errors"
	"net/netip"

	"witlet.dev/plugin/internal/abi"
)

// errWouldBlock: not yet.
var errWouldBlock = errors.New("would block")

// problems are the contract's error codes in their order. Those that aren't here can't happen to a connection that is opened once.
var problems = [...]error{
	1:  ErrDenied,
	3:  ErrNoSuchName,
	5:  ErrTimedOut,
	8:  errWouldBlock,
	10: errors.New("too many connections"),
	13: ErrUnreachable,
	14: ErrRefused,
	15: ErrReset,
	16: ErrReset,
	18: ErrNoSuchName,
	19: ErrNameServers,
	20: ErrNameServers,
}

var errUnknown = errors.New("the connection failed")

// failure is the error of a result whose error code lies at an address; none of a success.
func failure(result, at uint32) error {
	if abi.Flag(result) == 0 {
		return nil
	}
	if code := int(abi.Flag(at)); code < len(problems) && problems[code] != nil {
		return problems[code]
	}
	return errUnknown
}

func createSocket(address netip.Addr) (uint32, error) {
	abi.Enter()
	defer abi.Leave()
	family := uint32(0)
	if !address.Is4() {
		family = 1
	}
	result := abi.ImportResult()
	createTCPSocket(family, result)
	return abi.U32(result + 4), failure(result, result+4)
}

// startConnect hands over an address in eleven numbers: of IPv4 the port and four bytes, of IPv6 the port, the flow, eight words and the
// scope.
func startConnect(socket, network uint32, address netip.Addr, port uint16) error {
	abi.Enter()
	defer abi.Leave()
	var n [11]uint32
	n[0] = uint32(port)
	family := uint32(0)
	if address.Is4() {
		for i, b := range address.As4() {
			n[1+i] = uint32(b)
		}
	} else {
		family = 1
		bytes := address.As16()
		for i := range 8 {
			n[2+i] = uint32(bytes[2*i])<<8 | uint32(bytes[2*i+1])
		}
	}
	result := abi.ImportResult()
	socketStartConnect(socket, network, family, n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10], result)
	return failure(result, result+1)
}

func finishConnect(socket uint32) (input, output uint32, err error) {
	abi.Enter()
	defer abi.Leave()
	result := abi.ImportResult()
	socketFinishConnect(socket, result)
	return abi.U32(result + 4), abi.U32(result + 8), failure(result, result+4)
}

func resolve(network uint32, name string) (uint32, error) {
	abi.Enter()
	defer abi.Leave()
	address, length := abi.TextArgument(name)
	result := abi.ImportResult()
	resolveAddresses(network, address, length, result)
	return abi.U32(result + 4), failure(result, result+4)
}

// nextAnswer is a name's next address, an invalid one after the last. The result's value lies at the 2nd byte, an option whose address
// lies at the 4th, a variant of four bytes or eight words at the 6th.
func nextAnswer(answers uint32) (netip.Addr, error) {
	abi.Enter()
	defer abi.Leave()
	result := abi.ImportResult()
	resolveNextAddress(answers, result)
	if err := failure(result, result+2); err != nil || abi.Flag(result+2) == 0 {
		return netip.Addr{}, err
	}
	if abi.Flag(result+4) == 0 {
		var bytes [4]byte
		for i := range bytes {
			bytes[i] = abi.Flag(result + 6 + uint32(i))
		}
		return netip.AddrFrom4(bytes), nil
	}
	var bytes [16]byte
	for i := range uint32(8) {
		word := abi.U16(result + 6 + 2*i)
		bytes[2*i], bytes[2*i+1] = byte(word>>8), byte(word)
	}
	return netip.AddrFrom16(bytes), nil
}
