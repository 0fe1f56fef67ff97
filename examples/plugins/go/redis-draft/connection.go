package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"witlet.dev/plugin/tcp"
)

// lineBytesMax is how long a line can be, its end among it.
const lineBytesMax = 1024

var (
	errClosed  = errors.New("the server closed the connection before it answered")
	errTooLong = fmt.Errorf("the answer is longer than %d bytes", lineBytesMax)
)

// A connection is one on which each command is answered by one line.
type connection struct {
	conn   io.ReadWriteCloser
	reader *bufio.Reader
}

func open(host string, port uint16, deadline time.Time) (*connection, error) {
	conn, err := tcp.Dial(host, port, deadline)
	if err != nil {
		return nil, err
	}
	return &connection{conn, bufio.NewReaderSize(conn, lineBytesMax)}, nil
}

// ask sends a command and waits for its line, which it returns without its end.
func (c *connection) ask(command []byte) (string, error) {
	// A server that refuses to listen may have said why before: reading tells.
	_, writeErr := c.conn.Write(command)
	var line []byte
	for !strings.HasSuffix(string(line), "\r\n") {
		part, err := c.reader.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > lineBytesMax, errors.Is(err, bufio.ErrBufferFull) && len(line) == lineBytesMax:
			return "", errTooLong
		case err != nil && writeErr != nil:
			return "", writeErr
		case errors.Is(err, io.EOF):
			return "", errClosed
		case err != nil:
			return "", err
		}
	}
	return strings.ToValidUTF8(string(line[:len(line)-2]), "\uFFFD"), nil
}

func (c *connection) close() { _ = c.conn.Close() }
