package admission

import (
	"fmt"
	"time"

	"witlet.dev/plugin/internal/abi"
)

// The cases of the contract's variant.
const (
	caseAdmit = iota
	caseReject
	caseDefer
	caseShortage
)

// encode lays out what admit returns, a result of a verdict or a text: 40 bytes, its value from the 8th on; of a verdict the number of the
// case there, and what belongs to it from the 16th on.
func encode(verdict Verdict, err error) uint32 {
	result := &abi.Result
	result.Begin(40)
	if err != nil {
		result.Flag(0, 1)
		result.Text(8, err.Error())
		return result.Address()
	}
	switch verdict := verdict.(type) {
	case Admit:
		result.Flag(8, caseAdmit)
	case Reject:
		result.Flag(8, caseReject)
		result.Text(16, verdict.Reason)
		result.Text(24, verdict.Message)
	case Defer:
		result.Flag(8, caseDefer)
		result.Text(16, verdict.Reason)
		result.Text(24, verdict.Message)
		result.U64(32, uint64(max(0, verdict.RetryAfter/time.Millisecond)))
	case Shortages:
		result.Flag(8, caseShortage)
		first := result.List(16, len(verdict), 32)
		for i, shortage := range verdict {
			at := first + uint32(i)*32
			result.Text(at, shortage.Resource)
			result.U64(at+8, uint64(shortage.Requested))
			result.U64(at+16, uint64(shortage.Used))
			result.U64(at+24, uint64(shortage.Capacity))
		}
	default:
		// A pointer, or a struct with a verdict in it: nothing of it may read as the first case.
		result.Flag(0, 1)
		result.Text(8, fmt.Sprintf("unknown verdict type %T", verdict))
	}
	return result.Address()
}

func readPodRef(at uint32) PodRef {
	return PodRef{Namespace: abi.Text(at), Name: abi.Text(at + 8), UID: abi.Text(at + 16)}
}

func readContainers(at uint32) []Container {
	return abi.List(at, 20, func(at uint32) Container {
		return Container{Name: abi.Text(at), Kind: ContainerKind(abi.Flag(at + 8)), Image: abi.Text(at + 12)}
	})
}

func readQuantities(at uint32) []Quantity {
	return abi.List(at, 16, func(at uint32) Quantity {
		return Quantity{Resource: abi.Text(at), Amount: int64(abi.U64(at + 8))}
	})
}

func readHostPorts(at uint32) []HostPort {
	return abi.List(at, 20, func(at uint32) HostPort {
		return HostPort{IP: abi.Text(at), Protocol: abi.Text(at + 8), Port: abi.U16(at + 16)}
	})
}

func readTaints(at uint32) []Taint {
	return abi.List(at, 24, func(at uint32) Taint {
		return Taint{Key: abi.Text(at), Value: abi.Text(at + 8), Effect: abi.Text(at + 16)}
	})
}

func readConditions(at uint32) []Condition {
	return abi.List(at, 32, func(at uint32) Condition {
		return Condition{
			Kind: abi.Text(at), Status: abi.Text(at + 8), Reason: abi.Text(at + 16), Message: abi.Text(at + 24),
		}
	})
}

func readTime(at uint32) time.Time {
	return time.Unix(int64(abi.U64(at)), int64(abi.U32(at+8))).UTC()
}
