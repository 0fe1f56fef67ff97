package admissiontest

import (
	"encoding/json"
	"maps"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

var quantities = regexp.MustCompile(`^([+-]?)([0-9]*)\.?([0-9]*)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,4})?$`)

const (
	decimal          = "num kMGTPE"
	binary           = "KMGTPE"
	quantityBytesMax = 64
)

// amount is a quantity: cpu in thousandths, all else in base units, rounded away from zero. What is none is 0, as it is for the host.
func amount(resource string, value any) int64 {
	written := text(value)
	if number, ok := value.(json.Number); ok {
		written = number.String()
	}
	found := quantities.FindStringSubmatch(written)
	if found == nil || len(written) > quantityBytesMax || found[2]+found[3] == "" {
		return 0
	}
	digits, _ := new(big.Int).SetString(found[2]+found[3], 10)
	power, unit := -len(found[3]), found[4]
	switch {
	case strings.HasSuffix(unit, "i"):
		digits.Lsh(digits, uint(10*(strings.Index(binary, unit[:1])+1)))
	case len(unit) > 1:
		exponent, _ := strconv.Atoi(unit[1:])
		power += exponent
	case unit != "":
		power += 3*strings.Index(decimal, unit) - 9
	}
	if resource == "cpu" {
		power += 3
	}
	by := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(power, -power))), nil)
	if power >= 0 {
		digits.Mul(digits, by)
	} else {
		rest := new(big.Int)
		if digits.DivMod(digits, by, rest); rest.Sign() > 0 {
			digits.Add(digits, big.NewInt(1))
		}
	}
	if found[1] == "-" {
		digits.Neg(digits)
	}
	if !digits.IsInt64() {
		return map[bool]int64{true: math.MinInt64, false: math.MaxInt64}[digits.Sign() < 0]
	}
	return digits.Int64()
}

func amounts(value any) map[string]int64 {
	object, _ := value.(map[string]any)
	all := make(map[string]int64, len(object))
	for name, quantity := range object {
		all[name] = amount(name, quantity)
	}
	return all
}

func add(total, more map[string]int64) {
	for name, amount := range more {
		if total[name] > math.MaxInt64-max(amount, 0) {
			total[name] = math.MaxInt64
		} else {
			total[name] += amount
		}
	}
}

func raise(total, other map[string]int64) {
	for name, amount := range other {
		if most, ok := total[name]; !ok || amount > most {
			total[name] = amount
		}
	}
}

func isSidecar(container any) bool { return get(container, "restartPolicy") == "Always" }

// ofPod is by the scheduler's rules: the greater of what containers and sidecars have together and what each init container has while it
// runs; what the pod as a whole states goes before that, overhead comes on top.
func ofPod(spec any, part string) map[string]int64 {
	total, sidecars, starting := map[string]int64{}, map[string]int64{}, map[string]int64{}
	of := func(container any) map[string]int64 { return amounts(get(container, "resources", part)) }
	for _, container := range items(get(spec, "containers")) {
		add(total, of(container))
	}
	for _, container := range items(get(spec, "initContainers")) {
		needed := of(container)
		if isSidecar(container) {
			add(total, needed)
			add(sidecars, needed)
			needed = maps.Clone(sidecars)
		} else {
			add(needed, sidecars)
		}
		raise(starting, needed)
	}
	raise(total, starting)
	for name, amount := range amounts(get(spec, "resources", part)) {
		if name == "cpu" || name == "memory" || strings.HasPrefix(name, "hugepages-") {
			total[name] = amount
		}
	}
	overhead := amounts(get(spec, "overhead"))
	if part == "limits" {
		// Only what is limited is limited to more.
		maps.DeleteFunc(overhead, func(name string, _ int64) bool { return total[name] == 0 })
	}
	add(total, overhead)
	return total
}

// qos is what the status says, or else by CPU and memory of all containers, or of the pod where it states any.
func qos(manifest any) string {
	switch settled := text(get(manifest, "status", "qosClass")); settled {
	case "Guaranteed", "Burstable", "BestEffort":
		return settled
	}
	spec := get(manifest, "spec")
	ofContainers := append(append([]any{}, items(get(spec, "containers"))...), items(get(spec, "initContainers"))...)
	counted := wrap(ofContainers, func(container any) any { return get(container, "resources") })
	whole := get(spec, "resources")
	if len(amounts(get(whole, "requests")))+len(amounts(get(whole, "limits"))) > 0 {
		counted = []any{whole}
	}
	of := func(resources any, part string) map[string]int64 {
		found := amounts(get(resources, part))
		maps.DeleteFunc(found, func(name string, amount int64) bool { return (name != "cpu" && name != "memory") || amount <= 0 })
		return found
	}
	requests, limits, allLimited := map[string]int64{}, map[string]int64{}, true
	for _, resources := range counted {
		limited := of(resources, "limits")
		allLimited = allLimited && len(limited) == 2
		add(requests, of(resources, "requests"))
		add(limits, limited)
	}
	switch {
	case len(requests)+len(limits) == 0:
		return "BestEffort"
	case allLimited && maps.Equal(requests, limits):
		return "Guaranteed"
	default:
		return "Burstable"
	}
}
