package fairqueue

import "sync"

// TurnLock lets one caller in at a time, and namespaces in turns: many callers of one namespace do not delay those of others.
// The zero value is ready for use, by several goroutines at once.
type TurnLock struct {
	mu      sync.Mutex
	isBusy  bool
	waiting RoundRobin[chan struct{}]
}

// Enter returns when it is the caller's turn.
func (l *TurnLock) Enter(namespace string) {
	l.mu.Lock()
	if !l.isBusy {
		l.isBusy = true
		l.mu.Unlock()
		return
	}
	turn := make(chan struct{})
	l.waiting.Add(namespace, turn)
	l.mu.Unlock()
	<-turn
}

// Leave lets the next one in.
func (l *TurnLock) Leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isBusy = l.waiting.Len() > 0; l.isBusy {
		close(l.waiting.Next())
	}
}
