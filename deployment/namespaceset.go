package deployment

import "sync"

// namespaces is a set of namespaces. It may be used concurrently; the zero value is
// empty.
type namespaces struct {
	mu    sync.RWMutex
	names map[string]struct{}
}

func (n *namespaces) add(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.names == nil {
		n.names = map[string]struct{}{}
	}
	n.names[name] = struct{}{}
}

func (n *namespaces) remove(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.names, name)
}

func (n *namespaces) clear() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.names)
}

func (n *namespaces) has(name string) bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	_, found := n.names[name]
	return found
}

func (n *namespaces) count() int {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return len(n.names)
}
