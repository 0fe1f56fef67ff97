package probe

import (
	"fmt"

	"witlet.dev/plugin/internal/abi"
)

// encode lays out what probe returns, a result of an outcome or a text: 16 bytes, its value from the 4th on; of an outcome the number of
// the case there, and its text from the 8th on.
func encode(outcome Outcome, err error) uint32 {
	result := &abi.Result
	result.Begin(16)
	if err != nil {
		result.Flag(0, 1)
		result.Text(4, err.Error())
		return result.Address()
	}
	switch outcome := outcome.(type) {
	case Success:
		result.Text(8, string(outcome))
	case Warning:
		result.Flag(4, 1)
		result.Text(8, string(outcome))
	case Failure:
		result.Flag(4, 2)
		result.Text(8, string(outcome))
	default:
		// A pointer, or a struct with an outcome in it: nothing of it may read as the first case.
		result.Flag(0, 1)
		result.Text(4, fmt.Sprintf("unknown outcome type %T", outcome))
	}
	return result.Address()
}

func readPodRef(at uint32) PodRef {
	return PodRef{Namespace: abi.Text(at), Name: abi.Text(at + 8), UID: abi.Text(at + 16)}
}

func readTexts(at uint32) []string { return abi.List(at, abi.TextSize, abi.Text) }

func readNamedPorts(at uint32) []NamedPort {
	return abi.List(at, 20, func(at uint32) NamedPort {
		return NamedPort{Name: abi.Text(at), Port: abi.U16(at + 8), Protocol: abi.Text(at + 12)}
	})
}
