package admission

import "time"

// A Verdict is the answer to a request: [Admit], [Reject], [Defer] or [Shortages].
type Verdict interface{ isVerdict() }

// Admit has nothing against the pod.
type Admit struct{}

// Reject refuses the pod for ever: its phase becomes Failed.
type Reject struct {
	// Reason is a CamelCase word for status.reason: letters and digits, a letter first, at most 128.
	Reason string
	// Message is one sentence for people; cut at 4 KiB.
	Message string
}

// Defer has the pod wait.
type Defer struct {
	// Reason is a CamelCase word, as in Reject.
	Reason string
	// Message is one sentence for people; cut at 4 KiB.
	Message string
	// RetryAfter is when to ask again, in whole milliseconds. The host waits a second at least and an hour at most, and asks earlier if
	// the node or its pods change.
	RetryAfter time.Duration
}

// Shortages are resources that the node lacks, from 1 to 64. The host rejects the pod with the reason OutOf<Resource> of the first one, or
// preempts others for it if it is critical.
type Shortages []Shortage

// A Shortage is a resource that doesn't suffice. Units are those of Quantity.
type Shortage struct {
	Resource string
	// Requested is what the pod asks for.
	Requested int64
	// Used is what the others have.
	Used int64
	// Capacity is what the node has.
	Capacity int64
}

func (Admit) isVerdict()     {}
func (Reject) isVerdict()    {}
func (Defer) isVerdict()     {}
func (Shortages) isVerdict() {}
