package fairqueue

import "sync"

// Line lets one caller in at a time, and namespaces in turns: many callers of one namespace do not delay those of others.
// The zero value is ready for use, by several goroutines at once.
type Line struct {
	mu     sync.Mutex
	isBusy bool
	// order has each namespace with waiting callers once, and waiting has a channel for each of them.
	order   []string
	waiting map[string][]chan struct{}
}

// Enter returns when it is the caller's turn.
func (l *Line) Enter(namespace string) {
	l.mu.Lock()
	if !l.isBusy {
		l.isBusy = true
		l.mu.Unlock()
		return
	}
	if l.waiting == nil {
		l.waiting = make(map[string][]chan struct{})
	}
	turn := make(chan struct{})
	if len(l.waiting[namespace]) == 0 {
		l.order = append(l.order, namespace)
	}
	l.waiting[namespace] = append(l.waiting[namespace], turn)
	l.mu.Unlock()
	<-turn
}

// Leave lets the next one in.
func (l *Line) Leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.order) == 0 {
		l.isBusy = false
		return
	}
	namespace := l.order[0]
	l.order = l.order[1:]
	close(l.waiting[namespace][0])
	if l.waiting[namespace] = l.waiting[namespace][1:]; len(l.waiting[namespace]) > 0 {
		l.order = append(l.order, namespace)
	} else {
		delete(l.waiting, namespace)
	}
}
