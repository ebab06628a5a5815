package launcher

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

const localhost = "127.0.0.1"

// Ports are picked below the ranges from which Linux (32768 and up) and macOS (49152 and up) take the local ports of
// outgoing connections. Else, while a component is killed, any client on the machine could be given its port, and the
// component could not come back on it.
const (
	firstPort = 10000
	lastPort  = 31999
)

// Ports are the TCP ports of a cluster, all on 127.0.0.1. They are chosen once and stay the same when a component is
// killed and started again.
type Ports struct {
	EtcdClient, EtcdPeer, APIServer, ControllerManager, Scheduler, KWOK int
}

// pickPorts finds ports that are free now. It holds all of them before it lets go of any, so that they differ; a
// process that takes one before the component does makes that component fail at its start.
func pickPorts() (Ports, error) {
	var ports Ports
	var held []net.Listener
	defer func() {
		for _, listener := range held {
			_ = listener.Close() // nothing was accepted, nothing can be lost
		}
	}()
	for _, port := range []*int{
		&ports.EtcdClient, &ports.EtcdPeer, &ports.APIServer, &ports.ControllerManager, &ports.Scheduler, &ports.KWOK,
	} {
		listener, err := listenSomewhere()
		if err != nil {
			return Ports{}, err
		}
		held = append(held, listener)
		*port = listener.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}

func listenSomewhere() (net.Listener, error) {
	const attempts = 100
	var last error
	for range attempts {
		listener, err := net.Listen("tcp", address(firstPort+rand.IntN(lastPort-firstPort+1)))
		if err == nil {
			return listener, nil
		}
		last = err
	}
	return nil, fmt.Errorf("find free port on %s after %d attempts: %w", localhost, attempts, last)
}

func address(port int) string {
	return net.JoinHostPort(localhost, strconv.Itoa(port))
}
