package admission

import (
	"fmt"
	"time"
)

// A Verdict is what becomes of a pod, and what is said in addition. The zero value says nothing, which the host takes for a bad answer.
type Verdict struct {
	// Decision is the contract's word: admit, reject, defer or shortage.
	Decision string
	// Reason is a CamelCase word, Message a sentence: of a rejection and a deferral.
	Reason, Message string
	// RetryAfter is when to ask again: of a deferral.
	RetryAfter time.Duration
	// Shortages are the resources that the node lacks.
	Shortages []Shortage
	// Warnings are for the pod's owner, who finds them in events of the pod. The host keeps 16.
	Warnings []string
	// Annotations are keys and values for those who check the decision later. The last value of a key counts.
	Annotations [][2]string
}

// A Shortage is a resource that the node lacks: what the pod asks for, what the others have, what the node has.
type Shortage struct {
	Resource                  string
	Requested, Used, Capacity int64
}

// Admit has nothing against the pod.
func Admit() Verdict { return Verdict{Decision: "admit"} }

// Reject refuses the pod for ever: a new one's phase becomes Failed with this CamelCase reason and this sentence, made as by fmt.Sprintf.
func Reject(reason, format string, arguments ...any) Verdict {
	return Verdict{Decision: "reject", Reason: reason, Message: fmt.Sprintf(format, arguments...)}
}

// Defer has the pod wait: it is asked about again after that time (within a second and an hour) or when the node or its pods change.
func Defer(reason string, retryAfter time.Duration, format string, arguments ...any) Verdict {
	return Verdict{Decision: "defer", Reason: reason, Message: fmt.Sprintf(format, arguments...), RetryAfter: retryAfter}
}

// Lacking is the verdict of resources that the node lacks; without any, the pod is admitted. The host preempts others for a critical pod.
func Lacking(shortages ...Shortage) Verdict {
	if len(shortages) == 0 {
		return Admit()
	}
	return Verdict{Decision: "shortage", Shortages: shortages}
}

// Warn adds a sentence for the pod's owner.
func (v Verdict) Warn(format string, arguments ...any) Verdict {
	v.Warnings = append(v.Warnings, fmt.Sprintf(format, arguments...))
	return v
}

// Annotate adds something for those who check the decision later, under <plugin>/<key>.
func (v Verdict) Annotate(key, value string) Verdict {
	v.Annotations = append(v.Annotations, [2]string{key, value})
	return v
}
