package controller

import (
	"sync"

	"kubernetes-deployment-restart-controller/custom"
)

// heavy lets those wait for each other that decode JSON which no API server has decoded, if that takes much memory. The
// process has only one memory.
var heavy lineup

// decode decodes JSON of a namespace. If it is heavy, that waits for its turn; see [catalog.CheckSize].
func decode(namespace string, isHeavy bool, decode func()) {
	if isHeavy {
		heavy.enter(namespace)
		defer heavy.leave()
	}
	decode()
}

// decodeObject decodes parts of an object. One that is too large is not decoded at all, so that it need not wait.
func decodeObject(o *custom.Object, do func()) {
	isHeavy, err := o.CheckSize()
	decode(o.Namespace, isHeavy && err == nil, do)
}

// lineup lets one caller in at a time, and namespaces in turns: many callers of one namespace do not delay those of others.
// The zero value is ready for use.
type lineup struct {
	mu     sync.Mutex
	isBusy bool
	// order has each namespace with waiting callers once, and waiting has a channel for each of them.
	order   []string
	waiting map[string][]chan struct{}
}

// enter returns when it is the caller's turn.
func (l *lineup) enter(namespace string) {
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

// leave lets the next one in.
func (l *lineup) leave() {
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
