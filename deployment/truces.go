package deployment

import "sync"

// truces are the namespaces in which the engine does not write for a while. They may be used
// concurrently.
type truces struct {
	mu         sync.RWMutex
	namespaces map[string]struct{}
}

func (t *truces) begin(namespace string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.namespaces == nil {
		t.namespaces = map[string]struct{}{}
	}
	t.namespaces[namespace] = struct{}{}
}

func (t *truces) end(namespace string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.namespaces, namespace)
}

func (t *truces) holdIn(namespace string) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	_, holds := t.namespaces[namespace]
	return holds
}

func (t *truces) count() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.namespaces)
}
