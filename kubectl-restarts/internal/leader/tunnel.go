package leader

import (
	"io"
	"net"
	"os"
	"time"

	"k8s.io/streaming/pkg/httpstream"
)

// tunnel is a connection to a port of a pod, through the API server. It has no deadlines: closing it ends all that waits.
type tunnel struct {
	data, failure httpstream.Stream
	connection    httpstream.Connection
	hasRead       bool // something was read, so the node has reached the port
}

// Read implements [io.Reader]. The error is a [portError] if the node says that it cannot reach the port.
func (t *tunnel) Read(into []byte) (int, error) {
	n, err := t.data.Read(into)
	t.hasRead = t.hasRead || n > 0
	if err != nil && !t.hasRead {
		err = t.explained(err)
	}
	return n, err
}

func (t *tunnel) Write(from []byte) (int, error) {
	n, err := t.data.Write(from)
	if err != nil {
		err = t.explained(err)
	}
	return n, err
}

// portError is what the node says that cannot reach the port in the pod.
type portError struct{ said string }

func (e portError) Error() string { return e.said }

// maxFailure is how much of what a node says is read.
const maxFailure = 2000

// explained returns what the node says went wrong, or the error. It waits for the node no longer than the leader has to answer.
func (t *tunnel) explained(err error) error {
	defer time.AfterFunc(timeLimit, func() { _ = t.Close() }).Stop()
	said, unread := io.ReadAll(io.LimitReader(t.failure, maxFailure))
	if unread != nil || len(said) == 0 {
		return err
	}
	return portError{string(said)}
}

func (t *tunnel) Close() error { return t.connection.Close() }

// LocalAddr implements [net.Conn].
func (*tunnel) LocalAddr() net.Addr { return address{} }

// RemoteAddr implements [net.Conn].
func (*tunnel) RemoteAddr() net.Addr { return address{} }

// SetDeadline implements [net.Conn].
func (*tunnel) SetDeadline(time.Time) error { return os.ErrNoDeadline }

// SetReadDeadline implements [net.Conn].
func (*tunnel) SetReadDeadline(time.Time) error { return os.ErrNoDeadline }

// SetWriteDeadline implements [net.Conn].
func (*tunnel) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }

// address is that of either end of a tunnel, which has none.
type address struct{}

func (address) Network() string { return "portforward" }
func (address) String() string  { return "tunnel" }
