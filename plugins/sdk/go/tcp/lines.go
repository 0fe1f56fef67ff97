package tcp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// LineBytesMax is how long a line of Lines can be, its end among it.
const LineBytesMax = 1024

// What a server may do instead of answering by a line.
var (
	// ErrNoLine: the connection ended before the line did.
	ErrNoLine = errors.New("the server closed the connection before it answered")
	// ErrLineTooLong: the line has more than LineBytesMax bytes.
	ErrLineTooLong = fmt.Errorf("the answer is longer than %d bytes", LineBytesMax)
)

// Lines is a connection on which the server answers each command by a line that ends with \r\n, as those of Redis and SMTP do.
type Lines struct {
	conn   io.ReadWriteCloser
	reader *bufio.Reader
}

// DialLines opens a connection as Dial does.
func DialLines(host string, port uint16, deadline time.Time) (*Lines, error) {
	conn, err := Dial(host, port, deadline)
	if err != nil {
		return nil, err
	}
	return linesOf(conn), nil
}

func linesOf(conn io.ReadWriteCloser) *Lines {
	return &Lines{conn, bufio.NewReaderSize(conn, LineBytesMax)}
}

// Ask sends a command, which has its own end, and waits for its line. What isn't UTF-8 in it is replaced; \r\n isn't part of it.
func (l *Lines) Ask(command []byte) (string, error) {
	// A server that refuses to listen may have said why before: reading tells.
	_, writeErr := l.conn.Write(command)
	var line []byte
	for !strings.HasSuffix(string(line), "\r\n") {
		part, err := l.reader.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > LineBytesMax, errors.Is(err, bufio.ErrBufferFull) && len(line) == LineBytesMax:
			return "", ErrLineTooLong
		case err != nil && writeErr != nil:
			return "", writeErr
		case errors.Is(err, io.EOF):
			return "", ErrNoLine
		case err != nil:
			return "", err
		}
	}
	return strings.ToValidUTF8(string(line[:len(line)-2]), "\uFFFD"), nil
}

// Close closes the connection; see Conn.Close.
func (l *Lines) Close() error { return l.conn.Close() }
