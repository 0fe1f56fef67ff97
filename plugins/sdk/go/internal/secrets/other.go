//go:build !wasip1

package secrets

import "sync"

var (
	mutex  sync.Mutex
	values = map[string]value{}
)

type value struct {
	bytes []byte
	err   error
}

// Get is a secret's value.
func Get(name string) ([]byte, error) {
	mutex.Lock()
	defer mutex.Unlock()
	if value, ok := values[name]; ok {
		return append([]byte(nil), value.bytes...), value.err
	}
	return nil, ErrNotGranted
}

// Set says what Get returns from now on, until what it returns is called.
func Set(name string, bytes []byte, err error) (reset func()) {
	mutex.Lock()
	defer mutex.Unlock()
	old, ok := values[name]
	values[name] = value{bytes, err}
	return func() {
		mutex.Lock()
		defer mutex.Unlock()
		delete(values, name)
		if ok {
			values[name] = old
		}
	}
}
