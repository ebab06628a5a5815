package launcher

import (
	"net"
	"testing"
)

func TestPortsAreFreeAndDifferAndOutsideTheEphemeralRange(t *testing.T) {
	ports, err := pickPorts()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, port := range []int{ports.EtcdClient, ports.EtcdPeer, ports.APIServer, ports.ControllerManager, ports.Scheduler, ports.KWOK} {
		if seen[port] || port < firstPort || port > lastPort {
			t.Errorf("port %d in %+v", port, ports)
		}
		seen[port] = true
		listener, err := net.Listen("tcp", address(port))
		if err != nil {
			t.Errorf("port %d is not free: %v", port, err)
			continue
		}
		t.Cleanup(func() { _ = listener.Close() })
	}
}
