package tcp

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// conversation is a connection on which a server says this, whatever it is asked.
type conversation struct {
	io.Reader
	asked    bytes.Buffer
	writeErr error
	closed   bool
}

func (c *conversation) Write(command []byte) (int, error) {
	if c.writeErr != nil {
		return 0, c.writeErr
	}
	return c.asked.Write(command)
}

func (c *conversation) Close() error {
	c.closed = true
	return nil
}

func TestALineEndsWithBothOfItsBytesAndHasABound(t *testing.T) {
	longest := strings.Repeat("a", LineBytesMax-2)
	for said, want := range map[string]struct {
		line string
		err  error
	}{
		"+PONG\r\n":                            {"+PONG", nil},
		"\r\n":                                 {"", nil},
		"a\nb\r\n":                             {"a\nb", nil},
		"\xff\r\n":                             {"\uFFFD", nil},
		"":                                     {"", ErrNoLine},
		"+PONG":                                {"", ErrNoLine},
		"+PONG\n":                              {"", ErrNoLine},
		longest + "\r\n":                       {longest, nil},
		longest + "a\r\n":                      {"", ErrLineTooLong},
		strings.Repeat("a\n", LineBytesMax/2):  {"", ErrNoLine},
		strings.Repeat("a\n", LineBytesMax):    {"", ErrLineTooLong},
		strings.Repeat("a", 2*LineBytesMax):    {"", ErrLineTooLong},
		strings.Repeat("\r", 2*LineBytesMax):   {"", ErrLineTooLong},
		strings.Repeat("a", LineBytesMax):      {"", ErrLineTooLong},
		strings.Repeat("a", LineBytesMax-1):    {"", ErrNoLine},
		strings.Repeat("a\r", 10) + "\n -more": {strings.Repeat("a\r", 9) + "a", nil},
	} {
		if line, err := linesOf(&conversation{Reader: strings.NewReader(said)}).Ask(nil); line != want.line || !errors.Is(err, want.err) {
			t.Errorf("%.40q: %.40q, %v", said, line, err)
		}
	}
}

func TestEachCommandIsAnsweredByItsLine(t *testing.T) {
	conn := &conversation{Reader: strings.NewReader("one\r\ntwo\r\n")}
	lines := linesOf(conn)
	for _, want := range []string{"one", "two"} {
		if line, err := lines.Ask([]byte(want + "\r\n")); line != want || err != nil {
			t.Errorf("%q, %v", line, err)
		}
	}
	if got := conn.asked.String(); got != "one\r\ntwo\r\n" {
		t.Errorf("%q", got)
	}
	if err := lines.Close(); err != nil || !conn.closed {
		t.Errorf("%v", err)
	}
}

// A server that refuses to listen may have said why.
func TestWhatWasSaidCountsMoreThanThatNoOneListens(t *testing.T) {
	refused := &conversation{Reader: strings.NewReader("-ERR too many\r\n"), writeErr: ErrReset}
	if line, err := linesOf(refused).Ask(nil); line != "-ERR too many" || err != nil {
		t.Errorf("%q, %v", line, err)
	}
	silent := &conversation{Reader: strings.NewReader(""), writeErr: ErrReset}
	if _, err := linesOf(silent).Ask(nil); !errors.Is(err, ErrReset) {
		t.Errorf("%v", err)
	}
}
