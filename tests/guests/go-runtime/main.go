// An admission handler whose verdicts say how Go's runtime and library behave in a component: cases.yaml has what each must say.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"witlet.dev/plugin/admission"
)

// config names what is tried.
type config struct {
	Try string `json:"try"`
}

type handler struct{}

// tries are what can be tried, by name; each says what it has seen.
var tries = map[string]func(admission.Request) string{
	"goroutines":      goroutines,
	"channels":        channels,
	"cancellation":    cancellation,
	"collector":       collector,
	"recovered-panic": recoveredPanic,
	"clock":           clock,
	"random":          random,
	"fmt":             formats,
	"json":            documents,
	"errors":          wrapped,
	"maps":            maps,
	"left-behind":     leftBehind,
}

func (handler) Validate(config *config) error {
	if _, ok := tries[config.Try]; !ok {
		return fmt.Errorf("try: there is no %q", config.Try)
	}
	return nil
}

func (handler) Admit(request admission.Request, config *config) (admission.Verdict, error) {
	return admission.Reject{Reason: "Seen", Message: tries[config.Try](request)}, nil
}

// goroutines has a hundred of them add up, each yielding in between.
func goroutines(admission.Request) string {
	var (
		group sync.WaitGroup
		mutex sync.Mutex
		sum   int
		ran   atomic.Int64
	)
	for i := range 100 {
		group.Go(func() {
			runtime.Gosched()
			mutex.Lock()
			defer mutex.Unlock()
			sum += i
			ran.Add(1)
		})
	}
	group.Wait()
	return fmt.Sprintf("%d goroutines, sum %d", ran.Load(), sum)
}

// channels passes numbers through three stages, and checks whether a select finds what is there.
func channels(admission.Request) string {
	numbers, squares := make(chan int), make(chan int, 4)
	go func() {
		defer close(numbers)
		for i := range 10 {
			numbers <- i
		}
	}()
	go func() {
		defer close(squares)
		for i := range numbers {
			squares <- i * i
		}
	}()
	sum := 0
	for square := range squares {
		sum += square
	}
	select {
	case _, isOpen := <-squares:
		return fmt.Sprintf("sum %d, open %t", sum, isOpen)
	default:
		return "a closed channel has nothing"
	}
}

// cancellation ends a goroutine that waits.
func cancellation(admission.Request) string {
	ctx, cancel := context.WithCancelCause(context.Background())
	ended := make(chan error)
	go func() {
		<-ctx.Done()
		ended <- context.Cause(ctx)
	}()
	cancel(errors.New("enough"))
	return (<-ended).Error()
}

// collector makes far more garbage than there is memory.
func collector(admission.Request) string {
	total := 0
	for range 256 {
		garbage := make([]byte, 1<<20)
		total += len(garbage)
	}
	runtime.GC()
	return fmt.Sprintf("%d MiB passed", total>>20)
}

func recoveredPanic(admission.Request) (seen string) {
	defer func() {
		value, isRuntimes := recover().(runtime.Error)
		seen = fmt.Sprintf("%v, of the runtime %t", value, isRuntimes)
	}()
	var none []int
	return fmt.Sprint(none[len(none)])
}

// clock checks the time twice, with work in between: a handler's stands still at the time of the request.
func clock(request admission.Request) string {
	before := time.Now()
	for range 1000 {
		runtime.Gosched()
	}
	after := time.Now()
	return fmt.Sprintf("%s, the request's %t, passed %s",
		before.UTC().Format(time.RFC3339), before.Equal(request.Now()), after.Sub(before))
}

// random draws twice. What it drew is no part of the verdict: Go's generator goes on in an instance that was asked before.
func random(admission.Request) string {
	return fmt.Sprintf("another number %t", rand.Uint64() != rand.Uint64())
}

func formats(admission.Request) string {
	type pair struct {
		A int
		B string
	}
	return fmt.Sprintf("%+v %q %08.3f %x %T %v", pair{1, "b"}, "ä\n", 3.14159, "hex", map[string]int{}, []error{errors.New("e")})
}

func documents(admission.Request) string {
	var document struct {
		Name  string            `json:"name"`
		Sizes map[string]uint64 `json:"sizes"`
		Since time.Time         `json:"since"`
		Rest  json.RawMessage   `json:"rest"`
	}
	text := `{"name": "wĕb", "sizes": {"b": 18446744073709551615, "a": 1}, "since": "2026-01-02T03:04:05.6Z", "rest": [1, null]}`
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		return err.Error()
	}
	again, err := json.Marshal(document)
	if err != nil {
		return err.Error()
	}
	var mistake *json.UnmarshalTypeError
	err = json.Unmarshal([]byte(`{"name": 7}`), &document)
	return fmt.Sprintf("%s, and a mistake in %t", again, errors.As(err, &mistake) && mistake.Field == "name")
}

func wrapped(admission.Request) string {
	cause := errors.New("cause")
	err := fmt.Errorf("outer: %w", errors.Join(cause, context.Canceled))
	return fmt.Sprintf("%s, found %t", strings.ReplaceAll(err.Error(), "\n", " + "), errors.Is(err, cause))
}

// maps goes through a map, whose order is random, and looks for patterns.
func maps(admission.Request) string {
	numbered := regexp.MustCompile(`^(\w+)-(\d+)$`)
	found := map[string]string{}
	for _, name := range []string{"web-2", "db-10", "cache"} {
		if parts := numbered.FindStringSubmatch(name); parts != nil {
			found[parts[1]] = parts[2]
		}
	}
	var list []string
	for name, number := range found {
		list = append(list, name+"="+number)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// leftBehind leaves a goroutine that waits: it doesn't keep the call from ending.
func leftBehind(admission.Request) string {
	go func() { <-make(chan struct{}) }()
	runtime.Gosched()
	return "gone on"
}

func init() { admission.Export(handler{}) }

func main() {}
