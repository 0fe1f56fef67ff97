package probe

// An Ended is a command that ended by itself. Its outputs are cut at 10 KiB.
type Ended struct {
	ExitCode            int32
	Output, ErrorOutput []byte
}

// A Runner is a target that runs commands: that of the host, and one of a unit test that has this method.
type Runner interface {
	RunCommand(command []string) (Ended, error)
}

// Run runs a command in the container, without a shell, for as long as the probe has time left. The world imports
// witlet:probe/exec@0.2.0, and the plugin is granted exec. Errors have the codes TimedOut and Failed.
func Run(target Target, command ...string) (Ended, error) {
	if runner, ok := target.(Runner); ok {
		return runner.RunCommand(command)
	}
	return Ended{}, &Error{Code: "Failed", Message: "the target runs no commands"}
}

// A Connection is one that the host has opened, for what package tcp can't do: TLS, and the loopback interface of the pod. It is there until
// the call ends.
type Connection interface {
	// StartTLS makes TLS of it. serverName is whom the server's certificate must be for.
	StartTLS(serverName string) error
	// Send sends all of it.
	Send(bytes []byte) error
	// Receive waits for what comes next: 1 to length bytes, at most 64 KiB. None once the other side has ended.
	Receive(length uint64) ([]byte, error)
	// Shutdown says to the other side that nothing more is sent.
	Shutdown() error
	// PeerCertificates are those that the server showed, its own first, in DER; none without TLS.
	PeerCertificates() [][]byte
}

// An Opener is a target that opens connections: that of the host, and one of a unit test that has these methods.
type Opener interface {
	OpenConnection(host string, port uint16) (Connection, error)
	OpenLoopbackConnection(port uint16) (Connection, error)
}

var errNoConnections = &Error{Code: "NoNetwork", Message: "the target opens no connections"}

// Open connects to an address or a name that the grant network opens. The world imports witlet:probe/connections@0.2.0.
func Open(target Target, host string, port uint16) (Connection, error) {
	if opener, ok := target.(Opener); ok {
		return opener.OpenConnection(host, port)
	}
	return nil, errNoConnections
}

// OpenLoopback connects to a port of the loopback interface of the probed pod, by the grant pod-loopback.
func OpenLoopback(target Target, port uint16) (Connection, error) {
	if opener, ok := target.(Opener); ok {
		return opener.OpenLoopbackConnection(port)
	}
	return nil, errNoConnections
}
